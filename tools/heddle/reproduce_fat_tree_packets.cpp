// The first of the reports' random sets once more, in packets: the library's own all-to-all between simulated processes, its
// paths planned at join, its packets forwarded by the switches' tables, which have the report's rule of LIDs: what is sent before a
// connection is made goes to base LIDs, all by root 0.
//
// What is scaled, so that it ends within a minute: messages of 64 KiB instead of 1 MiB, 4 processes on a node instead of 8. Per
// node and stage that is 1 MiB instead of 64 MiB. Not scaled: the links, of the full 2,000 MB/s of 4xDDR, where the reports'
// machine reached some 1,738; and processes of one node exchange over its interface, not through memory, which costs 4 of 64
// messages. Packets also show what the model leaves out: processes get out of step, and what stands behind a blocked packet
// waits with it, so that paths without hot spots in step still meet between steps (docs/simulator.md).
#include "reproduce.hpp"

#include "routing/tree.hpp"
#include "sweep.hpp"
#include "workloads.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace heddle::tool {
namespace {

using routing::Method;

constexpr const char* kTree = "6-ary-2-tree:30";
constexpr std::uint32_t kProcesses = 4;
constexpr std::uint64_t kMessage = 64 << 10;

// MB/s per node, as the reports define it.
Result<double> speed(const std::vector<routing::HostIndex>& set, Method method) {
  simulation::Setup setup{.fabric = fmt::format("infiniband:{},lmc=3,lids=report", kTree),
                          .peers_per_node = kProcesses,
                          .nodes = set,
                          .options = options_for(kRandomSetNodes * kProcesses)};
  std::ranges::sort(setup.nodes);
  setup.options.paths = std::string(to_string(method));
  auto world = simulation::World::create(setup);
  if (!world) return std::unexpected(std::move(world.error()));
  const auto measured = run_workload(*world, {.workload = Workload::all_to_all, .bytes = kMessage, .rounds = 1});
  if (!measured) return std::unexpected(measured.error());
  const double us = static_cast<double>(measured->time.count()) / 1e6;
  return static_cast<double>(kMessage) * (kRandomSetNodes - 1) * kProcesses * kProcesses / us;
}

// What the model says of the same sets.
Result<double> model_average(const routing::Subnet& subnet, const std::vector<std::vector<routing::HostIndex>>& sets,
                             Method method) {
  std::vector<double> speeds;
  for (const auto& set : sets) {
    const auto job = routing::make_job(subnet.fabric, set);
    if (!job) return std::unexpected(job.error());
    const auto modelled = speed_of(subnet, *job, method);
    if (!modelled) return std::unexpected(modelled.error());
    speeds.push_back(modelled->mb_s);
  }
  return statistics_of(speeds).average;
}

} // namespace

Result<void> add_fat_tree_packets(Reproduction& all, std::uint32_t count) {
  const auto subnet = routing::make_subnet(routing::build_tree(*routing::parse_tree(kTree)), {}, routing::kReportLids);
  if (!subnet) return std::unexpected(subnet.error());
  const auto sets = draw_sets(subnet->fabric, kRandomSetNodes, count, kRandomSetsSeed);
  const std::string id = fmt::format("fat-tree/packets{}/", count);
  all.figures.push_back({id + "message", 1 << 20, static_cast<double>(kMessage), "bytes"});
  all.figures.push_back({id + "processes_per_node", 8, kProcesses, ""});
  std::vector<double> averages;
  for (const Method method : routing::kMethods) {
    std::vector<double> speeds;
    for (const auto& set : sets) {
      const auto one = speed(set, method);
      if (!one) return std::unexpected(one.error());
      speeds.push_back(*one);
    }
    const auto modelled = model_average(*subnet, sets, method);
    if (!modelled) return std::unexpected(modelled.error());
    const auto statistics = statistics_of(speeds);
    averages.push_back(statistics.average);
    const std::string of_method = fmt::format("{}{}/", id, to_string(method));
    all.figures.push_back({of_method + "average", {}, statistics.average, "MB/s"});
    all.figures.push_back({of_method + "best", {}, statistics.best, "MB/s"});
    all.figures.push_back({of_method + "worst", {}, statistics.worst, "MB/s"});
    all.figures.push_back({of_method + "model_average", {}, *modelled, "MB/s"});
  }
  all.figures.push_back({id + "node/gain", 1.34, averages[1] / averages[0], "times"});
  all.figures.push_back({id + "colouring/gain", {}, averages[3] / averages[0], "times"});
  return {};
}

} // namespace heddle::tool
