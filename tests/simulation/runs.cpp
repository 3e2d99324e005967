#include "tests/simulation/runs.hpp"

#include "tests/traffic/traffic.hpp"

#include <array>

namespace heddle::tests {

namespace {

using simulation::Peer;
using simulation::Task;

// Pauses grow with the time that a message takes: who looks more often sees nothing new.
Task take_part(Peer& peer, TrafficPlan plan, std::uint64_t message_ns) {
  Dice pauses(plan.seed * 131 + peer.rank());
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

template <std::size_t Count>
const char* pick(Dice& dice, const std::array<const char*, Count>& from) {
  return from[dice.below(Count)];
}

} // namespace

Run random_run(std::uint64_t seed) {
  Dice dice(seed * 2'654'435'761 + 1);
  Run run{.seed = seed};
  run.setup.fabric =
      pick(dice, std::array{"infiniband:2-ary-2-tree", "infiniband:4-ary-2-tree,lmc=2", "infiniband:2-ary-3-tree",
                            "tofu:1x1x1", "tofu:2x1x1", "tofu:2x1x1,generation=d", "rhinet:star:8", "rhinet:ring:12"});
  run.setup.peers_per_node = dice.chance(25) ? 2 : 1;
  run.setup.peers = static_cast<std::uint32_t>(2 + dice.below(7));
  Options& options = run.setup.options;
  const std::uint64_t ring = std::uint64_t{1} << (12 + dice.below(5));
  options.ring_bytes = ring;
  options.ring_memory = ring * (dice.chance(30) ? 2 + dice.below(3) : 64); // often so little that rings are shared
  options.eager_limit = dice.below(ring / 4);
  options.chunk_bytes = 4096 << dice.below(5);
  run.largest = 1000 + dice.below(100'000);
  run.messages = 20 + dice.below(60);
  if (dice.chance(60))
    run.setup.faults = {.seed = seed,
                        .short_count = dice.chance(50) ? 0.2 : 0,
                        .delay_command = dice.chance(50) ? 0.2 : 0,
                        .delay_event = dice.chance(50) ? 0.2 : 0,
                        .reorder_events = dice.chance(50) ? 0.2 : 0};
  if (dice.chance(30))
    run.setup.deaths.push_back({.rank = static_cast<std::uint32_t>(dice.below(run.setup.peers)),
                                .at = std::chrono::microseconds(dice.below(2000))});
  return run;
}

std::string describe(const Run& run) {
  const Options& options = run.setup.options;
  const auto& faults = run.setup.faults;
  return "seed " + std::to_string(run.seed) + ": " + run.setup.fabric + ", " + std::to_string(run.setup.peers) +
         " peers, rings of " + std::to_string(options.ring_bytes.value_or(0)) + " in " +
         std::to_string(options.ring_memory.value_or(0)) + ", eager to " +
         std::to_string(options.eager_limit.value_or(0)) + ", " + std::to_string(run.messages) + " messages up to " +
         std::to_string(run.largest) + (faults.seed != 0 ? ", faults" : "") +
         (run.setup.deaths.empty() ? "" : ", rank " + std::to_string(run.setup.deaths[0].rank) + " dies");
}

Played play(const Run& run) {
  auto world = simulation::World::create(run.setup);
  if (!world) return {.verdict = world.error().message()};
  const TrafficPlan plan{
      .seed = run.seed, .messages = run.messages, .largest = run.largest, .kill = !run.setup.deaths.empty()};
  const std::uint64_t message_ns = run.setup.fabric.starts_with("rhinet") ? 50'000 : 2000;
  const auto outcome = world->run([&](Peer& peer) { return take_part(peer, plan, message_ns); });
  if (!outcome) return {.verdict = outcome.error().message()};
  return {.verdict = outcome->errors.empty() ? std::string() : outcome->errors.front(),
          .picoseconds = outcome->time.count(),
          .history = outcome->history};
}

} // namespace heddle::tests
