// A send that engine_inline.hpp does not end at once: checks the arguments, finds or makes the connection, and hands the message to the
// sender (messages/sender.hpp).
#include "engine/engine.hpp"

#include <string>

namespace heddle::engine {

Result<Request> Engine::send_slowly(OperationKind kind, SendArguments arguments, const ConstLayout& data) {
  const auto rank = static_cast<std::uint32_t>(arguments.to);
  if (rank >= state_.book.size()) return std::unexpected(unknown_rank("rank", rank, ""));
  if (!data.usable()) return std::unexpected(unusable_layout());
  if (arguments.mode > SendMode::synchronous)
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "send mode " + std::to_string(static_cast<unsigned>(arguments.mode)) + " does not exist",
              .remedy = "use SendMode::standard or SendMode::synchronous"});
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
  Connection& connection = *connection_to(rank);
  if (connection.failed()) return std::unexpected(failed_error(rank));
  if (!connection.connected()) open(connection);
  if (kind == OperationKind::send && connection.connected() && sends_whole(connection, arguments, data)) {
    Operation& operation = state_.operations.take();
    if (write_whole(connection, arguments, {data.data(), data.bytes()}))
      return state_.completed_send(operation, arguments.to, arguments.tag, data.bytes(), arguments.notify);
    state_.operations.give_back(operation);
  }
  Operation& operation = begin_send(kind, connection, arguments, data);
  const Request request = operation.request();
  submit(operation, data);
  return request;
}

bool Engine::write_whole(Connection& connection, const SendArguments& arguments, std::span<const std::byte> data) {
  Outgoing record{.kind = RecordKind::eager,
                  .channel = arguments.channel,
                  .has_data = arguments.data.there,
                  .tag = static_cast<std::uint64_t>(arguments.tag),
                  .payload = data.data(),
                  .payload_bytes = data.size()};
  if (record.has_data) record.body = std::as_bytes(std::span(&arguments.data.value, 1));
  return record_writer_.write(connection, record);
}

Result<void> Engine::inject_slowly(const SendArguments& arguments, ConstMemory data) {
  const auto rank = static_cast<std::uint32_t>(arguments.to);
  const ConstLayout whole(data);
  if (rank >= state_.book.size()) return std::unexpected(unknown_rank("rank", rank, ""));
  if (!whole.usable()) return std::unexpected(unusable_layout());
  if (data.size() > state_.limits.eager_limit)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = std::to_string(data.size()) + " bytes are too many to inject: at most " +
                                         std::to_string(state_.limits.eager_limit),
                                 .remedy = "send it, or raise option eager_limit"});
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
  Connection& connection = *connection_to(rank);
  if (connection.failed()) return std::unexpected(failed_error(rank));
  if (!connection.connected()) open(connection);
  if (connection.connected() && sends_whole(connection, arguments, whole) && write_whole(connection, arguments, data))
    return {};
  if (!state_.may_hold_injected())
    return std::unexpected(Error{.code = ErrorCode::would_block,
                                 .fact = "peers have not taken what was injected before",
                                 .remedy = "make progress and try again",
                                 .peer = rank});
  state_.operations.make_sure();
  const BufferPool::Buffer copy = state_.buffers.take(data.size());
  if (!data.empty() && copy.data == nullptr) return std::unexpected(no_memory());
  if (!data.empty()) base::copy_bytes(copy.data, data.data(), data.size());
  Operation& operation = begin_send(OperationKind::send, connection, arguments, whole);
  state_.hold_injected(operation, copy);
  submit(operation, ConstLayout(copy.data, data.size()));
  return {};
}

Error Engine::unknown_rank(const char* what, std::uint32_t rank, const char* otherwise) const {
  Error error{.code = ErrorCode::bad_argument, .fact = what + (" " + std::to_string(rank))};
  if (open_) {
    error.fact += " names no peer";
    error.remedy = std::string("use what add_peer gave, or the source of a message") + otherwise;
  } else {
    error.fact += " is outside the job of " + std::to_string(size()) + " processes";
    error.remedy = "use a rank from 0 to " + std::to_string(size() - 1) + otherwise;
  }
  return error;
}

Error Engine::unusable_layout() {
  return {.code = ErrorCode::bad_argument,
          .fact = "the layout has bytes behind a null pointer, or more than 2^62 of them",
          .remedy = "give valid memory, or no bytes"};
}

} // namespace heddle::engine
