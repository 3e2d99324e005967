// What all protocols of the engine share: its settings, the operations, matching, events and buffers.
#pragma once

#include "base/flight_recorder.hpp"
#include "base/log.hpp"
#include "engine/book.hpp"
#include "engine/buffer_pool.hpp"
#include "engine/connection/connection.hpp"
#include "engine/cookie.hpp"
#include "engine/event_queue.hpp"
#include "engine/matching/matching.hpp"
#include "engine/operation.hpp"

#include <array>
#include <deque>
#include <new>
#include <span>
#include <vector>

namespace heddle::engine {

struct Limits {
  std::uint64_t eager_limit = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t ring_memory = 0;
  std::uint64_t unsolicited_memory = std::uint64_t{1} << 30U;
  std::uint64_t chunk_bytes = 0;
  bool assist = false;
  bool plans_engines = false; // of networks that have several
};

class EngineState {
 public:
  EngineState(std::uint32_t own_rank, std::uint32_t job_size, const Limits& limit_values,
              base::FlightRecorder& flight_recorder)
      : rank(own_rank),
        book(1, job_size),
        limits(limit_values),
        rings(limits.ring_memory, limits.ring_bytes),
        recorder(flight_recorder),
        events(kEndsOfAPeer * std::size_t{job_size}),
        unsolicited(limits.unsolicited_memory) {}
  // Messages that were never received or released go with it.
  ~EngineState();
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  const std::uint32_t rank;
  Book book;
  bool ranks_agree = true; // with those of other processes: not in an open world
  const Limits limits;
  RingBudget rings;
  base::FlightRecorder& recorder;
  OperationPool operations;
  EventQueue events;
  BufferPool buffers;
  std::array<Matching, kChannels> matching;
  std::uint64_t progress_count = 0;

  Matching& matching_of(Channel channel) { return matching[static_cast<std::size_t>(channel)]; }

  // A new operation; the members that every kind has are set, the others are as the last use left them. What may take
  // a while also sets `started`.
  Operation& begin(OperationKind kind, Stage stage, Notify notify) {
    Operation& operation = begin_bare(kind, stage, notify);
    operation.completion = {};
    return operation;
  }
  // The same, but for the completion, which whoever ends it sets as a whole.
  Operation& begin_bare(OperationKind kind, Stage stage, Notify notify) {
    Operation& operation = operations.take();
    operation.kind = kind;
    operation.stage = stage;
    operation.by_event = notify.by_event;
    if (notify.by_event) [[unlikely]] {
      operation.errors_only = notify.errors_only;
      operation.cookie = notify.cookie;
    }
    return operation;
  }
  // Ends an operation: its completion is set, but for the code. The operation may be gone afterwards.
  void complete(Operation& operation, ErrorCode code) {
    operation.completion.code = code;
    operation.stage = Stage::done;
    operation.connection = nullptr;
    if (operation.by_event || operation.kind == OperationKind::unsolicited_receive) [[unlikely]]
      deliver_event(operation);
  }

  // Ends a receive whose message is in place. It may be gone afterwards.
  void complete_receive(Operation& receive, const Completion& completion) {
    receive.stage = Stage::done;
    receive.completion = completion;
    if (receive.by_event) [[unlikely]]
      deliver_event(receive);
  }

  // The operation, just taken, of a send that has left: only its completion is of use.
  Request completed_send(Operation& operation, Rank to, Tag tag, std::uint64_t bytes, Notify notify) {
    operation.kind = OperationKind::send;
    operation.stage = Stage::done;
    // Without the data word, which means nothing where there is none: a store less for every message.
    operation.completion.code = ErrorCode::ok;
    operation.completion.has_data = false;
    operation.completion.peer = to;
    operation.completion.tag = tag;
    operation.completion.bytes = bytes;
    operation.completion.message_bytes = bytes;
    const Request request = operation.request();
    if (notify.by_event) [[unlikely]] {
      operation.by_event = true;
      operation.errors_only = notify.errors_only;
      operation.cookie = notify.cookie;
      deliver_event(operation);
    }
    return request;
  }

  void set_log(const base::Log& log) { log_ = log; }
  // Writes what `text()` makes, where that level is written. Where there is no memory for it, it is left out.
  template <typename Text>
  void say(LogLevel level, Text&& text) const {
    if (!log_.enabled(level)) return;
    try {
      log_.write(level, text());
    } catch (const std::bad_alloc&) {
    }
  }

  UnexpectedMessage& take_unexpected();
  void give_back(UnexpectedMessage& message);
  [[nodiscard]] UnexpectedMessage* find_reserved(std::uint64_t handle);
  static std::uint64_t handle_of(const UnexpectedMessage& message) { return message.generation; }

