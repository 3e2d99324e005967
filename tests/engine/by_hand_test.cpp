// The engine with no network: commands are written down, memory and events are the test's. The test plays the peer, well
// and badly.
#include "base/flight_recorder.hpp"
#include "engine/engine.hpp"
#include "schedule/queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <list>
#include <new>

namespace heddle::tests {
namespace {

using engine::BootstrapArea;
using engine::Lead;
using engine::RecordKind;
using engine::RingType;
using engine::SlotBody;
using engine::SlotVerb;

constexpr std::uint32_t kSelf = 1;
constexpr std::uint32_t kPeer = 2; // the higher rank unless a test says otherwise
constexpr std::uint64_t kPeerArea = 77;
constexpr std::uint64_t kPeerRing = 88;
constexpr std::uint64_t kPeerConsumed = 99;
constexpr std::uint64_t kRingBytes = 8192;

class FakeTranslator final : public ir::Translator {
 public:
  FakeTranslator() {
    capabilities_ = {.orders_puts = true,
                     .atomics = true,
                     .atomics_with_processor = true,
                     .reads_any_memory = true,
                     .processor_copies = true,
                     .inline_bytes = 1U << 20U,
                     .largest_transfer = 1U << 30U};
  }
  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Address address() const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override {
    if (allocations_left-- == 0) {
      allocations_left = 0;
      return std::unexpected(Error{.code = ErrorCode::out_of_memory, .fact = "none left", .remedy = {}});
    }
    auto& block = blocks_.emplace_back(bytes / 64 + 1);
    auto* data = reinterpret_cast<std::byte*>(block.data());
    return ir::ExposedMemory{.memory = {data, bytes}, .place = {.key = ir::MemoryKey{blocks_.size()}, .offset = 0}};
  }
  void deallocate(const ir::ExposedMemory&) override {}
  Result<ir::RemotePlace> expose(std::span<std::byte> memory) override {
    return ir::RemotePlace{.key = ir::MemoryKey{1000}, .offset = reinterpret_cast<std::uint64_t>(memory.data())};
  }
  void withdraw(const ir::RemotePlace&) override {}
  Result<ir::RemotePlace> attach(ir::Peer, const ir::Address&) override {
    return ir::RemotePlace{.key = ir::MemoryKey{kPeerArea}, .offset = 0};
  }
  void detach(ir::Peer) override {}
  std::size_t submit(std::span<const ir::Command> commands) override {
    if (refuse) return 0;
    for (const ir::Command& command : commands) {
      Written written{command, {}};
      if (command.operation == ir::Operation::put) {
        written.bytes.assign(command.head.begin(),
                             command.head.begin() + static_cast<std::ptrdiff_t>(command.head_bytes));
        if (command.bytes > 0) written.bytes.insert(written.bytes.end(), command.local, command.local + command.bytes);
      }
      commands_.push_back(std::move(written));
    }
    return commands.size();
  }
  std::size_t poll(std::span<ir::Event> events) override {
    std::size_t count = 0;
    for (; count < events.size() && !events_.empty(); ++count) {
      events[count] = events_.front();
      events_.pop_front();
    }
    return count;
  }

  struct Written {
    ir::Command command;
    std::vector<std::byte> bytes; // of a put

