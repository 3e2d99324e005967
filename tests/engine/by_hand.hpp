// The engine with no network: commands are written down, memory and events are the test's. The test plays the peer, well
// and badly.
#pragma once

#include "base/flight_recorder.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <list>
#include <new>

namespace heddle::tests {

using engine::BootstrapArea;
using engine::Lead;
using engine::RecordKind;
using engine::RingType;
using engine::SlotBody;
using engine::SlotVerb;

inline constexpr std::uint32_t kSelf = 1;
inline constexpr std::uint32_t kPeer = 2; // the higher rank unless a test says otherwise
inline constexpr std::uint64_t kPeerArea = 77;
inline constexpr std::uint64_t kPeerRing = 88;
inline constexpr std::uint64_t kPeerConsumed = 99;
inline constexpr std::uint64_t kRingBytes = 8192;

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
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
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
    engine::ScheduleQueue* queue = &queue_;
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
  // As engines that were told nothing else number the processes of a job.
  static constexpr engine::Uid uid_of(std::uint32_t rank) { return rank + 1; }
  static engine::Uid initiator_of(const FakeTranslator::Written& request) {
    engine::Uid uid = 0;
    std::memcpy(&uid, request.bytes.data() + 8, sizeof uid);
    return uid;
  }
  static SlotBody peer_body(std::uint32_t slot) {
    SlotBody body;
    body.slot = slot;
    body.number = kSelf;
    body.sender = uid_of(kPeer);
    body.grant = {
        .type = RingType::exclusive, .place = {.key = ir::MemoryKey{kPeerRing}, .offset = 0}, .bytes = kRingBytes};
    body.consumed = {.key = ir::MemoryKey{kPeerConsumed}, .offset = 0};
    return body;
  }
  static SlotBody shared_body() {
    SlotBody body = peer_body(7);
    body.grant.type = RingType::shared;
    body.grant.slot_bytes = 128;
    return body;
  }
  void say(std::size_t slot, SlotVerb verb, const SlotBody& body) {
    std::memcpy(static_cast<void*>(&area_->slots[slot].body), &body, sizeof body);
    area_->slots[slot].lead.store(engine::pack_word(verb, uid_of(kPeer)));
    progress();
  }
  void request(std::uint32_t initiator, std::uint32_t slot) {
    area_->common.lock.store(engine::incarnation_of(uid_of(initiator), kSelf));
    area_->common.initiator.uid = uid_of(initiator);
    area_->common.initiator.number = kSelf;
    area_->common.request.store(engine::pack_request(slot));
    progress();
  }
  // As the initiator, up to the written request. The own slot comes back.
  std::uint32_t start_to_request() {
    EXPECT_TRUE(
        engine_->send({.to = Rank{kPeer}, .tag = Tag{5}, .notify = Notify::event(1)}, ConstLayout()).has_value());
    progress();
    answer(next().command, 0);
    const FakeTranslator::Written written = next();
    EXPECT_EQ(initiator_of(written), uid_of(kSelf));
    return engine::slot_of_request(written.word()).value();
  }
  // Connected as the responder; the memory of the ring that the peer writes.
  std::byte* connect_as_responder() {
    request(kPeer, 9);
    const FakeTranslator::Written answered = next();
    SlotBody own;
    std::memcpy(static_cast<void*>(&own), answered.bytes.data() + 8, sizeof own);
    say(own.slot, SlotVerb::information, peer_body(9));
    EXPECT_EQ(engine::verb_of(next().word()), SlotVerb::acknowledge);
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
  // Exactly one such event, for the peer; every operation with it has ended.
  void expect_peer_failed() { expect_end(Event::Kind::peer_failed, ErrorCode::peer_failed); }
  void expect_connection_lost() { expect_end(Event::Kind::connection_lost, ErrorCode::connection_lost); }
  void expect_end(Event::Kind kind, ErrorCode code) {
    progress();
    int told = 0;
    for (const Event& event : events()) {
      EXPECT_EQ(event.completion.code, code);
      if (event.kind != kind) continue;
      ++told;
      EXPECT_EQ(event.completion.peer, Rank{kPeer});
    }
    EXPECT_EQ(told, 1);
    for (const auto& figure : engine_->figures())
      EXPECT_TRUE(figure.name != "operations under way" || figure.value == 0) << engine_->waiting_for();
    EXPECT_EQ(engine_->send({.to = Rank{kPeer}}, ConstLayout()).error().code, code);
  }

  base::FlightRecorder recorder_{64};
  FakeTranslator translator_;
  engine::ScheduleQueue queue_{translator_};
  std::unique_ptr<engine::Engine> engine_;
  BootstrapArea* area_ = nullptr;
};

} // namespace heddle::tests