  // Makes sure that one more unsolicited message can be delivered, whenever that is. False: there is no memory for it.
  [[nodiscard]] bool promise_unsolicited();
  // Whether an event would be delivered at once, and in its turn.
  [[nodiscard]] bool may_deliver() { return undelivered_.empty() && events.make_room(); }
  // Hands an unsolicited message that was promised to the caller. The buffer is the pool's until released.
  void deliver_unsolicited(std::uint32_t source, std::uint64_t label, BufferPool::Buffer buffer, std::uint64_t bytes);

  std::size_t take_events(std::span<Event> to);
  // Keeps room for the events of so many peers' ends. False: there is no memory for that.
  [[nodiscard]] bool make_room_for_ends(std::size_t peers) { return events.keep_back(kEndsOfAPeer * peers); }
  [[nodiscard]] bool has_events() const { return !events.empty() || !undelivered_.empty(); }
  void release(std::uint64_t handle);
  // Unsolicited messages that the program has, or has only to ask for.
  [[nodiscard]] std::size_t unsolicited_held() const { return slots_.size() - free_slots_.size(); }

  // What unsolicited messages cost: those that have arrived and are not released, and those that are being fetched.
  class Unsolicited {
   public:
    explicit Unsolicited(std::uint64_t limit) : limit_(limit) {}
    // Whether one of that size may be taken now. One that comes alone always may: whole in a record, it is small.
    [[nodiscard]] bool has_room(std::uint64_t bytes) const {
      return held_ == 0 || draining_ || (held_ < limit_ && cost(BufferPool::capacity_for(bytes)) <= limit_ - held_);
    }
    // One that could never be held beside anything else is not even waited for.
    [[nodiscard]] bool exceeds(std::uint64_t bytes) const { return bytes > limit_; }
    void take(std::uint64_t capacity) { held_ += cost(capacity); }
    void give_back(std::uint64_t capacity) { held_ -= cost(capacity); }
    void refuse() { ++refused_; }
    // What a dead peer has left in its ring is taken whatever it costs: it is no more than a ring.
    void drain(bool on) { draining_ = on; }
    [[nodiscard]] std::uint64_t held() const { return held_; }
    [[nodiscard]] std::uint64_t limit() const { return limit_; }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

   private:
    static constexpr std::uint64_t kEach = 128; // event and slot, so that empty ones are bounded as well
    static constexpr std::uint64_t cost(std::uint64_t capacity) { return capacity + kEach; }
    std::uint64_t limit_;
    std::uint64_t held_ = 0;
    std::uint64_t refused_ = 0; // with out_of_memory
    bool draining_ = false;
  };
  Unsolicited unsolicited;

  // Copies of injected messages that their peers have not taken. One always fits.
  [[nodiscard]] bool may_hold_injected() const { return injected_bytes_ < kMostInjected; }
  void hold_injected(Operation& send, BufferPool::Buffer buffer) {
    send.injected = true;
    send.buffer = buffer.data;
    send.buffer_bytes = buffer.capacity;
    injected_bytes_ += buffer.capacity + kInjectedEach;
  }
  void release_injected(Operation& send) {
    send.injected = false;
    injected_bytes_ -= send.buffer_bytes + kInjectedEach;
    buffers.give_back({.data = send.buffer, .capacity = send.buffer_bytes});
  }

 private:
  static constexpr std::uint64_t kMostInjected = std::uint64_t{8} << 20U;
  static constexpr std::uint64_t kInjectedEach = sizeof(Operation);
  std::uint64_t injected_bytes_ = 0;

  void deliver_event(Operation& operation);

  struct UnsolicitedSlot {
    BufferPool::Buffer buffer;
    std::uint32_t generation = 1;
    bool taken = false;
  };

  // At most, for each peer: lost, and then dead or gone.
  static constexpr std::size_t kEndsOfAPeer = 2;
  Event event_of(const Operation& operation);
  Event unsolicited_event(std::uint32_t source, std::uint64_t label, BufferPool::Buffer buffer, std::uint64_t bytes);

  std::deque<UnexpectedMessage> unexpected_;
  UnexpectedMessage* free_unexpected_ = nullptr; // chained by in_order.next
  OperationList undelivered_;                    // ended, with an event that there was no memory for
  std::size_t promised_ = 0;                     // slots, to unsolicited messages that are not there yet
  std::vector<UnsolicitedSlot> slots_;
  std::vector<std::uint32_t> free_slots_;
  base::Log log_{LogLevel::silent}; // of what happens seldom: connections and their ends
};

} // namespace heddle::engine
