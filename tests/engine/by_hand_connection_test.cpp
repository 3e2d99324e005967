// Opening a link, step by step: what the engine writes to a peer's slots, and what it makes of what it finds in its own.
#include "tests/engine/by_hand.hpp"

namespace heddle::tests {
namespace {

TEST_F(ByHand, InitiatorGoesThroughItsFiveSteps) {
  ASSERT_TRUE(engine_->send({.to = Rank{kPeer}, .tag = Tag{5}, .notify = Notify::event(1)}, ConstLayout()).has_value());
  EXPECT_TRUE(translator_.commands_.empty());
  progress();
  // I1
  const FakeTranslator::Written lock = next();
  EXPECT_EQ(lock.command.operation, ir::Operation::compare_and_swap);
  EXPECT_EQ(lock.command.remote.key, ir::MemoryKey{kPeerArea});
  EXPECT_EQ(lock.command.remote.offset, BootstrapArea::lock_offset());
  EXPECT_EQ(lock.command.expected, 0U);
  EXPECT_EQ(lock.command.operand, engine::incarnation_of(uid_of(kSelf), kPeer));
  progress(50);
  EXPECT_TRUE(translator_.commands_.empty()) << "one lock is asked for at a time";
  answer(lock.command, 3); // somebody else holds it
  const FakeTranslator::Written again = next();
  EXPECT_EQ(again.command.operation, ir::Operation::compare_and_swap);
  answer(again.command, 0);
  // I2, I3
  const FakeTranslator::Written written = next();
  EXPECT_EQ(written.command.remote.offset, BootstrapArea::request_offset());
  const std::uint32_t slot = engine::slot_of_request(written.word()).value();
  EXPECT_EQ(initiator_of(written), uid_of(kSelf));
  // I4, I5
  say(slot, SlotVerb::answer, peer_body(7));
  const FakeTranslator::Written information = next();
  EXPECT_EQ(information.command.remote.offset, BootstrapArea::slot_offset(7));
  EXPECT_EQ(engine::verb_of(information.word()), SlotVerb::information);
  SlotBody own;
  ASSERT_EQ(information.bytes.size(), 8 + sizeof own);
  std::memcpy(static_cast<void*>(&own), information.bytes.data() + 8, sizeof own);
  EXPECT_EQ(own.sender, uid_of(kSelf));
  EXPECT_EQ(own.number, kPeer);
  EXPECT_EQ(own.slot, slot);
  EXPECT_EQ(own.grant.type, RingType::exclusive);
  EXPECT_EQ(own.grant.bytes, kRingBytes);
  progress();
  EXPECT_TRUE(translator_.commands_.empty()) << "no message before the acknowledgement";
  say(slot, SlotVerb::acknowledge, {});
  // The message at last.
  const FakeTranslator::Written message = next();
  EXPECT_EQ(message.command.remote.key, ir::MemoryKey{kPeerRing});
  EXPECT_EQ(message.command.remote.offset, 0U);
  EXPECT_EQ(Lead::unpack(message.word()).kind, RecordKind::eager);
  EXPECT_EQ(message.word(8), 5U);
  const auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, Event::Kind::sent);
  EXPECT_EQ(all[0].completion.code, ErrorCode::ok);
}

TEST_F(ByHand, ResponderAnswersFreesTheCommonSlotAndAcknowledges) {
  request(kPeer, 9);
  // R1
  const FakeTranslator::Written answered = next();
  EXPECT_EQ(answered.command.remote.offset, BootstrapArea::slot_offset(9));
  EXPECT_EQ(engine::verb_of(answered.word()), SlotVerb::answer);
  EXPECT_EQ(area_->common.lock.load(), 0U);
  EXPECT_EQ(area_->common.request.load(), 0U);
  SlotBody own;
  std::memcpy(static_cast<void*>(&own), answered.bytes.data() + 8, sizeof own);
  // R2
  say(own.slot, SlotVerb::information, peer_body(11));
  const FakeTranslator::Written acknowledged = next();
  EXPECT_EQ(acknowledged.command.remote.offset, BootstrapArea::slot_offset(11));
  EXPECT_EQ(engine::verb_of(acknowledged.word()), SlotVerb::acknowledge);
  EXPECT_TRUE(translator_.commands_.empty());
  EXPECT_TRUE(events().empty());
}

TEST_F(ByHand, LowerRankTurnsDownARequestSeenAfterItsAnswer) {
  const std::uint32_t slot = start_to_request();
  say(slot, SlotVerb::answer, peer_body(7));
  EXPECT_EQ(engine::verb_of(next().word()), SlotVerb::information);
  request(kPeer, 3); // written before the answer, seen after it
  const FakeTranslator::Written down = next();
  EXPECT_EQ(down.command.remote.offset, BootstrapArea::slot_offset(3));
  EXPECT_EQ(engine::verb_of(down.word()), SlotVerb::superseded);
  EXPECT_EQ(area_->common.lock.load(), 0U);
  say(slot, SlotVerb::acknowledge, {});
  EXPECT_EQ(Lead::unpack(next().word()).kind, RecordKind::eager);
}

TEST_F(ByHand, GivesALockBackThatComesAfterTheLinkFailed) {
  ASSERT_TRUE(engine_->send({.to = Rank{kPeer}, .notify = Notify::event(1)}, ConstLayout()).has_value());
  progress();
  const FakeTranslator::Written lock = next();
  request(kPeer, 3); // answered instead
  SlotBody own;
  std::memcpy(static_cast<void*>(&own), next().bytes.data() + 8, sizeof own);
  say(own.slot, static_cast<SlotVerb>(0x1234), {});
  expect_connection_lost();
  answer(lock.command, 0);
  const FakeTranslator::Written unlock = next();
  EXPECT_EQ(unlock.command.remote.offset, BootstrapArea::lock_offset());
  EXPECT_EQ(unlock.word(), 0U);
}

TEST_F(ByHand, InitiatorShortOfMemoryRefusesInTheSlotOfTheAnswer) {
  const std::uint32_t slot = start_to_request();
  translator_.allocations_left = 0;
  say(slot, SlotVerb::answer, peer_body(7));
  const FakeTranslator::Written refused = next();
  EXPECT_EQ(refused.command.remote.offset, BootstrapArea::slot_offset(7));
  EXPECT_EQ(engine::verb_of(refused.word()), SlotVerb::refused);
  expect_connection_lost();
}

TEST_F(ByHand, ResponderShortOfMemoryRefuses) {
  translator_.allocations_left = 0;
  request(kPeer, 9);
  const FakeTranslator::Written refused = next();
  EXPECT_EQ(refused.command.remote.offset, BootstrapArea::slot_offset(9));
  EXPECT_EQ(engine::verb_of(refused.word()), SlotVerb::refused);
  EXPECT_EQ(area_->common.lock.load(), 0U);
  expect_connection_lost();
}

TEST_F(ByHand, RefusedByThePeerEndsTheSend) {
  const std::uint32_t slot = start_to_request();
  say(slot, SlotVerb::refused, {});
  expect_connection_lost();
}

TEST_F(ByHand, GarbageInTheCommonSlotIsClearedAway) {
  struct Garbage {
    std::uint64_t word;
    engine::Uid initiator;
  };
  for (const Garbage& garbage :
       {Garbage{1, uid_of(kPeer)}, Garbage{~std::uint64_t{0}, uid_of(kPeer)},
        Garbage{engine::pack_request(0xfff0), uid_of(kPeer)}, Garbage{engine::pack_request(0), uid_of(kSelf)},
        Garbage{engine::pack_request(0), uid_of(4)}, Garbage{engine::pack_request(0), 0}}) {
    area_->common.lock.store(1);
    area_->common.initiator.uid = garbage.initiator;
    area_->common.request.store(garbage.word);
    progress();
    EXPECT_EQ(area_->common.request.load(), 0U);
    EXPECT_EQ(area_->common.lock.load(), 0U);
  }
  connect_as_responder();
}

TEST_F(ByHand, GarbageInACommandSlotLosesTheConnection) {
  for (const std::uint64_t garbage :
       {std::uint64_t{6}, ~std::uint64_t{0}, static_cast<std::uint64_t>(SlotVerb::information),
        static_cast<std::uint64_t>(SlotVerb::acknowledge)}) {
    SCOPED_TRACE(testing::Message() << "word " << garbage);
    make(kSelf);
    translator_.commands_.clear();
    const std::uint32_t slot = start_to_request();
    say(slot, static_cast<SlotVerb>(garbage), {});
    expect_connection_lost();
    translator_.commands_.clear();
  }
}

TEST_F(ByHand, MalformedGrantsLoseTheConnection) {
  std::vector<SlotBody> bodies(9, peer_body(7));
  bodies[0].sender = uid_of(3);
  bodies[1].slot = engine::kCommandSlots;
  bodies[2].grant.bytes = 0;
  bodies[3].grant.bytes = kRingBytes + 8;
  bodies[4].grant.bytes = std::uint64_t{1} << 40U;
  bodies[5].grant.type = static_cast<RingType>(9);
  bodies[6].grant.type = RingType::shared; // slots of 0 bytes
  bodies[7].grant.type = RingType::shared;
  bodies[7].grant.slot_bytes = 2 * kRingBytes;
  bodies[8].grant.type = RingType::refused;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "case " << i);
    make(kSelf);
    translator_.commands_.clear();
    const std::uint32_t slot = start_to_request();
    say(slot, SlotVerb::answer, bodies[i]);
    expect_connection_lost();
  }
}

