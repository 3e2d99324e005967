// The contract on peers: attach, detach, and commands to those that are not there (translator.hpp).
#pragma once

#include "translators/contract/network.hpp"

namespace heddle::translators::contract {

template <typename Network>
class PeersContract : public Pair<Network> {};
TYPED_TEST_SUITE_P(PeersContract);

TYPED_TEST_P(PeersContract, TheAddressStaysTheSame) {
  EXPECT_EQ(this->left.translator().address(), this->left.translator().address());
  EXPECT_FALSE(this->left.translator().name().empty());
}

TYPED_TEST_P(PeersContract, AttachingAgainChangesNothing) {
  for (int i = 0; i < 3; ++i) {
    const auto again = this->left.translator().attach(ir::Peer{1}, this->right.translator().address());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->key, this->there.key);
    EXPECT_EQ(again->offset, this->there.offset);
  }
  EXPECT_EQ(this->left.status_of(put_word(1, this->there, 7)), ir::Status::ok);
  EXPECT_EQ(load_word(this->memory.data()), 7U);
}

TYPED_TEST_P(PeersContract, AttachingOneselfReachesOnesOwnMemory) {
  const auto here = this->right.translator().attach(ir::Peer{1}, this->right.translator().address());
  ASSERT_TRUE(here) << here.error().message();
  EXPECT_EQ(this->right.status_of(put_word(1, *here, 9)), ir::Status::ok);
  EXPECT_EQ(load_word(this->memory.data()), 9U);
}

TYPED_TEST_P(PeersContract, AttachingNobodyFailsWithTheReasonAndThePeer) {
  const Contact nobody = this->network.nobody();
  this->left.translator().detach(nobody.peer);
  for (int i = 0; i < 2; ++i) {
    const auto failed = this->left.translator().attach(nobody.peer, nobody.address);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::unreachable) << failed.error().message();
    EXPECT_EQ(failed.error().peer, static_cast<std::int64_t>(nobody.peer));
    EXPECT_GT(failed.error().fact.size(), 10U);
  }
}

TYPED_TEST_P(PeersContract, AttachingAPeerThatHasGoneFails) {
  const Contact gone = this->network.gone();
  this->left.translator().detach(gone.peer);
  const auto failed = this->left.translator().attach(gone.peer, gone.address);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::unreachable) << failed.error().message();
}

TYPED_TEST_P(PeersContract, ARankOutsideTheJobIsAnErrorAndNotACrash) {
  const ir::Peer outside{1'000'000};
  const auto failed = this->left.translator().attach(outside, this->right.translator().address());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().peer, 1'000'000);
  this->left.translator().detach(outside);
  EXPECT_EQ(this->left.status_of(put_word(1'000'000, this->there, 1)), ir::Status::peer_lost);
}

TYPED_TEST_P(PeersContract, CommandsToADetachedPeerEndAsPeerLostAndChangeNothing) {
  this->left.translator().detach(ir::Peer{1});
  std::vector<std::byte> data = pattern(100, 1);
  const std::vector<std::byte> before = data;
  EXPECT_EQ(this->left.status_of(put(1, this->there, data)), ir::Status::peer_lost);
  EXPECT_EQ(this->left.status_of(get(1, this->there, data)), ir::Status::peer_lost);
  if (this->left.translator().capabilities().atomics) {
    EXPECT_EQ(this->left.status_of(fetch_and_add(1, this->there, 1)), ir::Status::peer_lost);
    EXPECT_EQ(this->left.status_of(compare_and_swap(1, this->there, 0, 1)), ir::Status::peer_lost);
  }
  this->left.submit(put_word(1, this->there, 1)); // unsignalled: vanishes
  EXPECT_TRUE(this->left.events().empty());
  EXPECT_TRUE(this->all(std::byte{0}));
  EXPECT_EQ(data, before);
}

TYPED_TEST_P(PeersContract, DetachingEndsEverySignalledCommandWithOneEvent) {
  constexpr std::uint64_t kCount = 50;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ir::Command command = put_word(1, this->there, i);
    command.flags = ir::Flags::signalled;
    command.cookie = i + 1;
    this->left.submit(command);
  }
  this->left.translator().detach(ir::Peer{1});
  std::vector<int> seen(kCount + 1, 0);
  for (const ir::Event& event : this->left.events()) ++seen.at(event.cookie);
  for (std::uint64_t i = 1; i <= kCount; ++i) EXPECT_EQ(seen[i], 1) << i;
}

TYPED_TEST_P(PeersContract, DetachingTwiceOrWithoutAttachingIsHarmless) {
  this->left.translator().detach(ir::Peer{1});
  this->left.translator().detach(ir::Peer{1});
  this->left.translator().detach(ir::Peer{0});
  EXPECT_TRUE(this->left.events().empty());
}

TYPED_TEST_P(PeersContract, ADetachedPeerCanBeAttachedAgain) {
  this->left.translator().detach(ir::Peer{1});
  const auto again = this->left.translator().attach(ir::Peer{1}, this->right.translator().address());
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(this->left.status_of(put_word(1, *again, 11)), ir::Status::ok);
  EXPECT_EQ(load_word(this->memory.data()), 11U);
}

TYPED_TEST_P(PeersContract, DetachingOnePeerLeavesTheOtherDirectionOpen) {
  this->left.translator().detach(ir::Peer{1});
  const auto back = this->right.translator().attach(ir::Peer{0}, this->left.translator().address());
  ASSERT_TRUE(back);
  EXPECT_EQ(this->right.status_of(put_word(0, *back, 3)), ir::Status::ok);
}

REGISTER_TYPED_TEST_SUITE_P(PeersContract, TheAddressStaysTheSame, AttachingAgainChangesNothing,
                            AttachingOneselfReachesOnesOwnMemory, AttachingNobodyFailsWithTheReasonAndThePeer,
                            AttachingAPeerThatHasGoneFails, ARankOutsideTheJobIsAnErrorAndNotACrash,
                            CommandsToADetachedPeerEndAsPeerLostAndChangeNothing,
                            DetachingEndsEverySignalledCommandWithOneEvent, DetachingTwiceOrWithoutAttachingIsHarmless,
                            ADetachedPeerCanBeAttachedAgain, DetachingOnePeerLeavesTheOtherDirectionOpen);

} // namespace heddle::translators::contract