    [[nodiscard]] std::uint64_t word(std::size_t at = 0) const {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      return value;
    }
  };
  std::deque<Written> commands_;
  std::deque<ir::Event> events_;
  std::size_t allocations_left = 1000;
  bool refuse = false;
  ir::Capabilities capabilities_;

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::list<std::vector<Line>> blocks_;
  std::byte* block(std::size_t number) { // by key
    auto at = blocks_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(number) - 1);
    return reinterpret_cast<std::byte*>(at->data());
  }
};

class ByHand : public testing::Test {
 protected:
  void SetUp() override { make(kSelf); }
  void make(std::uint32_t rank) {
    schedule::Queue* queue = &queue_;
    engine_ = *engine::Engine::create(
        rank, 4,
        {.eager_limit = 1024, .ring_bytes = kRingBytes, .ring_memory = 1U << 20U, .chunk_bytes = 4096, .assist = true},
        {&queue, 1}, recorder_);
    engine_->set_contacts(std::vector<engine::Contact>(4));
    area_ = reinterpret_cast<BootstrapArea*>(translator_.block(translator_.blocks_.size()));
  }
  void progress(int times = 10) {
    for (int i = 0; i < times; ++i) engine_->progress();
  }
  // The oldest command not looked at.
  FakeTranslator::Written next() {
    if (translator_.commands_.empty()) {
      ADD_FAILURE() << "no command";
      return {};
    }
    FakeTranslator::Written written = std::move(translator_.commands_.front());
    translator_.commands_.pop_front();
    return written;
  }
  void answer(const ir::Command& command, std::uint64_t value, ir::Status status = ir::Status::ok) {
    translator_.events_.push_back({.kind = ir::EventKind::completed,
                                   .status = status,
                                   .peer = command.peer,
                                   .cookie = command.cookie,
                                   .value = value});
    progress();
  }
  static SlotBody peer_body(std::uint32_t slot) {
    SlotBody body;
    body.slot = slot;
    body.peer = kPeer;
    body.grant = {
        .type = RingType::exclusive, .place = {.key = ir::MemoryKey{kPeerRing}, .offset = 0}, .bytes = kRingBytes};
    body.consumed = {.key = ir::MemoryKey{kPeerConsumed}, .offset = 0};
    return body;
  }
  void say(std::size_t slot, SlotVerb verb, const SlotBody& body) {
    std::memcpy(static_cast<void*>(&area_->slots[slot].body), &body, sizeof body);
    area_->slots[slot].lead.store(static_cast<std::uint64_t>(verb));
    progress();
  }
  void request(std::uint32_t initiator, std::uint32_t slot) {
    area_->common.lock.store(initiator + 1);
    area_->common.request.store(engine::pack_request(initiator, slot));
    progress();
  }
  // As the initiator, up to the written request. The own slot comes back.
  std::uint32_t start_to_request() {
    EXPECT_TRUE(
        engine_->send({.to = Rank{kPeer}, .tag = Tag{5}, .notify = Notify::event(1)}, ConstLayout()).has_value());
    progress();
    answer(next().command, 0);
    const engine::ConnectionRequest written = engine::unpack_request(next().word());
    EXPECT_TRUE(written.valid);
    EXPECT_EQ(written.initiator, kSelf);
    return written.slot;
  }
  // Connected as the responder; the memory of the ring that the peer writes.
  std::byte* connect_as_responder() {
    request(kPeer, 9);
    const FakeTranslator::Written answered = next();
    SlotBody own;
    std::memcpy(static_cast<void*>(&own), answered.bytes.data() + 8, sizeof own);
    say(own.slot, SlotVerb::information, peer_body(9));
    EXPECT_EQ(next().word(), static_cast<std::uint64_t>(SlotVerb::acknowledge));
    return translator_.block(static_cast<std::uint64_t>(own.grant.place.key));
  }
  // Lays a record into the ring at `at`; returns where the next goes.
  template <typename Body>
  static std::uint64_t lay(std::byte* ring, std::uint64_t at, RecordKind kind, std::uint64_t tag, const Body& body,
                           std::uint32_t bytes = sizeof(Body)) {
    std::memcpy(ring + at + 8, &tag, 8);
    std::memcpy(ring + at + 16, &body, sizeof body);
    const std::uint64_t lead = Lead{.kind = kind, .bytes = bytes}.pack();
    std::memcpy(ring + at, &lead, 8);
    return at + engine::record_span(bytes);
  }
  std::vector<Event> events() {
    std::vector<Event> all(64);
    all.resize(engine_->take_events(all));
    return all;
  }
  // Exactly one peer_failed event, for the peer; every operation with it has ended.
  void expect_peer_failed() {
    progress();
    int failures = 0;
    for (const Event& event : events()) {
      if (event.kind != Event::Kind::peer_failed) {
        EXPECT_EQ(event.completion.code, ErrorCode::peer_failed);
        continue;
      }
      ++failures;
      EXPECT_EQ(event.completion.peer, Rank{kPeer});
    }
    EXPECT_EQ(failures, 1);
    for (const auto& figure : engine_->figures())
      EXPECT_TRUE(figure.name != "operations under way" || figure.value == 0) << engine_->waiting_for();
    EXPECT_EQ(engine_->send({.to = Rank{kPeer}}, ConstLayout()).error().code, ErrorCode::peer_failed);
  }

