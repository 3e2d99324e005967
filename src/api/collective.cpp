// The public calls for collectives. The blocking ones wait here, with or without a limit.
#include "api/state.hpp"
#include "api/unfinished.hpp"
#include "base/refusal.hpp"

#include <heddle/heddle.hpp>

#include <string>
#include <utility>

namespace heddle {

namespace {

using Call = api::Unfinished::Kind;

Error given_up(const std::string& what, ErrorCode code) {
  Error error{.code = code, .fact = what + " ended with " + std::string(to_string(code))};
  if (code == ErrorCode::peer_failed || code == ErrorCode::peer_left || code == ErrorCode::connection_lost) {
    error.fact = what + " was given up: ";
    error.fact += code == ErrorCode::peer_failed ? "at least one process has died"
                  : code == ErrorCode::peer_left ? "at least one process has left the job"
                                                 : "two processes have lost their connection";
    error.remedy = "poll for " + std::string(to_string(code)) + " events to learn which";
  }
  return error;
}

// Starts the call, or goes on with one that is the same and whose time was over; without a limit, to the end.
template <typename State, typename Start>
Result<void> wait_together(State& state, const api::Unfinished& call, const std::chrono::nanoseconds* limit,
                           const Start& start) {
  if (state.must_refuse()) [[unlikely]]
    return state.refuse();
  const char* const what = call.kind == Call::barrier ? "the barrier" : "the all-to-all";
  api::Unfinished& last = state.unfinished(call.kind);
  if (last.under_way() && !last.same_call(call))
    return unless_out_of_memory([&]() -> Result<void> {
      return refuse("an all-to-all that timed out is still under way, with other memory",
                    "wait for it by a call with the same memory");
    });
  if (!last.under_way()) {
    auto request = start();
    if (!request) return std::unexpected(std::move(request.error()));
    last = call;
    last.request = *request;
  }
  const ErrorCode code = (limit == nullptr ? state.wait(last.request) : state.wait(last.request, *limit)).code;
  if (code != ErrorCode::timed_out && code != ErrorCode::would_block) last.request = {};
  if (code == ErrorCode::ok) return {};
  return unless_out_of_memory([&]() -> Result<void> {
    if (code == ErrorCode::timed_out)
      return std::unexpected(Error{.code = code,
                                   .fact = std::string(what) + " did not complete in time",
                                   .remedy = "it is still under way: call again to wait for it"});
    return std::unexpected(given_up(what, code));
  });
}

} // namespace

Result<Request> Context::start_barrier(Notify notify) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  if (state_->is_open()) [[unlikely]]
    return state_->refuse_in_open_world("a barrier");
  return unless_out_of_memory([&]() -> Result<Request> { return state_->barriers().start(notify); });
}

Result<Request> Context::start_alltoall(ConstMemory out, Memory in, Notify notify) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  if (state_->is_open()) [[unlikely]]
    return state_->refuse_in_open_world("an all-to-all");
  return unless_out_of_memory([&] { return state_->exchanges().start(out, in, notify); });
}

Result<Request> Context::start_alltoallv(const ConstBlocks& out, const Blocks& in, Notify notify) {
  if (state_->must_refuse()) [[unlikely]]
    return state_->refuse_request();
  if (state_->is_open()) [[unlikely]]
    return state_->refuse_in_open_world("an all-to-all");
  return unless_out_of_memory([&] { return state_->exchanges().start(out, in, notify); });
}

Result<void> Context::barrier() {
  return wait_together(*state_, {}, nullptr, [this] { return start_barrier(); });
}
Result<void> Context::barrier(std::chrono::nanoseconds limit) {
  return wait_together(*state_, {}, &limit, [this] { return start_barrier(); });
}

Result<void> Context::alltoall(ConstMemory out, Memory in) {
  return wait_together(*state_, {.kind = Call::alltoall, .out = out, .in = in}, nullptr,
                       [&] { return start_alltoall(out, in); });
}
Result<void> Context::alltoall(ConstMemory out, Memory in, std::chrono::nanoseconds limit) {
  return wait_together(*state_, {.kind = Call::alltoall, .out = out, .in = in}, &limit,
                       [&] { return start_alltoall(out, in); });
}

Result<void> Context::alltoallv(const ConstBlocks& out, const Blocks& in) {
  return wait_together(*state_, {.kind = Call::alltoallv, .out = out.memory, .in = in.memory}, nullptr,
                       [&] { return start_alltoallv(out, in); });
}
Result<void> Context::alltoallv(const ConstBlocks& out, const Blocks& in, std::chrono::nanoseconds limit) {
  return wait_together(*state_, {.kind = Call::alltoallv, .out = out.memory, .in = in.memory}, &limit,
                       [&] { return start_alltoallv(out, in); });
}

} // namespace heddle
