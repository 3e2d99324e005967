// The contract on direct memory (translator.hpp, direct_ring.hpp): what is stored through one is there as if it had been put.
#include "translators/contract/contract.hpp"

namespace heddle::translators::contract {
namespace {

void store(const ir::DirectRing& direct, std::uint64_t offset, const ir::StoredRecord& record) {
  ir::store_record(record, direct.memory + offset);
}

TEST_P(DirectMemoryContract, AStoredRecordIsTheSameAsItsPut) {
  for (const std::size_t bytes : {0U, 1U, 2U, 3U, 4U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 33U, 64U, 65U, 1000U, 4096U}) {
    SCOPED_TRACE(bytes);
    const std::uint64_t offset = 64;
    std::vector<std::byte> data = pattern(bytes, 5);
    ir::Command command = put_word(1, there.at(offset), 11);
    const std::uint64_t second = 12;
    std::memcpy(command.head.data() + 8, &second, sizeof second);
    command.head_bytes = 16;
    command.local = data.data();
    command.bytes = data.size();
    command.flags = ir::Flags::lead_last | ir::Flags::terminated;
    fill(kUntouched);
    ASSERT_EQ(left.status_of(command), ir::Status::ok);
    const std::vector<std::byte> expected(memory.begin(), memory.end());

    fill(kUntouched);
    store(direct, offset, {.lead = 11, .second = 12, .local = data.data(), .bytes = data.size()});
    EXPECT_TRUE(std::equal(memory.begin(), memory.end(), expected.begin()));
  }
}

TEST_P(DirectMemoryContract, AStoreFollowsTheCommandsBeforeIt) {
  for (std::uint64_t i = 1; i <= 100; ++i) {
    left.submit(put_word(1, there, i));
    store(direct, 0, {.lead = i + 1000, .second = 0, .local = nullptr, .bytes = 0});
    EXPECT_EQ(load_word(memory.data()), i + 1000);
  }
}

TEST_P(DirectMemoryContract, NobodyAsleepIsToBeWoken) {
  EXPECT_EQ(direct.asleep->load(), 0U);
}

TEST_P(DirectMemoryContract, AStoreAndItsWakeEndTheSleepAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  ir::Sleeping* sleeping = right.translator().facets().sleeping;
  ASSERT_NE(sleeping, nullptr) << "stores can be told of";
  for (std::uint64_t i = 1; i <= 20; ++i) {
    sleeping->announce_sleep(ir::Sleeping::By::sleep);
    store(direct, 0, {.lead = i, .second = 0, .local = nullptr, .bytes = 0});
    ASSERT_NE(direct.asleep->load(), 0U);
    offered->wake(direct.peer);
    sleeping->sleep(kPatience);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

TEST_P(DirectMemoryContract, ThereIsNoneOntoWhatIsNotThePeersOrNotAWord) {
  EXPECT_FALSE(offered->direct_ring(ir::Peer{1}, {.key = ir::MemoryKey{0xbad}, .offset = 0}, 8).exists());
  EXPECT_FALSE(offered->direct_ring(ir::Peer{1}, there, kLargest).exists());
  EXPECT_FALSE(offered->direct_ring(ir::Peer{1}, there.at(kLargest - there.offset), 64).exists());
  EXPECT_FALSE(offered->direct_ring(ir::Peer{1}, there.at(4), 64).exists());
  EXPECT_FALSE(offered->direct_ring(ir::Peer{7}, there, 64).exists());
}

TEST_P(DirectMemoryContract, ThereIsNoneOntoADetachedPeer) {
  left.translator().detach(ir::Peer{1});
  EXPECT_FALSE(offered->direct_ring(ir::Peer{1}, there, 64).exists());
  offered->wake(ir::Peer{1});
}

} // namespace
} // namespace heddle::translators::contract