  base::FlightRecorder recorder_{64};
  FakeTranslator translator_;
  schedule::Queue queue_{translator_};
  std::unique_ptr<engine::Engine> engine_;
  BootstrapArea* area_ = nullptr;
};

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
  EXPECT_EQ(lock.command.operand, kSelf + 1);
  progress(50);
  EXPECT_TRUE(translator_.commands_.empty()) << "one lock is asked for at a time";
  answer(lock.command, 3); // somebody else holds it
  const FakeTranslator::Written again = next();
  EXPECT_EQ(again.command.operation, ir::Operation::compare_and_swap);
  answer(again.command, 0);
  // I2, I3
  const FakeTranslator::Written written = next();
  EXPECT_EQ(written.command.remote.offset, BootstrapArea::request_offset());
  const engine::ConnectionRequest asked = engine::unpack_request(written.word());
  EXPECT_TRUE(asked.valid);
  EXPECT_EQ(asked.initiator, kSelf);
  // I4, I5
  say(asked.slot, SlotVerb::answer, peer_body(7));
  const FakeTranslator::Written information = next();
  EXPECT_EQ(information.command.remote.offset, BootstrapArea::slot_offset(7));
  EXPECT_EQ(information.word(), static_cast<std::uint64_t>(SlotVerb::information));
  SlotBody own;
  ASSERT_EQ(information.bytes.size(), 8 + sizeof own);
  std::memcpy(static_cast<void*>(&own), information.bytes.data() + 8, sizeof own);
  EXPECT_EQ(own.peer, kSelf);
  EXPECT_EQ(own.slot, asked.slot);
  EXPECT_EQ(own.grant.type, RingType::exclusive);
  EXPECT_EQ(own.grant.bytes, kRingBytes);
  progress();
  EXPECT_TRUE(translator_.commands_.empty()) << "no message before the acknowledgement";
  say(asked.slot, SlotVerb::acknowledge, {});
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
  EXPECT_EQ(answered.word(), static_cast<std::uint64_t>(SlotVerb::answer));
  EXPECT_EQ(area_->common.lock.load(), 0U);
  EXPECT_EQ(area_->common.request.load(), 0U);
  SlotBody own;
  std::memcpy(static_cast<void*>(&own), answered.bytes.data() + 8, sizeof own);
  // R2
  say(own.slot, SlotVerb::information, peer_body(11));
  const FakeTranslator::Written acknowledged = next();
  EXPECT_EQ(acknowledged.command.remote.offset, BootstrapArea::slot_offset(11));
  EXPECT_EQ(acknowledged.word(), static_cast<std::uint64_t>(SlotVerb::acknowledge));
  EXPECT_TRUE(translator_.commands_.empty());
  EXPECT_TRUE(events().empty());
}

TEST_F(ByHand, LowerRankTurnsDownARequestSeenAfterItsAnswer) {
  const std::uint32_t slot = start_to_request();
  say(slot, SlotVerb::answer, peer_body(7));
  EXPECT_EQ(next().word(), static_cast<std::uint64_t>(SlotVerb::information));
  request(kPeer, 3); // written before the answer, seen after it
  const FakeTranslator::Written down = next();
  EXPECT_EQ(down.command.remote.offset, BootstrapArea::slot_offset(3));
  EXPECT_EQ(down.word(), static_cast<std::uint64_t>(SlotVerb::superseded));
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
  expect_peer_failed();
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
  EXPECT_EQ(refused.word(), static_cast<std::uint64_t>(SlotVerb::refused));
  expect_peer_failed();
}

