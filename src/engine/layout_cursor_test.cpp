#include "engine/layout_cursor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace heddle::engine {
namespace {

std::vector<std::byte> counting(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i & 0xffU);
  return data;
}

// Layouts over `memory`, each with the places of its bytes in order.
struct Case {
  Layout layout;
  std::vector<std::size_t> places;
};
std::vector<Case> cases(std::vector<std::byte>& memory, std::vector<Piece>& pieces) {
  std::vector<Case> all;
  all.push_back({Layout(memory.data() + 3, 50), {}});
  for (std::size_t i = 0; i < 50; ++i) all.back().places.push_back(3 + i);
  all.push_back({Layout::strided(memory.data(), 7, 9, 13), {}});
  for (std::size_t i = 0; i < 63; ++i) all.back().places.push_back(i / 9 * 13 + i % 9);
  all.push_back({Layout::strided(memory.data() + 150, 10, 4, -11), {}});
  for (std::size_t i = 0; i < 40; ++i) all.back().places.push_back(150 - i / 4 * 11 + i % 4);
  pieces = {{memory.data() + 100, 5}, {nullptr, 0}, {memory.data() + 10, 70}, {memory.data() + 90, 1}};
  all.push_back({Layout::pieces(pieces), {}});
  for (std::size_t i = 0; i < 5; ++i) all.back().places.push_back(100 + i);
  for (std::size_t i = 0; i < 70; ++i) all.back().places.push_back(10 + i);
  all.back().places.push_back(90);
  return all;
}

TEST(LayoutCursor, GathersAnyRangeOfAnyShape) {
  std::vector<std::byte> memory = counting(200);
  std::vector<Piece> pieces;
  for (const Case& one : cases(memory, pieces)) {
    ASSERT_EQ(one.layout.bytes(), one.places.size());
    for (std::size_t from = 0; from <= one.places.size(); ++from)
      for (std::size_t bytes = 0; from + bytes <= one.places.size(); ++bytes) {
        std::vector<std::byte> got(bytes + 1, std::byte{0xaa});
        gather(one.layout, from, got.data(), bytes);
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(got[i], memory[one.places[from + i]]);
        ASSERT_EQ(got[bytes], std::byte{0xaa});
      }
  }
}

TEST(LayoutCursor, ScattersAnyRangeOfAnyShapeAndNothingElse) {
  const std::vector<std::byte> data = counting(100);
  std::vector<std::byte> memory(200);
  std::vector<Piece> pieces;
  for (const Case& one : cases(memory, pieces))
    for (std::size_t at = 0; at <= one.places.size(); at += 3)
      for (std::size_t bytes = 0; at + bytes <= one.places.size(); bytes += 2) {
        std::fill(memory.begin(), memory.end(), std::byte{0xee});
        scatter(one.layout, at, data.data(), bytes);
        std::vector<std::byte> expected(memory.size(), std::byte{0xee});
        for (std::size_t i = 0; i < bytes; ++i) expected[one.places[at + i]] = data[i];
        ASSERT_EQ(memory, expected);
      }
}

TEST(LayoutCursor, HasNothingToDoForEmptyLayouts) {
  std::array<std::byte, 8> memory{};
  std::array<Piece, 2> nothings{Piece{nullptr, 0}, Piece{memory.data(), 0}};
  for (const Layout& empty :
       {Layout(), Layout(memory.data(), 0), Layout::strided(nullptr, 5, 0, 8), Layout::strided(memory.data(), 0, 4, 8),
        Layout::pieces(std::span<const Piece>()), Layout::pieces(nothings)}) {
    EXPECT_EQ(empty.bytes(), 0U);
    visit_range(empty, 0, 0,
                [](std::byte*, std::uint64_t bytes) { ADD_FAILURE() << "a part of " << bytes << " bytes"; });
    scatter(empty, 0, nullptr, 0);
  }
  gather(ConstLayout(), 0, nullptr, 0);
}

// A peer may send more than the receiver's pieces hold: nothing beyond them is touched.
TEST(LayoutCursor, EndsWithTheLastPiece) {
  std::array<std::byte, 8> memory{};
  std::array<Piece, 2> pieces{Piece{memory.data(), 3}, Piece{memory.data() + 4, 2}};
  std::uint64_t visited = 0;
  visit_range(Layout::pieces(pieces), 1, 100, [&visited](std::byte*, std::uint64_t bytes) { visited += bytes; });
  EXPECT_EQ(visited, 4U);
}

TEST(CopyBytes, CopiesEverySizeExactly) {
  const std::vector<std::byte> from = counting(300);
  for (std::size_t bytes = 0; bytes < 200; ++bytes)
    for (std::size_t offset = 0; offset < 9; ++offset) {
      std::vector<std::byte> to(220, std::byte{0xee});
      base::copy_bytes(to.data() + 8 + offset, from.data() + offset, bytes);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= 8 + offset && i < 8 + offset + bytes;
        ASSERT_EQ(to[i], inside ? from[i - 8] : std::byte{0xee}) << bytes << " bytes at " << offset;
      }
    }
}

} // namespace
} // namespace heddle::engine
