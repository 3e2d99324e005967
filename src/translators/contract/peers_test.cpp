// The contract on peers: attach, detach, and commands to those that are not there (translator.hpp).
#include "translators/contract/contract.hpp"

namespace heddle::translators::contract {
namespace {

TEST_P(PeersContract, TheAddressStaysTheSame) {
  EXPECT_EQ(left.translator().address(), left.translator().address());
  EXPECT_FALSE(left.translator().name().empty());
}

TEST_P(PeersContract, AttachingAgainChangesNothing) {
  for (int i = 0; i < 3; ++i) {
    const auto again = left.translator().attach(ir::Peer{1}, right.translator().address());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->key, there.key);
    EXPECT_EQ(again->offset, there.offset);
  }
  EXPECT_EQ(left.status_of(put_word(1, there, 7)), ir::Status::ok);
  EXPECT_EQ(load_word(memory.data()), 7U);
}

TEST_P(PeersContract, AttachingOneselfReachesOnesOwnMemory) {
  const auto here = right.translator().attach(ir::Peer{1}, right.translator().address());
  ASSERT_TRUE(here) << here.error().message();
  EXPECT_EQ(right.status_of(put_word(1, *here, 9)), ir::Status::ok);
  EXPECT_EQ(load_word(memory.data()), 9U);
}

TEST_P(PeersContract, AttachingNobodyFailsWithTheReasonAndThePeer) {
  const Contact nobody = network->nobody();
  left.translator().detach(nobody.peer);
  for (int i = 0; i < 2; ++i) {
    const auto failed = left.translator().attach(nobody.peer, nobody.address);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::unreachable) << failed.error().message();
    EXPECT_EQ(failed.error().peer, static_cast<std::int64_t>(nobody.peer));
    EXPECT_GT(failed.error().fact.size(), 10U);
  }
}

TEST_P(PeersContract, AttachingAPeerThatHasGoneFails) {
  const Contact gone = network->gone();
  left.translator().detach(gone.peer);
  const auto failed = left.translator().attach(gone.peer, gone.address);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::unreachable) << failed.error().message();
}

TEST_P(PeersContract, ARankOutsideTheJobIsAnErrorAndNotACrash) {
  const ir::Peer outside{1'000'000};
  const auto failed = left.translator().attach(outside, right.translator().address());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().peer, 1'000'000);
  left.translator().detach(outside);
  EXPECT_EQ(left.status_of(put_word(1'000'000, there, 1)), ir::Status::peer_lost);
}

TEST_P(PeersContract, CommandsToADetachedPeerEndAsPeerLostAndChangeNothing) {
  left.translator().detach(ir::Peer{1});
  std::vector<std::byte> data = pattern(100, 1);
  const std::vector<std::byte> before = data;
  EXPECT_EQ(left.status_of(put(1, there, data)), ir::Status::peer_lost);
  EXPECT_EQ(left.status_of(get(1, there, data)), ir::Status::peer_lost);
  if (left.translator().capabilities().atomics) {
    EXPECT_EQ(left.status_of(fetch_and_add(1, there, 1)), ir::Status::peer_lost);
    EXPECT_EQ(left.status_of(compare_and_swap(1, there, 0, 1)), ir::Status::peer_lost);
  }
  left.submit(put_word(1, there, 1)); // unsignalled: vanishes
  EXPECT_TRUE(left.events().empty());
  EXPECT_TRUE(all(std::byte{0}));
  EXPECT_EQ(data, before);
}

TEST_P(PeersContract, DetachingEndsEverySignalledCommandWithOneEvent) {
  constexpr std::uint64_t kCount = 50;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ir::Command command = put_word(1, there, i);
    command.flags = ir::Flags::signalled;
    command.cookie = i + 1;
    left.submit(command);
  }
  left.translator().detach(ir::Peer{1});
  std::vector<int> seen(kCount + 1, 0);
  for (const ir::Event& event : left.events()) ++seen.at(event.cookie);
  for (std::uint64_t i = 1; i <= kCount; ++i) EXPECT_EQ(seen[i], 1) << i;
}

TEST_P(PeersContract, DetachingTwiceOrWithoutAttachingIsHarmless) {
  left.translator().detach(ir::Peer{1});
  left.translator().detach(ir::Peer{1});
  left.translator().detach(ir::Peer{0});
  EXPECT_TRUE(left.events().empty());
}

TEST_P(PeersContract, ADetachedPeerCanBeAttachedAgain) {
  left.translator().detach(ir::Peer{1});
  const auto again = left.translator().attach(ir::Peer{1}, right.translator().address());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(left.status_of(put_word(1, *again, 11)), ir::Status::ok);
  EXPECT_EQ(load_word(memory.data()), 11U);
}

TEST_P(PeersContract, DetachingOnePeerLeavesTheOtherDirectionOpen) {
  left.translator().detach(ir::Peer{1});
  const auto back = right.translator().attach(ir::Peer{0}, left.translator().address());
  ASSERT_TRUE(back);
  EXPECT_EQ(right.status_of(put_word(0, *back, 3)), ir::Status::ok);
}

} // namespace
} // namespace heddle::translators::contract
