// Simulated jobs: processes as coroutines on a simulated fabric, in virtual time.
#include "api/several.hpp"
#include "engine/engine.hpp"
#include "world/state.hpp"

#include <utility>

namespace heddle::simulation {

Time Peer::now() const {
  return world_.now();
}

Peer::Wait::Wait(Peer& peer, Limit limit) : peer_(peer) {
  if (!limit) return;
  until_ = peer.later(*limit);
  peer.world_.wake_at(peer, *until_);
}

// Waits only look: whoever asks whether they are over has made progress before.
bool Peer::RequestWait::ended() {
  completion_ = WorldState::engine_of(peer_).take_completion(request_);
  return completion_.has_value();
}

bool Peer::AnyWait::ended() {
  engine::Engine& engine = WorldState::engine_of(peer_);
  const auto index = api::first_ended(engine, requests_);
  if (index) found_ = api::take_one(engine, requests_, *index);
  return index.has_value();
}

bool Peer::AllWait::ended() {
  if (!completions_.empty() && completions_.size() < requests_.size()) {
    code_ = ErrorCode::bad_argument;
    return true;
  }
  engine::Engine& engine = WorldState::engine_of(peer_);
  if (!api::all_ended(engine, requests_, ended_)) return false;
  code_ = api::take_all(engine, requests_, completions_);
  return true;
}

bool Peer::EventWait::ended() {
  count_ = WorldState::engine_of(peer_).take_events(events_);
  return count_ > 0;
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
