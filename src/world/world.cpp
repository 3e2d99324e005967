// Simulated jobs: processes as coroutines on a simulated fabric, in virtual time.
#include "engine/engine.hpp"
#include "world/state.hpp"

#include <utility>

namespace heddle::simulation {

Time Peer::now() const {
  return world_.now();
}

// Waits only look: whoever asks whether they are over has made progress before.
bool Peer::RequestWait::over() {
  completion_ = WorldState::engine_of(peer_).take_completion(request_);
  return completion_.has_value();
}

bool Peer::AllWait::over() {
  while (!left_.empty()) {
    const auto code = WorldState::engine_of(peer_).take_code(left_.front());
    if (!code) return false;
    if (first_ == ErrorCode::ok) first_ = *code;
    left_ = left_.subspan(1);
  }
  return true;
}

bool Peer::EventWait::over() {
  count_ = WorldState::engine_of(peer_).take_events(events_);
  return count_ > 0;
}

Peer::TimeWait::TimeWait(Peer& peer, Time until) : Wait(peer), until_(until) {
  peer.world_.wake_at(peer, until);
}

bool Peer::TimeWait::over() {
  return peer_.now() >= until_;
}

World::World(std::unique_ptr<WorldState> state) : state_(std::move(state)) {}
World::~World() = default;
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;

Result<World> World::create(const Setup& setup) {
  auto state = WorldState::create(setup);
  if (!state) return std::unexpected(std::move(state.error()));
  return World(std::move(*state));
}

std::uint32_t World::size() const {
  return state_->size();
}

Result<Outcome> World::run(const Program& program) {
  return state_->run(program);
}

const Peer& World::peer(Rank rank) const {
  return state_->peer(rank);
}

} // namespace heddle::simulation
