// The two reports on all-to-all over fat-tree InfiniBand: 30 nodes on a 6-ary-2-tree, 1,000 random sets of 16 of them, and nodes
// in a row. Theirs are measurements, ours the model of src/routing/alltoall_model.hpp; for some of the sets, packets, too
// (reproduce_fat_tree_packets.cpp). LIDs are those of the report's rule, base LIDs by root 0; the methods choose roots, so that no
// figure depends on it.
#include "reproduce.hpp"

#include "routing/tree.hpp"
#include "sweep.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace heddle::tool {
namespace {

using routing::Method;

constexpr std::uint32_t kSets = 1000;
constexpr double kGoodSpeed = 1500;

// What the reports say of one method's random sets.
struct Reported {
  std::optional<double> average, best, worst, above, free;
};

Reported reported(Method method) {
  switch (method) {
    case Method::conventional: return {1198, 1690, 888, 20, {}};
    case Method::node: return {1607, 1716, 1265, 732, {}};
    case Method::pair: return {{}, {}, {}, {}, kSets}; // "can avoid a hot-spot occurrence at any time"
    case Method::colouring: return {};
  }
  return {};
}

void add_random_sets(Reproduction& all, const std::vector<SweepResult>& results) {
  Chart chart{.file = "fat-tree-random16",
              .title = "All-to-all on 1,000 random sets of 16 of 30 nodes",
              .x_name = "sets, slowest first",
              .y_name = "MB/s per node"};
  for (const SweepResult& result : results) {
    const std::string id = fmt::format("fat-tree/random16/{}/", to_string(result.method));
    const Reported theirs = reported(result.method);
    const auto speed = statistics_of(result.mb_s);
    const auto above = std::ranges::count_if(result.mb_s, [](double value) { return value > kGoodSpeed; });
    all.figures.push_back({id + "average", theirs.average, speed.average, "MB/s"});
    all.figures.push_back({id + "best", theirs.best, speed.best, "MB/s"});
    all.figures.push_back({id + "worst", theirs.worst, speed.worst, "MB/s"});
    all.figures.push_back({id + "above_1500", theirs.above, static_cast<double>(above), "sets"});
    all.figures.push_back({id + "hot_spot_free", theirs.free, static_cast<double>(result.hot_spot_free), "sets"});
    std::vector<double> sorted = result.mb_s;
    std::ranges::sort(sorted);
    Series& series = chart.series.emplace_back(Series{.name = std::string(to_string(result.method))});
    for (std::size_t i = 0; i < sorted.size(); ++i) series.points.emplace_back(static_cast<double>(i + 1), sorted[i]);
  }
  const double gain = statistics_of(results[1].mb_s).average / statistics_of(results[0].mb_s).average;
  all.figures.push_back({"fat-tree/random16/node/gain", 1.34, gain, "times"});
  all.charts.push_back(std::move(chart));
}

Result<void> add_nodes_in_a_row(Reproduction& all, const routing::Subnet& subnet) {
  Chart chart{.file = "fat-tree-contiguous",
              .title = "All-to-all on nodes 0 to n-1",
              .x_name = "nodes n",
              .y_name = "MB/s per node"};
  for (const Method method : routing::kMethods) {
    const std::string id = fmt::format("fat-tree/contiguous/{}/", to_string(method));
    const bool measured = method == Method::conventional || method == Method::node;
    Series& series = chart.series.emplace_back(Series{.name = std::string(to_string(method))});
    double at_full_speed = 0;
    for (std::uint32_t n = 3; n <= 30; ++n) {
      std::vector<routing::HostIndex> hosts;
      for (routing::HostIndex host = 0; host < n; ++host) hosts.push_back(host);
      const auto job = routing::make_job(subnet.fabric, hosts);
      if (!job) return std::unexpected(job.error());
      const auto speed = speed_of(subnet, *job, method);
      if (!speed) return std::unexpected(speed.error());
      series.points.emplace_back(n, speed->mb_s);
      at_full_speed += speed->hot_spot_free ? 1 : 0;
      if (n == 16)
        all.figures.push_back({id + "16", measured ? std::optional(1310.0) : std::nullopt, speed->mb_s, "MB/s"});
    }
    // Up to 12, and 18, 24, 30: thirteen of the sizes from 3 on.
    all.figures.push_back(
        {id + "sizes_at_full_speed", measured ? std::optional(13.0) : std::nullopt, at_full_speed, "sizes"});
  }
  all.charts.push_back(std::move(chart));
  return {};
}

} // namespace

Result<Reproduction> reproduce_fat_tree() {
  const auto shape = routing::parse_tree("6-ary-2-tree:30");
  if (!shape) return std::unexpected(shape.error());
  const auto subnet = routing::make_subnet(routing::build_tree(*shape), {}, routing::kReportLids);
  if (!subnet) return std::unexpected(subnet.error());
  const auto results = sweep(*subnet, {.pick = kRandomSetNodes,
                                       .sets = kSets,
                                       .seed = kRandomSetsSeed,
                                       .methods = {routing::kMethods.begin(), routing::kMethods.end()}});
  if (!results) return std::unexpected(results.error());
  Reproduction all;
  add_random_sets(all, *results);
  if (auto added = add_nodes_in_a_row(all, *subnet); !added) return std::unexpected(added.error());
  return all;
}

} // namespace heddle::tool
