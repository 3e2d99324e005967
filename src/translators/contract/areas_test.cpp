// The contract on communication areas: reached with their key and with no other, and not after they are closed.
#include "translators/contract/contract.hpp"

#include <set>

namespace heddle::translators::contract {
namespace {

TEST_P(AreasContract, AreWrittenAndReadWithTheirKey) {
  for (const ir::ExposedMemory& area : areas) {
    EXPECT_EQ(left.status_of(put(1, area.place.at(100), data)), ir::Status::ok);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), area.memory.begin() + 100));
    std::vector<std::byte> back(data.size());
    EXPECT_EQ(left.status_of(get(1, area.place.at(100), back)), ir::Status::ok);
    EXPECT_EQ(back, data);
  }
}

TEST_P(AreasContract, RefuseWhatReachesBeyondThem) {
  for (const ir::ExposedMemory& area : areas) {
    const std::vector<std::byte> before(area.memory.begin(), area.memory.end());
    for (const std::uint64_t offset : {kBytes - data.size() + 1, kBytes, kLargest, kLargest - data.size() + 1}) {
      EXPECT_EQ(left.status_of(put(1, area.place.at(offset), data)), ir::Status::refused) << offset;
      EXPECT_EQ(left.status_of(get(1, area.place.at(offset), data)), ir::Status::refused) << offset;
    }
    EXPECT_TRUE(std::equal(before.begin(), before.end(), area.memory.begin()));
  }
}

TEST_P(AreasContract, HaveKeysThatCountingDoesNotFind) {
  std::set<std::uint64_t> keys;
  for (const ir::ExposedMemory& area : areas) keys.insert(static_cast<std::uint64_t>(area.place.key));
  for (int i = 0; i < 8; ++i) {
    const auto more = ir::allocate_area(right.translator(), 64);
    ASSERT_TRUE(more) << more.error().message();
    EXPECT_TRUE(keys.insert(static_cast<std::uint64_t>(more->place.key)).second) << "a key came twice";
  }
  std::vector<std::byte> word(8);
  const auto key = static_cast<std::uint64_t>(areas.front().place.key);
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{64}, std::uint64_t{1} << 16U})
    for (const std::uint64_t guess : {key + step, key - step, key + (step << 8U), key ^ step})
      if (!keys.contains(guess)) {
        EXPECT_NE(left.status_of(get(1, {.key = ir::MemoryKey{guess}, .offset = 0}, word)), ir::Status::ok)
            << key << " gives " << guess;
      }
}

TEST_P(AreasContract, AreOutOfReachOnceClosed) {
  for (const ir::ExposedMemory& area : areas) {
    ASSERT_EQ(left.status_of(put(1, area.place, data)), ir::Status::ok);
    ir::DirectMemory* memory_of = left.translator().facets().direct_memory;
    const ir::DirectArea direct =
        memory_of != nullptr ? memory_of->direct_area(ir::Peer{1}, area.place, kBytes) : ir::DirectArea{};
    EXPECT_TRUE(!direct.exists() || direct.enter());
    if (direct.exists()) direct.leave();
    EXPECT_TRUE(ir::close_area(right.translator(), area.place));
    const std::vector<std::byte> before(area.memory.begin(), area.memory.end());
    std::vector<std::byte> other = pattern(data.size(), 99);
    EXPECT_EQ(left.status_of(put(1, area.place, other)), ir::Status::refused);
    EXPECT_EQ(left.status_of(get(1, area.place, data)), ir::Status::refused);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), area.memory.begin()));
    if (direct.exists()) {
      EXPECT_FALSE(direct.enter());
    }
    if (memory_of != nullptr) {
      EXPECT_FALSE(memory_of->direct_area(ir::Peer{1}, area.place, kBytes).exists());
      memory_of->leave_area(ir::Peer{1}, area.place);
    }
    EXPECT_EQ(left.status_of(put(1, area.place, other)), ir::Status::refused);
  }
  ir::release_area(right.translator(), areas.front());
}

TEST_P(AreasContract, OpenAgainUnderAnotherKey) {
  EXPECT_TRUE(ir::close_area(right.translator(), areas.front().place));
  ir::release_area(right.translator(), areas.front());
  const auto again = ir::allocate_area(right.translator(), kBytes);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(left.status_of(put(1, areas.front().place, data)), ir::Status::refused);
  EXPECT_EQ(left.status_of(put(1, again->place, data)), ir::Status::ok);
}

TEST_P(AreasContract, GiveDirectMemoryWhoseStoresArePuts) {
  const ir::ExposedMemory& area = areas.front();
  ir::DirectMemory* offered = left.translator().facets().direct_memory;
  if (offered == nullptr) GTEST_SKIP() << "this network offers none";
  const ir::DirectArea direct = offered->direct_area(ir::Peer{1}, area.place, kBytes);
  ASSERT_TRUE(direct.enter());
  direct.memory[77] = std::byte{0x5a};
  direct.leave();
  EXPECT_EQ(area.memory[77], std::byte{0x5a});
  EXPECT_FALSE(offered->direct_area(ir::Peer{1}, area.place, kBytes + 1).exists());
}

} // namespace

} // namespace heddle::translators::contract
