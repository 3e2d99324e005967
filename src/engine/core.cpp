#include "engine/core.hpp"

namespace heddle::engine {

namespace {

Event::Kind event_kind(OperationKind kind) {
  switch (kind) {
    case OperationKind::send: return Event::Kind::sent;
    case OperationKind::receive: return Event::Kind::received;
    case OperationKind::unsolicited_send: return Event::Kind::unsolicited_left;
    case OperationKind::unsolicited_receive: return Event::Kind::unsolicited_arrived;
    case OperationKind::collective: return Event::Kind::barrier_passed;
    case OperationKind::pattern: return Event::Kind::pattern_ended;
    case OperationKind::exchange: return Event::Kind::exchanged;
  }
  return Event::Kind::sent;
}

// index in the low half, generation in the high half
constexpr std::uint32_t low(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}
constexpr std::uint32_t high(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32U);
}

} // namespace

Core::~Core() {
  for (const Arrived& message : arrived_) buffers.give_back({.data = message.data, .capacity = message.capacity});
  for (const ArrivalSlot& slot : arrivals_) buffers.give_back(slot.buffer);
  operations.visit_all([this](const Operation& operation) {
    if (operation.kind == OperationKind::unsolicited_receive)
      buffers.give_back({.data = operation.buffer, .capacity = operation.buffer_bytes});
  });
}

void Core::deliver_event(Operation& operation) {
  if (operation.kind == OperationKind::unsolicited_receive) {
    const BufferPool::Buffer buffer{.data = operation.buffer, .capacity = operation.buffer_bytes};
    if (operation.completion.code == ErrorCode::ok)
      deliver_arrival(static_cast<std::uint32_t>(operation.completion.peer),
                      static_cast<std::uint64_t>(operation.completion.tag), buffer, operation.completion.bytes);
    else
      buffers.give_back(buffer); // the sender failed midway: there is no message
  } else {
    events.push({.kind = event_kind(operation.kind),
                 .cookie = operation.cookie,
                 .completion = operation.completion,
                 .arrival = {}});
  }
  operations.give_back(operation);
}

Arrived& Core::take_arrived() {
  if (free_arrived_.empty()) {
    Arrived& fresh = arrived_.emplace_back();
    fresh.generation = (std::uint64_t{1} << 32U) | (arrived_.size() - 1);
    return fresh;
  }
  Arrived& message = *free_arrived_.back();
  free_arrived_.pop_back();
  return message;
}

void Core::give_back(Arrived& message) {
  buffers.give_back({.data = message.data, .capacity = message.capacity});
  message = {.generation = message.generation + (std::uint64_t{1} << 32U)};
  free_arrived_.push_back(&message);
}

Arrived* Core::find_reserved(std::uint64_t handle) {
  if (low(handle) >= arrived_.size()) return nullptr;
  Arrived& message = arrived_[low(handle)];
  return message.reserved && message.generation == handle ? &message : nullptr;
}

void Core::deliver_arrival(std::uint32_t source, std::uint64_t label, BufferPool::Buffer buffer, std::uint64_t bytes) {
  if (free_arrivals_.empty()) {
    free_arrivals_.push_back(static_cast<std::uint32_t>(arrivals_.size()));
    arrivals_.emplace_back();
  }
  const std::uint32_t index = free_arrivals_.back();
  free_arrivals_.pop_back();
  ArrivalSlot& slot = arrivals_[index];
  slot.buffer = buffer;
  slot.taken = true;
  const std::uint64_t handle = (static_cast<std::uint64_t>(slot.generation) << 32U) | index;
  events.push(
      {.kind = Event::Kind::unsolicited_arrived,
       .cookie = 0,
       .completion =
           {.code = ErrorCode::ok, .peer = Rank{source}, .tag = Tag{label}, .bytes = bytes, .message_bytes = bytes},
       .arrival = {.data = buffer.data, .bytes = bytes, .handle = handle}});
}

void Core::release(std::uint64_t handle) {
  if (low(handle) >= arrivals_.size()) return;
  ArrivalSlot& slot = arrivals_[low(handle)];
  if (!slot.taken || slot.generation != high(handle)) return;
  buffers.give_back(slot.buffer);
  slot.buffer = {};
  slot.taken = false;
  ++slot.generation;
  free_arrivals_.push_back(low(handle));
}

} // namespace heddle::engine
