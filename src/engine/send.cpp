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
    if (record_writer_.write(connection, {.kind = RecordKind::eager,
                                          .channel = arguments.channel,
                                          .tag = static_cast<std::uint64_t>(arguments.tag),
                                          .payload = data.data(),
                                          .payload_bytes = data.bytes()}))
      return state_.completed_send(operation, arguments.to, arguments.tag, data.bytes(), arguments.notify);
    state_.operations.give_back(operation);
  }
  Operation& operation = begin_send(kind, connection, arguments, data);
  const Request request = operation.request();
  submit(operation, data);
  return request;
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
