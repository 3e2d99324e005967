#include "tests/scenario/play.hpp"

#include "tests/scenario/member.hpp"
#include "tests/traffic/traffic.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace heddle::tests {

namespace {

using simulation::Peer;
using simulation::Task;
using simulation::Time;

// Longer than anything takes, cables that are plugged again late included.
constexpr Time kLimit = std::chrono::seconds(2);

// Steps of a member whenever something has happened to its process, until it wants to pause or is done.
class Steps final : public Peer::Wait {
 public:
  Steps(Peer& peer, Member& member) : Wait(peer, {}), member_(member) {}
  [[nodiscard]] bool ended() override {
    try {
      next_ = member_.step();
      if (next_.kind == Member::Next::Kind::wait && peer_.now() > kLimit)
        throw std::runtime_error("it has not ended: " + member_.waits_for());
    } catch (...) { // is the program's, not the simulation's
      failure_ = std::current_exception();
      return true;
    }
    return next_.kind != Member::Next::Kind::wait;
  }
  Member::Next await_resume() const {
    if (failure_) std::rethrow_exception(failure_);
    return next_;
  }

 private:
  Member& member_;
  Member::Next next_;
  std::exception_ptr failure_;
};

Task take_part(Peer& peer, const Scenario& scenario, Witness& witness, Journal* journal,
               std::unique_ptr<Member>& member) {
  member = std::make_unique<Member>(peer.context(), scenario, witness, journal);
  for (;;) {
    const Member::Next next = co_await Steps(peer, *member);
    if (next.kind == Member::Next::Kind::done) break;
    if (next.kind == Member::Next::Kind::pause) co_await peer.sleep(std::chrono::nanoseconds(next.ns));
    if (next.kind == Member::Next::Kind::compute) co_await peer.compute(std::chrono::nanoseconds(next.ns));
  }
  if (scenario.leaves[std::to_underlying(peer.rank())]) {
    member.reset();
    peer.leave();
  }
}

// Pauses grow with the time that a message takes: who looks more often sees nothing new.
Task take_part_in_traffic(Peer& peer, TrafficPlan plan, std::uint64_t message_ns) {
  Dice pauses(plan.seed * 131 + std::to_underlying(peer.rank()));
  Traffic traffic(peer.context(), plan);
  // Who has sent everything looks less and less often: on a slow network the rest takes long.
  std::uint64_t longest_pause = 2 * message_ns;
  while (traffic.step()) {
    if (pauses.chance(50)) co_await peer.sleep(std::chrono::nanoseconds(pauses.below(longest_pause)));
    if (traffic.all_sent()) longest_pause = std::min(longest_pause + message_ns / 16, 100 * message_ns);
  }
  const Completion passed = co_await peer.barrier();
  if (plan.kill == (passed.code == ErrorCode::ok)) throw std::runtime_error("a barrier ended wrongly");
  if (!plan.kill) traffic.check_figures();
}

} // namespace

Played play(const Scenario& scenario, std::vector<std::string>* story) {
  auto world = simulation::World::create(scenario.setup);
  if (!world) return {.verdict = world.error().message(), .happened = {}};
  const auto now = [&] { return world->peer(Rank{0}).now(); };
  Witness witness(scenario.peers(), scenario.meetings.size(), now);
  std::vector<std::unique_ptr<Member>> members(scenario.peers());
  Journal journal{.now = now, .lines = {}};
  const std::uint64_t message_ns = scenario.setup.fabric.starts_with("rhinet") ? 50'000 : 2000;
  const auto outcome = world->run([&](Peer& peer) {
    if (!scenario.traffic)
      return take_part(peer, scenario, witness, story != nullptr ? &journal : nullptr,
                       members[std::to_underlying(peer.rank())]);
    return take_part_in_traffic(peer,
                                {.seed = scenario.traffic->seed,
                                 .messages = scenario.traffic->messages,
                                 .largest = scenario.traffic->largest,
                                 .kill = !scenario.setup.deaths.empty()},
                                message_ns);
  });
  Played played;
  if (!outcome) {
    played.verdict = outcome.error().message();
    for (const auto& member : members)
      if (member != nullptr && played.verdict.size() < 4000) played.verdict += "\n" + member->waits_for();
  } else {
    played = {.verdict = outcome->errors.empty() ? std::string() : outcome->errors.front(),
              .picoseconds = outcome->time.count(),
              .history = outcome->history,
              .happened = {}};
  }
  played.happened = witness.happened;
  if (story != nullptr) std::ranges::move(journal.lines, std::back_inserter(*story));
  return played;
}

} // namespace heddle::tests