TEST_F(ByHand, ASharedRingOutOfReachLosesTheConnection) {
  const std::uint32_t slot = start_to_request();
  say(slot, SlotVerb::answer, shared_body());
  next();
  say(slot, SlotVerb::acknowledge, {});
  const FakeTranslator::Written claim = next();
  EXPECT_EQ(claim.command.operation, ir::Operation::compare_and_swap);
  EXPECT_EQ(claim.command.remote.key, ir::MemoryKey{kPeerRing});
  answer(claim.command, 0, ir::Status::refused);
  expect_connection_lost();
  EXPECT_TRUE(translator_.commands_.empty());
}

TEST_F(ByHand, ASlotClaimedOnALinkThatFailedIsNotLeftToBlockTheRing) {
  const std::uint32_t slot = start_to_request();
  say(slot, SlotVerb::answer, shared_body());
  SlotBody own;
  std::memcpy(static_cast<void*>(&own), next().bytes.data() + 8, sizeof own);
  say(slot, SlotVerb::acknowledge, {});
  const FakeTranslator::Written claim = next();
  lay(translator_.block(static_cast<std::uint64_t>(own.grant.place.key)), 0, static_cast<RecordKind>(200), 0, 0);
  expect_connection_lost();
  answer(claim.command, claim.command.expected); // the claim was granted after all
  const FakeTranslator::Written left = next();
  EXPECT_EQ(left.command.remote.key, ir::MemoryKey{kPeerRing});
  const engine::Claim word = engine::Claim::unpack(left.word());
  EXPECT_TRUE(word.ready);
  EXPECT_EQ(word.owner, kSelf + 1);
  EXPECT_EQ(Lead::unpack(left.word(8)).kind, RecordKind::broken_off);
}

