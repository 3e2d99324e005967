// Requests for what is no single message: barriers, exchanges and patterns, which their own rooms carry out.
#include "engine/engine.hpp"

namespace heddle::engine {

Request Engine::begin_composite(Notify notify, OperationKind kind) {
  Operation& operation = state_.begin(kind, Stage::running, notify);
  operation.started = state_.progress_count;
  return operation.request();
}

void Engine::finish_composite(Request request, ErrorCode code, std::uint64_t bytes) {
  Operation* operation = state_.operations.find(request.name);
  if (operation == nullptr) return;
  operation->completion.bytes = operation->completion.message_bytes = bytes;
  state_.complete(*operation, code);
}

void Engine::finish_composite(Request request, const Completion& completion) {
  Operation* operation = state_.operations.find(request.name);
  if (operation == nullptr) return;
  operation->completion = completion;
  state_.complete(*operation, completion.code);
}

} // namespace heddle::engine
