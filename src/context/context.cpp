// The public calls, and the one place where store, translators, queues and engine are put together.
#include "context/state.hpp"

#include <heddle/heddle.hpp>

#include <new>
#include <utility>

namespace heddle {

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::~Context() {
  State::abandon_in_child(state_);
}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&& other) noexcept {
  State::abandon_in_child(state_);
  state_ = std::move(other.state_);
  return *this;
}

Result<Context> Context::join(const Options& options) {
  return unless_out_of_memory([&]() -> Result<Context> {
    auto state = State::create(options);
    if (!state) return std::unexpected(std::move(state.error()));
    return Context(std::move(*state));
  });
}

Rank Context::rank() const {
  return Rank{state_->engine().rank()};
}
std::uint32_t Context::size() const {
  return state_->engine().size();
}

Result<Request> Context::send(Rank to, Tag tag, const ConstLayout& data, SendMode mode, Notify notify) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_request_in_child();
  return state_->engine().send({.to = to, .tag = tag, .mode = mode, .notify = notify}, data);
}

Result<Request> Context::receive(const Match& match, const Layout& into, Notify notify) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_request_in_child();
  return state_->engine().receive(match, into, notify);
}

Result<std::optional<Envelope>> Context::probe(const Match& match) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_in_child();
  state_->progress();
  return unless_out_of_memory([&] { return state_->engine().probe(match); });
}

Result<std::optional<Message>> Context::matched_probe(const Match& match) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_in_child();
  state_->progress();
  return unless_out_of_memory([&] { return state_->engine().matched_probe(match); });
}

Result<Request> Context::receive_matched(const Message& message, const Layout& into, Notify notify) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_request_in_child();
  return unless_out_of_memory([&] { return state_->engine().receive_matched(message, into, notify); });
}

bool Context::cancel(Request request) {
  if (state_->in_child()) [[unlikely]]
    return false;
  return state_->engine().cancel(request);
}

Result<Request> Context::send_unsolicited(Rank to, Tag label, const ConstLayout& data, Notify notify) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_request_in_child();
  return state_->engine().send_unsolicited({.to = to, .tag = label, .notify = notify}, data);
}

void Context::release(const Arrival& arrival) {
  if (state_->in_child()) [[unlikely]]
    return;
  state_->engine().release(arrival.handle);
}

std::size_t Context::poll(std::span<Event> events) {
  if (state_->in_child()) [[unlikely]]
    return 0;
  state_->progress();
  return state_->engine().take_events(events);
}

std::size_t Context::wait_events(std::span<Event> events, std::chrono::nanoseconds limit) {
  if (state_->in_child()) [[unlikely]]
    return 0;
  state_->wait_until([this] { return state_->engine().has_events(); }, limit);
  return state_->engine().take_events(events);
}

std::optional<Completion> Context::test(Request request) {
  if (state_->in_child()) [[unlikely]]
    return State::kRefusedInChild;
  state_->progress();
  return state_->engine().take_completion(request);
}

Completion Context::wait(Request request) {
  if (state_->in_child()) [[unlikely]]
    return State::kRefusedInChild;
  return state_->wait(request);
}

Completion Context::wait(Request request, std::chrono::nanoseconds limit) {
  if (state_->in_child()) [[unlikely]]
    return State::kRefusedInChild;
  if (!state_->wait_until([this, request] { return state_->engine().ended(request); }, limit))
    return {.code = ErrorCode::timed_out};
  return *state_->engine().take_completion(request);
}

ErrorCode Context::wait_all(std::span<const Request> requests) {
  if (state_->in_child()) [[unlikely]]
    return ErrorCode::bad_argument;
  ErrorCode first = ErrorCode::ok;
  for (const Request request : requests) {
    std::optional<ErrorCode> code = state_->engine().take_code(request);
    if (!code) code = wait(request).code;
    if (first == ErrorCode::ok) first = *code;
  }
  return first;
}

Result<Request> Context::start_barrier(Notify notify) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_request_in_child();
  return unless_out_of_memory([&]() -> Result<Request> { return state_->barriers().start(notify); });
}

Result<void> Context::barrier() {
  return wait_together(start_barrier(), "the barrier");
}

Result<Request> Context::start_alltoall(ConstMemory out, Memory in, Notify notify) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_request_in_child();
  return unless_out_of_memory([&] { return state_->exchanges().start(out, in, notify); });
}

Result<Request> Context::start_alltoallv(const ConstBlocks& out, const Blocks& in, Notify notify) {
  if (state_->in_child()) [[unlikely]]
    return state_->refuse_request_in_child();
  return unless_out_of_memory([&] { return state_->exchanges().start(out, in, notify); });
}

Result<void> Context::alltoall(ConstMemory out, Memory in) {
  return wait_together(start_alltoall(out, in), "the all-to-all");
}

Result<void> Context::alltoallv(const ConstBlocks& out, const Blocks& in) {
  return wait_together(start_alltoallv(out, in), "the all-to-all");
}

Result<void> Context::wait_together(const Result<Request>& request, const char* what) {
  if (!request) return std::unexpected(request.error());
  const ErrorCode code = wait(*request).code;
  if (code == ErrorCode::ok) return {};
  Error error{.code = code, .fact = std::string(what) + " ended with " + std::string(to_string(code))};
  if (code == ErrorCode::peer_failed || code == ErrorCode::peer_left || code == ErrorCode::connection_lost) {
    error.fact = std::string(what) + " was given up: ";
    error.fact += code == ErrorCode::peer_failed ? "at least one process has died"
                  : code == ErrorCode::peer_left ? "at least one process has left the job"
                                                 : "two processes have lost their connection";
    error.remedy = "poll for " + std::string(to_string(code)) + " events to learn which";
  }
  return std::unexpected(std::move(error));
}

Result<Protocol> Context::why(Rank to, std::uint64_t bytes) const {
  return unless_out_of_memory([&] { return state_->why(to, bytes); });
}
std::string Context::waiting_for() const {
  try {
    return state_->waiting_for();
  } catch (const std::bad_alloc&) {
    return "no memory";
  }
}
std::vector<Context::Figure> Context::figures() const {
  try {
    return state_->engine().figures();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

} // namespace heddle
