// What all protocols of the engine share: its settings, the operations, matching, events and buffers.
#pragma once

#include "base/flight_recorder.hpp"
#include "engine/buffer_pool.hpp"
#include "engine/event_queue.hpp"
#include "engine/link.hpp"
#include "engine/matching/matching.hpp"
#include "engine/operation.hpp"

#include <array>
#include <deque>

namespace heddle::engine {

struct Limits {
  std::uint64_t eager_limit = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t ring_memory = 0;
  std::uint64_t chunk_bytes = 0;
  bool assist = false;
};

// What a command's event is about; the cookie's top byte. The rest is a rank, an operation's index or an assist's number.
enum class CookieKind : std::uint64_t {
  lock = 1,
  directory,
  claim,
  read,
  assist_claim,
  assist_copy,
  transfer,
  lock_step
};
constexpr std::uint64_t make_cookie(CookieKind kind, std::uint64_t number) {
  return (static_cast<std::uint64_t>(kind) << 56U) | number;
}
constexpr CookieKind cookie_kind(std::uint64_t cookie) {
  return static_cast<CookieKind>(cookie >> 56U);
}
constexpr std::uint64_t cookie_number(std::uint64_t cookie) {
  return cookie & 0x00ff'ffff'ffff'ffffULL;
}

class Core {
 public:
  Core(std::uint32_t own_rank, std::uint32_t job_size, const Limits& limit_values,
       base::FlightRecorder& flight_recorder)
      : rank(own_rank),
        size(job_size),
        limits(limit_values),
        rings(limits.ring_memory, limits.ring_bytes),
        recorder(flight_recorder) {}
  // Messages that were never received or released go with it.
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  const std::uint32_t rank;
  const std::uint32_t size;
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
    if (notify.by_event) [[unlikely]]
      operation.cookie = notify.cookie;
    return operation;
  }
  // Ends an operation: its completion is set, but for the code. The operation may be gone afterwards.
  void complete(Operation& operation, ErrorCode code) {
    operation.completion.code = code;
    operation.stage = Stage::done;
    operation.link = nullptr;
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

  // The operation of a send that has left already: only its completion is of use.
  Request completed_send(Rank to, Tag tag, std::uint64_t bytes, Notify notify) {
    Operation& operation = operations.take();
    operation.kind = OperationKind::send;
    operation.stage = Stage::done;
    operation.completion = {.code = ErrorCode::ok, .peer = to, .tag = tag, .bytes = bytes, .message_bytes = bytes};
    const Request request = operation.request();
    if (notify.by_event) [[unlikely]] {
      operation.cookie = notify.cookie;
      deliver_event(operation);
    }
    return request;
  }

  Arrived& take_arrived();
  void give_back(Arrived& message);
  [[nodiscard]] Arrived* find_reserved(std::uint64_t handle);
  static std::uint64_t handle_of(const Arrived& message) { return message.generation; }

  // Hands an unsolicited message to the caller. The buffer is the pool's until released.
  void deliver_arrival(std::uint32_t source, std::uint64_t label, BufferPool::Buffer buffer, std::uint64_t bytes);
  void release(std::uint64_t handle);

 private:
  void deliver_event(Operation& operation);

  struct ArrivalSlot {
    BufferPool::Buffer buffer;
    std::uint32_t generation = 1;
    bool taken = false;
  };

  std::deque<Arrived> arrived_;
  std::vector<Arrived*> free_arrived_;
  std::vector<ArrivalSlot> arrivals_;
  std::vector<std::uint32_t> free_arrivals_;
};

} // namespace heddle::engine