TEST_F(ByHand, ResponderShortOfMemoryRefuses) {
  translator_.allocations_left = 0;
  request(kPeer, 9);
  const FakeTranslator::Written refused = next();
  EXPECT_EQ(refused.command.remote.offset, BootstrapArea::slot_offset(9));
  EXPECT_EQ(refused.word(), static_cast<std::uint64_t>(SlotVerb::refused));
  EXPECT_EQ(area_->common.lock.load(), 0U);
  expect_peer_failed();
}

TEST_F(ByHand, RefusedByThePeerEndsTheSend) {
  const std::uint32_t slot = start_to_request();
  say(slot, SlotVerb::refused, {});
  expect_peer_failed();
}

TEST_F(ByHand, RubbishInTheCommonSlotIsClearedAway) {
  for (const std::uint64_t rubbish : {std::uint64_t{1}, ~std::uint64_t{0}, engine::pack_request(kSelf, 0),
                                      engine::pack_request(4, 0), engine::pack_request(kPeer, 0xfff0)}) {
    area_->common.lock.store(1);
    area_->common.request.store(rubbish);
    progress();
    EXPECT_EQ(area_->common.request.load(), 0U);
    EXPECT_EQ(area_->common.lock.load(), 0U);
  }
  connect_as_responder();
}

TEST_F(ByHand, RubbishInACommandSlotFailsThePeer) {
  for (const std::uint64_t rubbish :
       {std::uint64_t{6}, ~std::uint64_t{0}, static_cast<std::uint64_t>(SlotVerb::information),
        static_cast<std::uint64_t>(SlotVerb::acknowledge)}) {
    SCOPED_TRACE(testing::Message() << "word " << rubbish);
    make(kSelf);
    translator_.commands_.clear();
    const std::uint32_t slot = start_to_request();
    say(slot, static_cast<SlotVerb>(rubbish), {});
    expect_peer_failed();
    translator_.commands_.clear();
  }
}

TEST_F(ByHand, RubbishGrantsFailThePeer) {
  std::vector<SlotBody> bodies(9, peer_body(7));
  bodies[0].peer = 3;
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
    expect_peer_failed();
  }
}

TEST_F(ByHand, ASharedRingOutOfReachFailsThePeer) {
  const std::uint32_t slot = start_to_request();
  SlotBody body = peer_body(7);
  body.grant.type = RingType::shared;
  body.grant.slot_bytes = 128;
  say(slot, SlotVerb::answer, body);
  next();
  say(slot, SlotVerb::acknowledge, {});
  const FakeTranslator::Written claim = next();
  EXPECT_EQ(claim.command.operation, ir::Operation::compare_and_swap);
  EXPECT_EQ(claim.command.remote.key, ir::MemoryKey{kPeerRing});
  answer(claim.command, 0, ir::Status::refused);
  expect_peer_failed();
  EXPECT_TRUE(translator_.commands_.empty());
}

TEST_F(ByHand, ASlotClaimedOnALinkThatFailedIsNotLeftToBlockTheRing) {
  const std::uint32_t slot = start_to_request();
  SlotBody body = peer_body(7);
  body.grant.type = RingType::shared;
  body.grant.slot_bytes = 128;
  say(slot, SlotVerb::answer, body);
  SlotBody own;
  std::memcpy(static_cast<void*>(&own), next().bytes.data() + 8, sizeof own);
  say(slot, SlotVerb::acknowledge, {});
  const FakeTranslator::Written claim = next();
  lay(translator_.block(static_cast<std::uint64_t>(own.grant.place.key)), 0, static_cast<RecordKind>(200), 0, 0);
  expect_peer_failed();
  answer(claim.command, claim.command.expected); // the claim was granted after all
  const FakeTranslator::Written left = next();
  EXPECT_EQ(left.command.remote.key, ir::MemoryKey{kPeerRing});
  const engine::Claim word = engine::Claim::unpack(left.word());
  EXPECT_TRUE(word.ready);
  EXPECT_EQ(word.owner, kSelf + 1);
  EXPECT_FALSE(Lead::plausible(left.word(8)));
}

