// What a context refuses: calls in a child of fork or of a context moved from, and ranks that do not exist. Joining is in join.cpp, progress in
// state_progress.cpp.
#include "api/state.hpp"

#include "job/inspection.hpp"

#include <string>

namespace heddle {

Context::State* Context::State::moved_from() {
  static State* const nobody = [] {
    auto* const state = new State();
    state->fork_mark_.set();
    return state;
  }();
  return nobody;
}

void Context::State::abandon_in_child(std::unique_ptr<State>& state) {
  if (state == nullptr || !state->must_refuse()) return;
  if (!state->has_engine()) {
    static_cast<void>(state.release()); // moved_from()
    return;
  }
  static auto& kept = *new std::vector<State*>; // never destroyed, so that leak checkers find them to the end
  kept.push_back(state.release());
}

Result<Request> Context::State::refuse_request() const {
  return refuse();
}

std::unexpected<Error> Context::State::refuse() const {
  if (!has_engine())
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument, .fact = "the context was moved to another object", .remedy = "use that one"});
  return std::unexpected(Error{
      .code = ErrorCode::bad_argument,
      .fact = "this process was forked by rank " + std::to_string(engine_->rank()) + " and is not a member of the job",
      .remedy = "make all calls in the process that joined; the child may start another program"});
}

Result<void> Context::State::check_rank(Rank rank) const {
  if (!has_engine()) return refuse();
  if (static_cast<std::uint32_t>(rank) < engine_->size()) return {};
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "rank " + std::to_string(static_cast<std::uint32_t>(rank)) +
                                       " is outside the job of " + std::to_string(engine_->size()) + " processes"});
}

Result<Protocol> Context::State::why(Rank to, std::uint64_t bytes) {
  if (auto known = check_rank(to); !known) return std::unexpected(std::move(known.error()));
  const auto rank = static_cast<std::uint32_t>(to);
  Protocol protocol = job::explain(engine_->expected_protocol(rank, bytes), bytes, options_.settings,
                                   queues_[engine_->contact(rank).port]->translator().name());
  if (const std::uint32_t engines = engine_->planned_engines(rank); engines > 1)
    protocol.reason += "; engines: " + std::to_string(engines) + ", given in turn (schedule planned)";
  return protocol;
}

} // namespace heddle
