#include "onesided/transfers/pieces.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace heddle::onesided {
namespace {

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

// Which bytes of an area the pieces touch, and with which local byte; -1: none.
std::vector<int> touched(const Selection& selection, std::span<const std::byte> data, std::size_t area,
                         std::uint64_t most) {
  std::vector<int> by(area, -1);
  PieceCursor cursor(selection, data);
  std::uint64_t total = 0;
  for (Piece piece; cursor.next(piece, most);) {
    EXPECT_GT(piece.bytes, 0U);
    EXPECT_LE(piece.bytes, most);
    total += piece.bytes;
    for (std::uint64_t i = 0; i < piece.bytes; ++i) {
      EXPECT_EQ(by.at(piece.remote + i), -1) << "twice";
      by.at(piece.remote + i) = static_cast<int>(piece.local + i);
    }
  }
  EXPECT_EQ(cursor.selected(), total);
  return by;
}

TEST(Pieces, OfAllIsOneStretchCutAsWanted) {
  const std::vector<std::byte> data(100);
  EXPECT_EQ(extent({}, 100), 100U);
  for (const std::uint64_t most : {kAny, std::uint64_t{100}, std::uint64_t{7}}) {
    const auto by = touched({}, data, 100, most);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(by[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(touched({}, {}, 1, kAny)[0], -1);
}

TEST(Pieces, OfAStrideGoFromBlockToBlock) {
  const std::vector<std::byte> data(50);
  const Selection selection = Selection::strided(8, 4, 10, 32);
  EXPECT_EQ(extent(selection, 50), 3U * 32 + 8);
  const auto by = touched(selection, data, 104, 3);
  for (int i = 0; i < 104; ++i) {
    const int expected = i % 32 < 8 ? i / 32 * 10 + i % 32 : -1;
    EXPECT_EQ(by[static_cast<std::size_t>(i)], expected) << i;
  }
}

TEST(Pieces, OfAStrideThatMakesNoSenseAreRefused) {
  EXPECT_FALSE(extent(Selection::strided(8, 2, 4, 32), 100)); // blocks overlap here
  EXPECT_FALSE(extent(Selection::strided(8, 2, 32, 4), 100)); // and there
  EXPECT_FALSE(extent(Selection::strided(8, 4, 40, 8), 100)); // beyond the local memory
  EXPECT_FALSE(extent(Selection::strided(8, kAny, kAny / 2, 8), 100));
  EXPECT_EQ(extent(Selection::strided(8, 2, 8, kAny), 100), kAny); // beyond any area
  EXPECT_EQ(extent(Selection::strided(8, 0, 0, 0), 100), 0U);
}

TEST(Pieces, OfABitmapAreItsRuns) {
  const std::vector<std::byte> data(4 * 130);
  const std::vector<std::uint64_t> bits{0x8000'0000'0000'0007ULL, 0x1ULL, 0xffULL};
  const auto by = touched(Selection::bitmap(bits, 4), data, data.size(), kAny);
  for (std::size_t word = 0; word < 130; ++word) {
    const bool chosen = (bits[word / 64] >> (word % 64) & 1U) != 0;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(by[word * 4 + i] >= 0, chosen) << word;
  }
  EXPECT_FALSE(extent(Selection::bitmap(bits, 0), 8));
  EXPECT_FALSE(extent(Selection::bitmap(bits, 8), 12));
}

TEST(Pieces, OfABitmapShorterThanTheDataEndWithIt) {
  const std::vector<std::byte> data(8 * 200);
  const std::vector<std::uint64_t> bits{~std::uint64_t{0}};
  const auto by = touched(Selection::bitmap(bits, 8), data, data.size(), kAny);
  EXPECT_EQ(by[63 * 8], 63 * 8);
  EXPECT_EQ(by[64 * 8], -1);
}

TEST(Pieces, OfChangesAreTheWordsThatDiffer) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> data(random() % 1000);
    for (std::byte& byte : data) byte = static_cast<std::byte>(random());
    std::vector<std::byte> twin = data;
    for (std::size_t i = 0; i < data.size() / 20; ++i) data[random() % data.size()] ^= std::byte{1};
    const auto by = touched(Selection::changed(twin), data, data.size(), kAny);
    for (std::size_t i = 0; i < data.size(); ++i) {
      bool differs = false;
      for (std::size_t j = i / 4 * 4; j < std::min(i / 4 * 4 + 4, data.size()); ++j) differs |= data[j] != twin[j];
      ASSERT_EQ(by[i], differs ? static_cast<int>(i) : -1) << "seed " << seed << " byte " << i;
    }
  }
  const std::vector<std::byte> data(8);
  EXPECT_FALSE(extent(Selection::changed(std::span(data).first(4)), 8));
}

} // namespace
} // namespace heddle::onesided
