// mcast on RHiNET as programs see it: the calls of <heddle/onesided.hpp> between processes on the simulated network, until the last
// receiver finds the data in its memory.
#include "reproduce.hpp"

#include <heddle/simulation.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

namespace heddle::tool {
namespace {

using simulation::Peer;
using simulation::Task;
using simulation::Time;

constexpr AreaId kTargets{1};
constexpr std::uint32_t kNodes = 65;
constexpr std::size_t kWords = 8; // 64 bytes

// The second time counts: the first asks for the receivers' keys.
Task tell(Peer& peer, std::uint32_t receivers, Time& last) {
  const auto memory = peer.context().one_sided().allocate(kTargets, kWords * sizeof(std::uint64_t));
  if (!memory) throw std::runtime_error(memory.error().message());
  const auto& word = *reinterpret_cast<const std::uint64_t*>(memory->data() + memory->size() - sizeof(std::uint64_t));
  std::vector<Rank> to;
  for (std::uint32_t rank = 1; rank <= receivers; ++rank) to.push_back(Rank{rank});
  for (const std::uint64_t round : {1U, 2U}) {
    co_await peer.barrier();
    if (peer.rank() == Rank{0}) {
      co_await peer.sleep(std::chrono::milliseconds(1)); // nothing of the barrier is left on the network, and all wait
      const Time start = peer.now();
      const std::vector<std::uint64_t> data(kWords, round);
      Tracker tracker;
      peer.context().one_sided().mcast(to, kTargets, 0, std::as_bytes(std::span(data)), tracker);
      if (co_await peer.wait(tracker) != ErrorCode::ok) throw std::runtime_error("mcast failed");
      last -= start; // all have it by now
    } else if (std::to_underlying(peer.rank()) <= receivers) {
      co_await peer.wait_change(word, round - 1);
      last = std::max(last, peer.now());
    }
  }
}

Result<double> time_to(std::uint32_t receivers, const Parameters& parameters) {
  auto world = simulation::World::create(
      {.fabric = parameters.fabric(fmt::format("rhinet:star:{}", kNodes)), .options = parameters.options({})});
  if (!world) return std::unexpected(std::move(world.error()));
  Time last{};
  const auto outcome = world->run([&](Peer& peer) { return tell(peer, receivers, last); });
  if (!outcome) return std::unexpected(outcome.error());
  if (!outcome->errors.empty())
    return std::unexpected(Error{.code = ErrorCode::system_failed, .fact = outcome->errors.front()});
  return static_cast<double>(last.count()) / 1e6;
}

} // namespace

Result<void> add_rhinet_mcast_by_library(Reproduction& all, const Run& run) {
  double to_two = 0;
  for (const std::uint32_t receivers : {2U, 64U}) {
    const auto time = time_to(receivers, run.parameters);
    if (!time) return std::unexpected(time.error());
    all.figures.push_back({fmt::format("rhinet/mcast/library/{}", receivers), {}, *time, "us"});
    if (receivers == 2)
      to_two = *time;
    else
      all.figures.push_back({"rhinet/mcast/library/64-over-2", 1.0, *time / to_two, "times", Kind::predicted, 0.20});
  }
  return {};
}

} // namespace heddle::tool