TEST_F(ByHand, WhoLosesAConnectionTellsItsPeer) {
  std::byte* ring = connect_as_responder();
  lay(ring, 0, static_cast<RecordKind>(200), 0, 0);
  translator_.refuse = true; // not at once
  expect_connection_lost();
  EXPECT_TRUE(translator_.commands_.empty());
  translator_.refuse = false;
  progress();
  const FakeTranslator::Written told = next();
  EXPECT_EQ(told.command.remote.key, ir::MemoryKey{kPeerRing});
  EXPECT_EQ(Lead::unpack(told.word()).kind, RecordKind::broken_off);
  progress();
  EXPECT_TRUE(translator_.commands_.empty()); // once
}

TEST_F(ByHand, WhoIsToldThatAConnectionIsGivenUpLosesItToo) {
  std::byte* ring = connect_as_responder();
  std::array<std::byte, 64> into;
  ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}}, into, Notify::event(3)).has_value());
  lay(ring, 0, RecordKind::broken_off, 0, 0, 0);
  expect_connection_lost();
  const auto refused = engine_->send({.to = Rank{kPeer}}, ConstLayout());
  EXPECT_NE(refused.error().fact.find("given up the connection"), std::string::npos) << refused.error().fact;
}

// Who is on the list hears of a peer's end once, with how; and again when it turns out to be another.
struct Mourner {
  std::vector<engine::PeerEnd> told{};
  std::vector<std::uint32_t> ranks{};

  explicit Mourner(engine::Engine& engine) {
    engine.handlers().add_end_row(
        engine::end_row(*this, [](Mourner& self, engine::Connection& connection, engine::PeerEnd end) {
          self.told.push_back(end);
          self.ranks.push_back(connection.rank);
        }));
  }
  void expect(std::size_t times, engine::End how, engine::End before) const {
    ASSERT_EQ(told.size(), times);
    EXPECT_EQ(told.back().how, how);
    EXPECT_EQ(told.back().before, before);
    EXPECT_EQ(ranks.back(), kPeer);
  }
};

TEST_F(ByHand, WhoeverIsOnTheListHearsOnceThatAPeerHasDied) {
  const Mourner mourner(*engine_);
  for (int times = 0; times < 2; ++times) {
    engine_->peer_failed(kPeer);
    mourner.expect(1, engine::End::died, engine::End::none);
  }
  engine_->peer_left(kPeer);
  mourner.expect(1, engine::End::died, engine::End::none);
}

TEST_F(ByHand, WhoeverIsOnTheListHearsWhatHasBecomeOfTheOtherEndOfALostConnection) {
  const Mourner mourner(*engine_);
  std::byte* ring = connect_as_responder();
  lay(ring, 0, RecordKind::broken_off, 0, 0, 0);
  progress();
  mourner.expect(1, engine::End::connection_lost, engine::End::none);
  engine_->peer_left(kPeer);
  mourner.expect(2, engine::End::left, engine::End::connection_lost);
  engine_->peer_failed(kPeer);
  mourner.expect(3, engine::End::died, engine::End::left);
  engine_->peer_failed(kPeer);
  mourner.expect(3, engine::End::died, engine::End::left);
}

} // namespace
} // namespace heddle::tests
