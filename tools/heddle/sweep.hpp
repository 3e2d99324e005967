// Many node sets, all methods: how often there are hot spots and how fast an all-to-all would be.
#pragma once

#include "routing/alltoall_model.hpp"
#include "routing/methods.hpp"

namespace heddle::tool {

struct SweepRequest {
  std::uint32_t pick = 0; // nodes in a set
  std::uint32_t sets = 0;
  std::uint64_t seed = 1;
  std::vector<routing::Method> methods;
  routing::AlltoallMachine machine{};
};

struct SweepResult {
  routing::Method method = routing::Method::conventional;
  std::vector<double> mb_s;     // one per set, in order of drawing
  std::vector<double> relative; // likewise
  std::uint32_t hot_spot_free = 0;
};

// The sets of a sweep, one after the other; `pick` is at most the number of hosts.
std::vector<std::vector<routing::HostIndex>> draw_sets(const routing::Fabric& fabric, std::uint32_t pick,
                                                       std::uint32_t sets, std::uint64_t seed);

// Every method sees the same sets; the same seed draws the same sets everywhere. bad_argument: a set larger than the fabric or of
// fewer than two nodes, no sets, or a method that does not apply.
Result<std::vector<SweepResult>> sweep(const routing::Subnet& subnet, const SweepRequest& request);

// The speed of one method on one job.
Result<routing::AlltoallSpeed> speed_of(const routing::Subnet& subnet, const routing::JobHosts& job,
                                        routing::Method method, const routing::AlltoallMachine& machine = {});

struct Statistics {
  double average = 0;
  double best = 0;
  double worst = 0;
};
Statistics statistics_of(const std::vector<double>& values); // of at least one

} // namespace heddle::tool
