#include "sweep.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "base/refusal.hpp"

namespace heddle::tool {
namespace {

// The first `pick` of a shuffle. Written out, since the library's own may differ from one system to the next.
std::vector<routing::HostIndex> draw(std::vector<routing::HostIndex> hosts, std::uint32_t pick, std::mt19937_64& dice) {
  for (std::uint32_t i = 0; i < pick; ++i) std::swap(hosts[i], hosts[i + dice() % (hosts.size() - i)]);
  hosts.resize(pick);
  return hosts;
}

} // namespace

Result<routing::AlltoallSpeed> speed_of(const routing::Subnet& subnet, const routing::JobHosts& job,
                                        routing::Method method, const routing::AlltoallMachine& machine) {
  const auto selection = routing::select(subnet, job, method, routing::Pattern::shift(job.nodes()));
  if (!selection) return std::unexpected(selection.error());
  return routing::alltoall_speed(subnet, job, *selection, machine);
}

std::vector<std::vector<routing::HostIndex>> draw_sets(const routing::Fabric& fabric, std::uint32_t pick,
                                                       std::uint32_t sets, std::uint64_t seed) {
  const std::vector<routing::HostIndex> hosts = routing::whole_job(fabric).hosts;
  std::mt19937_64 dice(seed);
  std::vector<std::vector<routing::HostIndex>> drawn;
  for (std::uint32_t set = 0; set < sets; ++set) drawn.push_back(draw(hosts, pick, dice));
  return drawn;
}

Result<std::vector<SweepResult>> sweep(const routing::Subnet& subnet, const SweepRequest& request) {
  const std::vector<routing::HostIndex> hosts = routing::whole_job(subnet.fabric).hosts;
  if (request.pick < 2 || request.pick > hosts.size())
    return refuse("cannot pick " + std::to_string(request.pick) + " nodes: expected 2 to " +
                  std::to_string(hosts.size()) + ", as many as the fabric has");
  if (request.sets == 0) return refuse("0 sets: expected 1 or more");
  std::vector<SweepResult> results;
  for (const routing::Method method : request.methods) results.push_back({.method = method});
  for (auto& set : draw_sets(subnet.fabric, request.pick, request.sets, request.seed)) {
    const auto job = routing::make_job(subnet.fabric, std::move(set));
    if (!job) return std::unexpected(job.error());
    for (SweepResult& result : results) {
      const auto speed = speed_of(subnet, *job, result.method, request.machine);
      if (!speed) return std::unexpected(speed.error());
      result.mb_s.push_back(speed->mb_s);
      result.relative.push_back(speed->relative);
      result.hot_spot_free += speed->hot_spot_free ? 1 : 0;
    }
  }
  return results;
}

Statistics statistics_of(const std::vector<double>& values) {
  const auto [worst, best] = std::ranges::minmax(values);
  return {.average = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()),
          .best = best,
          .worst = worst};
}

} // namespace heddle::tool
