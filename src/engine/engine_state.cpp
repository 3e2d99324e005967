#include "engine/engine_state.hpp"

#include <new>

namespace heddle::engine {

namespace {

Event::Kind event_kind(OperationKind kind) {
  switch (kind) {
    case OperationKind::send: return Event::Kind::sent;
    case OperationKind::receive: return Event::Kind::received;
    case OperationKind::unsolicited_send: return Event::Kind::unsolicited_left;
    case OperationKind::unsolicited_receive: return Event::Kind::unsolicited_arrived;
    case OperationKind::barrier: return Event::Kind::barrier_passed;
    case OperationKind::pattern: return Event::Kind::pattern_ended;
    case OperationKind::exchange: return Event::Kind::exchanged;
    case OperationKind::one_sided: return Event::Kind::one_sided_ended;
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

EngineState::~EngineState() {
  for (const UnexpectedMessage& message : unexpected_)
    buffers.give_back({.data = message.data, .capacity = message.capacity});
  for (const UnsolicitedSlot& slot : slots_) buffers.give_back(slot.buffer);
  operations.visit_all([this](const Operation& operation) {
    if (operation.kind == OperationKind::unsolicited_receive || operation.injected)
      buffers.give_back({.data = operation.buffer, .capacity = operation.buffer_bytes});
  });
}

void EngineState::deliver_event(Operation& operation) {
  const bool unsolicited_end = operation.kind == OperationKind::unsolicited_receive;
  if (unsolicited_end && operation.completion.code != ErrorCode::ok) { // the sender failed midway: there is no message
    --promised_;
    unsolicited.give_back(operation.buffer_bytes);
    buffers.give_back({.data = operation.buffer, .capacity = operation.buffer_bytes});
    operations.give_back(operation);
    return;
  }
  if (operation.by_event && operation.errors_only && operation.completion.code == ErrorCode::ok) {
    operations.give_back(operation);
    return;
  }
  if (!undelivered_.empty() || !events.make_room()) { // the operation itself keeps it until it is asked for
    OperationPool::retire(operation);
    undelivered_.push_back(operation);
    return;
  }
  events.push_now(event_of(operation));
  operations.give_back(operation);
}

Event EngineState::event_of(const Operation& operation) {
  if (operation.kind == OperationKind::unsolicited_receive)
    return unsolicited_event(
        static_cast<std::uint32_t>(operation.completion.peer), static_cast<std::uint64_t>(operation.completion.tag),
        {.data = operation.buffer, .capacity = operation.buffer_bytes}, operation.completion.bytes);
  return {.kind = event_kind(operation.kind),
          .cookie = operation.cookie,
          .completion = operation.completion,
          .unsolicited = {}};
}

std::size_t EngineState::take_events(std::span<Event> to) {
  std::size_t count = events.pop(to);
  while (count < to.size() && !undelivered_.empty()) {
    Operation& operation = *undelivered_.pop_front();
    to[count++] = event_of(operation);
    operations.give_back(operation);
  }
  return count;
}

UnexpectedMessage& EngineState::take_unexpected() {
  if (free_unexpected_ == nullptr) {
    UnexpectedMessage& fresh = unexpected_.emplace_back();
    fresh.generation = (std::uint64_t{1} << 32U) | (unexpected_.size() - 1);
    return fresh;
  }
  UnexpectedMessage& message = *free_unexpected_;
  free_unexpected_ = message.in_order.next;
  message.in_order = {};
  return message;
}

void EngineState::give_back(UnexpectedMessage& message) {
  buffers.give_back({.data = message.data, .capacity = message.capacity});
  message = {.generation = message.generation + (std::uint64_t{1} << 32U)};
  message.in_order.next = free_unexpected_;
  free_unexpected_ = &message;
}

UnexpectedMessage* EngineState::find_reserved(std::uint64_t handle) {
  if (low(handle) >= unexpected_.size()) return nullptr;
  UnexpectedMessage& message = unexpected_[low(handle)];
  return message.reserved && message.generation == handle ? &message : nullptr;
}

bool EngineState::promise_unsolicited() {
  if (free_slots_.size() <= promised_) {
    try {
      slots_.emplace_back();
      try {
        if (free_slots_.capacity() < slots_.size()) free_slots_.reserve(2 * slots_.size());
      } catch (const std::bad_alloc&) {
        slots_.pop_back();
        throw;
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  ++promised_;
  return true;
}

Event EngineState::unsolicited_event(std::uint32_t source, std::uint64_t label, BufferPool::Buffer buffer,
                                     std::uint64_t bytes) {
  --promised_;
  const std::uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  UnsolicitedSlot& slot = slots_[index];
  slot.buffer = buffer;
  slot.taken = true;
  const std::uint64_t handle = (static_cast<std::uint64_t>(slot.generation) << 32U) | index;
  return {.kind = Event::Kind::unsolicited_arrived,
          .cookie = 0,
          .completion =
              {.code = ErrorCode::ok, .peer = Rank{source}, .tag = Tag{label}, .bytes = bytes, .message_bytes = bytes},
          .unsolicited = {.data = buffer.data, .bytes = bytes, .handle = handle}};
}

void EngineState::deliver_unsolicited(std::uint32_t source, std::uint64_t label, BufferPool::Buffer buffer,
                                      std::uint64_t bytes) {
  events.push_now(unsolicited_event(source, label, buffer, bytes));
}

void EngineState::release(std::uint64_t handle) {
  if (low(handle) >= slots_.size()) return;
  UnsolicitedSlot& slot = slots_[low(handle)];
  if (!slot.taken || slot.generation != high(handle)) return;
  unsolicited.give_back(slot.buffer.capacity);
  buffers.give_back(slot.buffer);
  slot.buffer = {};
  slot.taken = false;
  ++slot.generation;
  free_slots_.push_back(low(handle));
}

} // namespace heddle::engine
