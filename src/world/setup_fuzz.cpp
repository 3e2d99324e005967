// Any numbers in the setup of a simulated job: an error of one line, or a job that comes to an end.
#include "world/setup.hpp"

#include "base/fuzz_input.hpp"

#include <array>
#include <utility>

namespace heddle::fuzz {
namespace {

double chance(Input& input) {
  const auto choice = input.take<std::uint8_t>();
  if (choice < 96) return 0;
  return choice < 250 ? choice / 256.0 : input.take<double>();
}

simulation::Time time_of(Input& input) {
  return simulation::Time(static_cast<std::int64_t>(input.below(4) == 0 ? input.word() : input.below(60'000) * 100));
}

simulation::Task exchange(simulation::Peer& peer, std::size_t bytes, simulation::Time pause) {
  std::vector<std::byte> out(bytes);
  std::vector<std::byte> in(bytes);
  co_await peer.sleep(pause);
  const auto to =
      peer.context().send(Rank{(std::to_underlying(peer.rank()) + 1) % peer.size()}, Tag{1}, ConstLayout(out));
  const auto from = peer.context().receive(
      {.source = Rank{(std::to_underlying(peer.rank()) + peer.size() - 1) % peer.size()}}, Layout(in));
  if (to) co_await peer.wait(*to);
  if (from) co_await peer.wait(*from);
}

} // namespace

void setup(Input& input) {
  static constexpr std::array<const char*, 5> kFabrics{"infiniband:2-ary-1-tree", "tofu:1x1x1", "rhinet:star:3",
                                                       "rhinet:ring:4", "infiniband:2-ary-2-tree,lmc=1"};
  simulation::Setup setup{.fabric = kFabrics[input.below(5)], .peers = input.below(6)};
  // None, or so many that no machine has the memory: jobs in between are made, and take as much as the fuzzer may have.
  const std::uint32_t absurd = input.below(2) == 0 ? 0 : static_cast<std::uint32_t>(input.word()) | 0x8000'0000U;
  setup.peers_per_node = input.below(8) == 0 ? absurd : 1 + input.below(2);
  for (std::uint32_t i = input.below(3); i > 0; --i) setup.nodes.push_back(input.below(8));
  for (std::uint32_t i = input.below(3); i > 0; --i)
    setup.deaths.push_back({.rank = Rank{input.below(6)}, .at = time_of(input)});
  for (std::uint32_t i = input.below(3); i > 0; --i)
    setup.cables.push_back({.cable = input.below(6), .at = time_of(input), .plugged = input.below(2) == 1});
  setup.faults = {.seed = input.below(3),
                  .short_count = chance(input),
                  .delay_command = chance(input),
                  .delay_event = chance(input),
                  .reorder_events = chance(input)};
  auto world = simulation::World::create(setup);
  if (!world) return demand_message(world.error());
  if (world->size() > 16) return;
  const std::size_t bytes = 40U * input.below(256);
  const simulation::Time pause = time_of(input);
  const auto outcome = world->run([&](simulation::Peer& peer) { return exchange(peer, bytes, pause); });
  if (!outcome) demand_message(outcome.error());
}

} // namespace heddle::fuzz