TEST_F(ByHand, RubbishInTheRingFailsThePeer) {
  using Lay = void (*)(std::byte*);
  const std::vector<std::pair<const char*, Lay>> cases = {
      {"no lead word", [](std::byte* ring) { std::memset(ring, 0x5a, 64); }},
      {"unknown kind", [](std::byte* ring) { lay(ring, 0, static_cast<RecordKind>(77), 0, 0); }},
      {"longer than the ring", [](std::byte* ring) { lay(ring, 0, RecordKind::eager, 0, 0, 0xffff'fff0U); }},
      {"longer than what is left", [](std::byte* ring) { lay(ring, 0, RecordKind::eager, 0, 0, kRingBytes - 16); }},
      {"synchronous without its head", [](std::byte* ring) { lay(ring, 0, RecordKind::eager_synchronous, 0, 0, 4); }},
      {"short announcement",
       [](std::byte* ring) { lay(ring, 0, RecordKind::announce, 0, engine::Announcement{}, 39); }},
      {"short unsolicited announcement",
       [](std::byte* ring) { lay(ring, 0, RecordKind::announce_unsolicited, 0, engine::Announcement{}, 8); }},
      {"unsolicited announcement of nothing",
       [](std::byte* ring) { lay(ring, 0, RecordKind::announce_unsolicited, 0, engine::Announcement{}); }},
      {"short finished", [](std::byte* ring) { lay(ring, 0, RecordKind::finished, 0, engine::Finished{}, 8); }},
      {"long clear_to_send",
       [](std::byte* ring) { lay(ring, 0, RecordKind::clear_to_send, 0, engine::ClearToSend{}, 48); }},
      {"short assist", [](std::byte* ring) { lay(ring, 0, RecordKind::assist, 0, engine::AssistRequest{}, 16); }},
      {"short assist_done", [](std::byte* ring) { lay(ring, 0, RecordKind::assist_done, 0, engine::AssistDone{}, 0); }},
      {"assist_done of nothing",
       [](std::byte* ring) { lay(ring, 0, RecordKind::assist_done, 0, engine::AssistDone{}); }},
      {"assist_done of no cell",
       [](std::byte* ring) { lay(ring, 0, RecordKind::assist_done, 0, engine::AssistDone{.cell = 1ULL << 40U}); }},
      {"fragment of no operation", [](std::byte* ring) { lay(ring, 0, RecordKind::fragment, 0x12345678, 0, 8); }},
      {"fragment of a posted receive", [](std::byte* ring) { lay(ring, 0, RecordKind::fragment, 1ULL << 32U, 0, 8); }},
  };
  for (const auto& [name, write] : cases) {
    SCOPED_TRACE(name);
    make(kSelf);
    translator_.commands_.clear();
    std::byte* ring = connect_as_responder();
    std::array<std::byte, 64> into;
    ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}, .tag = Tag{99}}, into, Notify::event(3)).has_value());
    write(ring);
    expect_peer_failed();
  }
}

TEST_F(ByHand, WordsAboutOperationsThatAreGoneAreIgnored) {
  std::byte* ring = connect_as_responder();
  std::uint64_t at = lay(ring, 0, RecordKind::finished, 0, engine::Finished{.sender = 0x7'0000'0001, .bytes = 5});
  at = lay(ring, at, RecordKind::clear_to_send, 0, engine::ClearToSend{.sender = ~std::uint64_t{0}});
  lay(ring, at, RecordKind::assist, 0, engine::AssistRequest{.sender = 12, .cell = 3, .chunk = 1});
  progress();
  EXPECT_TRUE(events().empty());
  const FakeTranslator::Written done = next(); // the helper has nothing to do
  EXPECT_EQ(Lead::unpack(done.word()).kind, RecordKind::assist_done);
}

TEST_F(ByHand, ClearToSendOfMoreThanThereIsFailsThePeer) {
  std::byte* ring = connect_as_responder();
  std::vector<std::byte> data(5000);
  ASSERT_TRUE(engine_->send({.to = Rank{kPeer}, .tag = Tag{1}, .notify = Notify::event(1)}, data).has_value());
  engine::Announcement announcement;
  std::memcpy(&announcement, next().bytes.data() + 16, sizeof announcement);
  EXPECT_EQ(announcement.bytes, 5000U);
  lay(ring, 0, RecordKind::clear_to_send, 0,
      engine::ClearToSend{.sender = announcement.sender, .receiver = 1, .bytes = 5001});
  expect_peer_failed();
}

