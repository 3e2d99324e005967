// The part of the engine that every message passes, inline: the quick way of a send and a receive, and the look at the rings.
// Included by engine.hpp alone.
#pragma once

#include "engine/engine.hpp"

namespace heddle::engine {

inline Result<Request> Engine::send(const SendArguments& arguments, const ConstLayout& data) try {
  const auto rank = static_cast<std::uint32_t>(arguments.to);
  Connection* connection = rank < state_.book.size() ? connections_[rank] : nullptr;
  if (connection != nullptr && data.usable() && sends_whole(*connection, arguments, data)) [[likely]] {
    state_.operations.make_sure(); // before the message leaves: there may be no memory for its operation
    if (store_whole(*connection, arguments, {data.data(), data.bytes()})) [[likely]]
      return state_.completed_send(state_.operations.take(), arguments.to, arguments.tag, data.bytes(),
                                   arguments.notify);
  }
  // Member by member and by value, so that the quick way may keep the arguments in registers.
  return send_slowly(OperationKind::send,
                     {.to = arguments.to,
                      .tag = arguments.tag,
                      .mode = arguments.mode,
                      .notify = {.by_event = arguments.notify.by_event,
                                 .errors_only = arguments.notify.errors_only,
                                 .cookie = arguments.notify.cookie},
                      .channel = arguments.channel,
                      .data = {.there = arguments.data.there, .value = arguments.data.value}},
                     data);
} catch (const std::bad_alloc&) {
  return std::unexpected(no_memory());
}

inline bool Engine::store_whole(Connection& connection, const SendArguments& arguments,
                                std::span<const std::byte> data) {
  const auto tag = static_cast<std::uint64_t>(arguments.tag);
  if (arguments.data.there) [[unlikely]]
    return RecordWriter::store_message(connection, arguments.channel, tag, arguments.data.value, data);
  return RecordWriter::store_message(connection, arguments.channel, tag, data);
}

inline Result<void> Engine::inject(const SendArguments& arguments, ConstMemory data) try {
  const auto rank = static_cast<std::uint32_t>(arguments.to);
  Connection* connection = rank < state_.book.size() ? connections_[rank] : nullptr;
  const ConstLayout whole(data);
  if (connection != nullptr && whole.usable() && sends_whole(*connection, arguments, whole) &&
      store_whole(*connection, arguments, data)) [[likely]]
    return {};
  return inject_slowly(arguments, data);
} catch (const std::bad_alloc&) {
  return std::unexpected(no_memory());
}

inline Result<Request> Engine::send_unsolicited(const SendArguments& arguments, const ConstLayout& data) try {
  return send_slowly(OperationKind::unsolicited_send, arguments, data);
} catch (const std::bad_alloc&) {
  return std::unexpected(no_memory());
}

inline Result<Request> Engine::receive(const Match& match, const Layout& into, Notify notify, Channel channel) try {
  if (wrong(match)) [[unlikely]]
    return std::unexpected(complaint(match));
  if (!into.usable()) [[unlikely]]
    return std::unexpected(unusable_layout());
  Matching& matching = state_.matching_of(channel);
  UnexpectedMessage* message = matching.find(match);
  if (message == nullptr && source_failed(match)) [[unlikely]]
    return std::unexpected(failed_error(static_cast<std::uint32_t>(match.source)));
  if (message != nullptr && !base::Reserve::may_begin()) [[unlikely]]
    return std::unexpected(no_memory());
  Operation& operation = state_.begin_bare(OperationKind::receive, Stage::posted, notify);
  operation.channel = channel;
  operation.match = {.source = match.source, .tag = match.tag, .mask = match.mask};
  operation.target =
      into.shape() == Layout::Shape::contiguous ? Layout(into.data(), into.bytes()) : into; // see Operation
  operation.started = state_.progress_count;
  const Request request = operation.request();
  if (message == nullptr) [[likely]] {
    matching.post(operation);
  } else {
    matching.take(*message);
    Connection& connection = *connections_[message->source];
    receiver_.take(operation, *message, connection);
    pump_later(connection);
  }
  return request;
} catch (const std::bad_alloc&) {
  return std::unexpected(no_memory());
}

inline std::size_t Engine::progress() {
  const std::uint64_t round = ++state_.progress_count;
  const std::size_t done = read_rings();
  if (round % kIdlePollInterval != 0 && nothing_else_to_do()) [[likely]]
    return done;
  return done + handle_all(round % kIdlePollInterval == 0);
}

inline std::size_t Engine::glance() {
  if (readable_.empty()) return 0; // all networks tell of what arrives: asking them sooner again is better
  std::size_t done = 0;
  for (int looks = 0; looks < kGlances && done == 0; ++looks) done = read_rings();
  return done;
}

inline std::optional<Completion> Engine::take_completion(Request request) {
  Operation* operation = state_.operations.find(request.name);
  if (operation == nullptr) [[unlikely]]
    return Completion{.code = ErrorCode::stale_request};
  if (operation->stage != Stage::done) return std::nullopt;
  const Completion completion = operation->outcome();
  state_.operations.give_back(*operation);
  return completion;
}

inline Completion Engine::take(Operation& operation, Request request) {
  if (operation.name != request.name) [[unlikely]] // it was to end with an event
    return {.code = ErrorCode::stale_request};
  const Completion completion = operation.outcome();
  state_.operations.give_back(operation);
  return completion;
}

inline std::optional<ErrorCode> Engine::take_code(Request request) {
  Operation* operation = state_.operations.find(request.name);
  if (operation == nullptr) [[unlikely]]
    return ErrorCode::stale_request;
  if (operation->stage != Stage::done) return std::nullopt;
  const ErrorCode code = operation->completion.code;
  state_.operations.give_back(*operation);
  return code;
}

inline Operation& Engine::begin_send(OperationKind kind, Connection& connection, const SendArguments& arguments,
                                     const ConstLayout& data) {
  Operation& operation = state_.begin(kind, Stage::queued, arguments.notify);
  operation.channel = arguments.channel;
  operation.mode = arguments.mode;
  operation.connection = &connection;
  operation.exposed = false;
  operation.completion.has_data = arguments.data.there;
  operation.completion.data = arguments.data.value;
  operation.completion.peer = arguments.to;
  operation.completion.tag = arguments.tag;
  operation.completion.bytes = data.bytes();
  operation.completion.message_bytes = data.bytes();
  return operation;
}

inline bool Engine::sends_whole(const Connection& connection, const SendArguments& arguments, const ConstLayout& data) {
  return data.shape() == ConstLayout::Shape::contiguous && arguments.mode == SendMode::standard &&
         data.bytes() <= connection.eager_limit &&
         (!arguments.data.there || data.bytes() + kDataWordBytes <= connection.largest_payload) &&
         connection.waiting.empty();
}

inline void Engine::submit(Operation& operation, const ConstLayout& data) {
  Connection& connection = *operation.connection;
  operation.source = data;
  operation.started = state_.progress_count;
  sender_.submit(operation);
  pump_later(connection);
}

inline bool Engine::wrong(const Match& match) const {
  return (match.source != kAnySource && static_cast<std::uint32_t>(match.source) >= state_.book.size()) ||
         (static_cast<std::uint64_t>(match.tag) & ~match.mask) != 0 || match.channel > heddle::Channel::second;
}

inline bool Engine::source_failed(const Match& match) const {
  if (match.source == kAnySource) return false;
  const Connection* connection = connections_[static_cast<std::uint32_t>(match.source)];
  return connection != nullptr && connection->failed() && !connection->broke; // the peer may connect again
}

inline bool Engine::nothing_else_to_do() const {
  for (const auto& port : ports_)
    if (port->listens || port->queue->outstanding() != 0 ||
        port->area->common.request.load(std::memory_order_relaxed) != 0 || port->shared.reader.exists())
      return false;
  for (const ProtocolRow& row : handlers_.protocols())
    if (*row.busy) return false;
  return connector_.idle() && grant_by_read_.idle() && fetcher_.idle() && to_pump_.empty();
}

inline std::size_t Engine::read_rings() {
  std::size_t done = 0;
  for (std::size_t looks = std::min(readable_.size(), kRingsAtOnce); looks > 0; --looks) {
    if (next_ring_ >= readable_.size()) next_ring_ = 0;
    Connection& connection = *readable_[next_ring_++];
    if (connection.reader.peek() != 0) {
      done += read_ring(connection);
      if (readable_.empty()) break; // its peer has failed
    }
  }
  return done;
}

inline std::size_t Engine::read_whole_ring(Connection* connection) {
  std::size_t done = 0;
  while (connection != nullptr && !connection->failed() && connection->reader.exists() &&
         connection->reader.peek() != 0) {
    const std::size_t count = read_ring(*connection);
    if (count == 0) break; // held back
    done += count;
  }
  return done;
}

inline void Engine::hold_back(Connection& connection) {
  connection.held_back = true;
  enlist(connection);
}

inline void Engine::enlist(Connection& connection) {
  if (std::exchange(connection.pumped, true)) return;
  to_pump_.push_back(&connection);
}

inline bool Engine::has_output(const Connection& connection) {
  return !connection.waiting.empty() || !connection.control.empty() || !connection.streams.empty();
}

inline void Engine::pump_later(Connection& connection) {
  if (connection.pumped || !has_output(connection)) [[likely]]
    return;
  enlist(connection);
}

} // namespace heddle::engine
