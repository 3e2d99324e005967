// One-sided operations as requests: each has a tracker of the context's own, whose end ends the request.
#include "api/onesided_requests.hpp"

#include "api/state.hpp"

#include <heddle/onesided.hpp>

namespace heddle {

namespace {

// Its end, whether that was within the call that began it or comes later.
void end_request(Tracker& tracker) {
  auto& tracked = static_cast<api::OneSidedRequest&>(tracker);
  Completion completion{.code = tracker.code(), .peer = tracked.peer, .tag = tracked.area, .data = tracker.value()};
  if (completion.code == ErrorCode::ok) completion.bytes = tracked.bytes;
  completion.message_bytes = tracked.bytes;
  tracked.engine->finish_composite(tracked.request, completion);
  tracked.owner->give_back(tracked);
}

// Begins the operation with `start(tracker)`.
template <typename State, typename Start>
Result<Request> begin(State& state, const Place& place, std::uint64_t bytes, Notify notify, Start&& start) {
  if (state.must_refuse()) [[unlikely]]
    return state.refuse_request();
  return unless_out_of_memory([&]() -> Result<Request> {
    api::OneSidedRequests& all = state.one_sided_requests();
    all.make_sure();
    const Request request = state.engine().begin_composite(notify, engine::OperationKind::one_sided);
    api::OneSidedRequest& tracked = all.take();
    tracked.engine = &state.engine();
    tracked.request = request;
    tracked.peer = place.peer;
    tracked.area = Tag{static_cast<std::uint64_t>(place.area)};
    tracked.bytes = bytes;
    start(tracked);
    if (tracked.ended())
      end_request(tracked);
    else
      tracked.when_ended(end_request);
    return request;
  });
}

} // namespace

Result<Request> OneSided::start_push(const Place& to, ConstMemory data, Notify notify, Signal signal) {
  return begin(state_, to, data.size(), notify, [&](Tracker& tracker) {
    if (signal.wanted)
      push(to, data, tracker, {}, signal);
    else
      push(to, data, tracker);
  });
}

Result<Request> OneSided::start_pull(const Place& from, Memory into, Notify notify) {
  return begin(state_, from, into.size(), notify, [&](Tracker& tracker) { pull(from, into, tracker); });
}

Result<Request> OneSided::start_atomic(const Place& at, const Atomic& operation, Notify notify) {
  return begin(state_, at, operation.bytes, notify, [&](Tracker& tracker) { atomic(at, operation, tracker); });
}

} // namespace heddle
