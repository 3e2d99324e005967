// The contract on memory: allocate, deallocate, expose, withdraw (translator.hpp).
#include "translators/contract/contract.hpp"

namespace heddle::translators::contract {
namespace {

TEST_P(MemoryContract, AllocatesZeroedMemoryAlignedTo64) {
  for (const std::size_t bytes : {1U, 7U, 8U, 63U, 64U, 65U, 4096U, 100'000U}) {
    const auto made = left.translator().allocate(bytes);
    ASSERT_TRUE(made) << made.error().message();
    ASSERT_EQ(made->memory.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made->memory.data()) % 64, 0U);
    for (const std::byte byte : made->memory) ASSERT_EQ(byte, std::byte{0});
    std::fill(made->memory.begin(), made->memory.end(), std::byte{0xff});
  }
}

TEST_P(MemoryContract, AllocatesNoBytesWithoutHarm) {
  const auto nothing = left.translator().allocate(0);
  ASSERT_TRUE(nothing) << nothing.error().message();
  EXPECT_TRUE(nothing->memory.empty());
  left.translator().deallocate(*nothing);
  EXPECT_TRUE(left.translator().allocate(64));
}

TEST_P(MemoryContract, AllocatedPiecesDoNotOverlap) {
  std::vector<ir::ExposedMemory> pieces;
  for (unsigned i = 0; i < 50; ++i) {
    const auto made = left.translator().allocate(1 + i * 13);
    ASSERT_TRUE(made);
    std::fill(made->memory.begin(), made->memory.end(), static_cast<std::byte>(i));
    pieces.push_back(*made);
  }
  for (unsigned i = 0; i < 50; ++i)
    for (const std::byte byte : pieces[i].memory) ASSERT_EQ(byte, static_cast<std::byte>(i));
}

TEST_P(MemoryContract, IsZeroedAgainAfterItWasGivenBack) {
  for (int i = 0; i < 100; ++i) {
    const auto made = left.translator().allocate(100'000);
    ASSERT_TRUE(made) << "at the " << i << "th time: " << made.error().message();
    for (const std::byte byte : made->memory) ASSERT_EQ(byte, std::byte{0});
    std::fill(made->memory.begin(), made->memory.end(), std::byte{0xff});
    left.translator().deallocate(*made);
  }
}

TEST_P(MemoryContract, TooMuchIsOutOfMemoryAndHarmsNothing) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {std::size_t{1} << 60U, kMost / 2, kMost - 63, kMost - 1, kMost}) {
    const auto refused = left.translator().allocate(bytes);
    ASSERT_FALSE(refused) << bytes;
    EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(refused.error().remedy, "");
  }
  EXPECT_TRUE(left.translator().allocate(64));
}

TEST_P(MemoryContract, AFullNetworkServesAgainAfterMemoryWasGivenBack) {
  constexpr std::size_t kPiece = 1U << 20U;
  std::vector<ir::ExposedMemory> pieces;
  while (pieces.size() < 64) {
    const auto made = left.translator().allocate(kPiece);
    if (!made) {
      EXPECT_EQ(made.error().code, ErrorCode::out_of_memory);
      EXPECT_NE(made.error().remedy, "");
      break;
    }
    pieces.push_back(*made);
  }
  ASSERT_FALSE(pieces.empty());
  left.translator().deallocate(pieces.back());
  EXPECT_TRUE(left.translator().allocate(kPiece));
}

TEST_P(MemoryContract, TheFirstMemoryAllocatedIsTheOneThatAttachNames) {
  const auto later = right.translator().allocate(64);
  ASSERT_TRUE(later);
  ASSERT_EQ(left.status_of(put_word(1, there, 0x1234)), ir::Status::ok);
  EXPECT_EQ(load_word(memory.data()), 0x1234U);
  ASSERT_EQ(left.status_of(put_word(1, later->place, 0x5678)), ir::Status::ok);
  EXPECT_EQ(load_word(later->memory.data()), 0x5678U);
  EXPECT_EQ(load_word(memory.data()), 0x1234U);
}

TEST_P(MemoryContract, ExposedMemoryOfTheCallerIsReached) {
  std::vector<std::byte> owned = pattern(std::min<std::size_t>(100'000, largest_transfer()), 3);
  const auto place = right.translator().expose(owned);
  if (!right.translator().capabilities().reads_any_memory) {
    ASSERT_FALSE(place);
    EXPECT_NE(place.error().message(), "");
    return;
  }
  ASSERT_TRUE(place) << place.error().message();
  std::vector<std::byte> copy(owned.size());
  ASSERT_EQ(left.status_of(get(1, *place, copy)), ir::Status::ok);
  EXPECT_EQ(copy, owned);
  std::vector<std::byte> part(1000);
  ASSERT_EQ(left.status_of(get(1, place->at(4321), part)), ir::Status::ok);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), owned.begin() + 4321));
  part = pattern(1000, 99);
  ASSERT_EQ(left.status_of(put(1, place->at(77), part)), ir::Status::ok);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), owned.begin() + 77));
  EXPECT_TRUE(std::equal(owned.begin(), owned.begin() + 77, copy.begin()));
  EXPECT_TRUE(std::equal(owned.begin() + 1077, owned.end(), copy.begin() + 1077));
  right.translator().withdraw(*place);
}

} // namespace
} // namespace heddle::translators::contract