TEST_F(ByHand, AHelperThatSaysNothingOfItsChunksFails) {
  std::byte* ring = connect_as_responder();
  std::vector<std::byte> into(5 * 4096);
  ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}}, into, Notify::event(1)).has_value());
  const std::uint64_t at = lay(ring, 0, RecordKind::announce, 0,
                               engine::Announcement{.sender = 7, .bytes = into.size(), .key = 5, .readable = 1});
  progress();
  answer(next().command, 0); // the first chunk
  bool asked = false;
  for (int i = 0; i < 20 && !translator_.commands_.empty(); ++i) {
    const FakeTranslator::Written command = next();
    if (command.command.operation == ir::Operation::put) {
      asked = true;                      // the request for help
      area_->cells[0].next.fetch_add(1); // the peer claims one
    } else {
      answer(command.command, 0);
    }
  }
  ASSERT_TRUE(asked);
  EXPECT_TRUE(events().empty());
  lay(ring, at, RecordKind::assist_done, 0, engine::AssistDone{.cell = 0, .bytes = 0});
  expect_peer_failed();
}

TEST_F(ByHand, ReportsItsPositionEvenWhenBackPressureRefusedItAndTheRingIsIdle) {
  std::byte* ring = connect_as_responder();
  std::array<std::byte, 1024> body{};
  std::uint64_t at = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}}, body, Notify::event(1)).has_value());
    at = lay(ring, at, RecordKind::eager, 0, body);
  }
  translator_.refuse = true;
  progress();
  EXPECT_EQ(events().size(), 4U);
  EXPECT_TRUE(translator_.commands_.empty());
  translator_.refuse = false;
  progress(100);
  const FakeTranslator::Written report = next();
  EXPECT_EQ(report.command.remote.key, ir::MemoryKey{kPeerConsumed});
  EXPECT_EQ(report.word(), at);
}

TEST_F(ByHand, ARefusedFirstReadIsAskedForAsFragments) {
  std::byte* ring = connect_as_responder();
  std::vector<std::byte> into(5000);
  ASSERT_TRUE(engine_->receive({.source = Rank{kPeer}}, into, Notify::event(1)).has_value());
  std::uint64_t at =
      lay(ring, 0, RecordKind::announce, 0, engine::Announcement{.sender = 7, .bytes = 5000, .key = 5, .readable = 1});
  progress();
  const FakeTranslator::Written read = next();
  EXPECT_EQ(read.command.operation, ir::Operation::get);
  answer(read.command, 0, ir::Status::refused);
  const FakeTranslator::Written clear = next();
  EXPECT_EQ(Lead::unpack(clear.word()).kind, RecordKind::clear_to_send);
  engine::ClearToSend body;
  std::memcpy(&body, clear.bytes.data() + 16, sizeof body);
  EXPECT_EQ(body.sender, 7U);
  EXPECT_EQ(body.bytes, 5000U);
  std::array<std::byte, 1000> part;
  for (int i = 0; i < 5; ++i) {
    part.fill(static_cast<std::byte>(i + 1));
    at = lay(ring, at, RecordKind::fragment, body.receiver, part);
  }
  progress();
  const auto all = events();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].completion.code, ErrorCode::ok);
  for (std::size_t i = 0; i < into.size(); ++i) ASSERT_EQ(into[i], static_cast<std::byte>(i / 1000 + 1));
}

TEST_F(ByHand, DeathIsToldOnceAndGivesTheCommonSlotFree) {
  area_->common.lock.store(kPeer + 1);
  engine_->peer_failed(kPeer);
  EXPECT_EQ(area_->common.lock.load(), 0U);
  engine_->peer_failed(kPeer);
  translator_.events_.push_back({.kind = ir::EventKind::peer_failed, .peer = ir::Peer{kPeer}});
  progress(100);
  expect_peer_failed();
  area_->common.lock.store(4); // another's lock is not touched
  engine_->peer_failed(0);
  EXPECT_EQ(area_->common.lock.load(), 4U);
}

} // namespace
} // namespace heddle::tests
