// Two things that 000 says of switches and does not measure, in packets: that the plain ring on nodes of several processes suffers from
// head-of-line blocking and the 2-level ring does not (5.1), and that traffic spread over several paths without a plan suffers from it,
// too (6). Each is run once more with a lane, so a buffer, for every target: where that takes the loss away, it was the blocking.
#include "reproduce.hpp"
#include "ring_exchange.hpp"

#include "routing/subnet_text.hpp"
#include "sim/description.hpp"
#include "sweep.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace heddle::tool {
namespace {

using routing::Method;
using Nodes = std::vector<routing::HostIndex>;

constexpr std::uint64_t kMessage = 64 << 10;
constexpr std::uint64_t kFullMessage = 1 << 20;
constexpr std::uint32_t kProcesses = 8;  // on a node, as in 000
constexpr std::uint32_t kMostLanes = 16; // InfiniBand's; beyond, two targets share one

// How messages get their paths.
enum class Paths : std::uint8_t {
  base,    // by base LIDs, so as conventional routing has them
  planned, // by a method's choice for the job
  all,     // in parts by all LIDs of the target
};

struct Case {
  std::string fabric;
  Nodes nodes; // in order
  RingOrder order = RingOrder::two_level;
  Paths paths = Paths::base;
  Method method = Method::conventional; // of planned ones
  bool lane_for_each_target = false;
};

// MB/s per node, as 000 defines it.
Result<double> speed(const Case& given, const Run& run) {
  const auto text = routing::parse_subnet(given.fabric.substr(given.fabric.find(':') + 1));
  if (!text) return std::unexpected(text.error());
  const auto subnet = routing::open_subnet(*text);
  if (!subnet) return std::unexpected(subnet.error());
  const auto job = routing::make_job(subnet->fabric, given.nodes);
  if (!job) return std::unexpected(job.error());
  const auto plan = routing::select(*subnet, *job, given.method, routing::Pattern::shift(job->nodes()));
  if (!plan) return std::unexpected(plan.error());
  RingExchange exchange{.nodes = job->hosts,
                        .processes = kProcesses,
                        .bytes = run.full_size ? kFullMessage : kMessage,
                        .order = given.order,
                        .lids = {},
                        .lane_for_each_target = given.lane_for_each_target};
  exchange.lids = [&](std::uint32_t from, std::uint32_t to) -> std::vector<std::uint32_t> {
    if (given.paths == Paths::planned) return {lid_of(*subnet, *job, *plan, from, to)};
    const bool spread = given.paths == Paths::all && !job->same_leaf(from, to);
    std::vector<std::uint32_t> lids(spread ? subnet->lids.offsets() : 1);
    std::iota(lids.begin(), lids.end(), std::uint32_t{subnet->lids.lid(job->hosts[to], 0)});
    return lids;
  };
  const std::uint32_t engines = kProcesses * (given.paths == Paths::all ? subnet->lids.offsets() : 1);
  const std::uint32_t lanes = given.lane_for_each_target ? std::min(job->nodes(), kMostLanes) : 1;
  auto fabric = sim::parse_fabric(
      run.parameters.fabric(fmt::format("{},engines={},lanes={}", given.fabric, engines, lanes)), {.every_lid = true});
  if (!fabric) return std::unexpected(fabric.error());
  auto network = sim::make_network(std::move(*fabric));
  if (!network) return std::unexpected(network.error());
  const auto us = run_ring_exchange(**network, exchange);
  if (!us) return std::unexpected(us.error());
  return static_cast<double>(exchange.bytes) * (job->nodes() - 1) * kProcesses * kProcesses / *us;
}

Nodes in_a_row(std::uint32_t count) {
  Nodes nodes(count);
  std::iota(nodes.begin(), nodes.end(), 0U);
  return nodes;
}

// Where nothing is in the way of the 2-level ring: within one switch, and on whole leaves.
struct Place {
  const char* name;
  const char* fabric;
  std::uint32_t nodes;
};
constexpr std::array kPlaces{Place{"one-switch", "infiniband:12-ary-1-tree", 12},
                             Place{"two-leaves", "infiniband:6-ary-2-tree:30", 12},
                             Place{"five-leaves", "infiniband:6-ary-2-tree:30", 30}};

Result<void> add_rings(Reproduction& all, const Run& run) {
  for (const Place& place : kPlaces) {
    const std::string id = fmt::format("fat-tree/rings/{}/", place.name);
    const auto speed_of_order = [&](RingOrder order, bool lane_for_each_target) {
      run.at(id);
      return speed({.fabric = place.fabric,
                    .nodes = in_a_row(place.nodes),
                    .order = order,
                    .lane_for_each_target = lane_for_each_target},
                   run);
    };
    const auto plain = speed_of_order(RingOrder::plain, false);
    if (!plain) return std::unexpected(plain.error());
    const auto two_level = speed_of_order(RingOrder::two_level, false);
    if (!two_level) return std::unexpected(two_level.error());
    const auto freed = speed_of_order(RingOrder::plain, true);
    if (!freed) return std::unexpected(freed.error());
    all.figures.push_back({id + "two-level", {}, *two_level, "MB/s"});
    all.figures.push_back({id + "plain", {}, *plain, "MB/s"});
    all.figures.push_back({id + "plain-with-lanes", {}, *freed, "MB/s"});
    all.figures.push_back(
        {.id = id + "plain_to_two-level", .report = {}, .ours = *plain / *two_level, .unit = "times", .below = 1.0});
  }
  return {};
}

struct Way {
  const char* name;
  Paths paths;
  Method method = Method::conventional;
  bool lane_for_each_target = false;
};
constexpr std::array kWays{Way{"conventional", Paths::base}, Way{"spread", Paths::all},
                           Way{"spread-with-lanes", Paths::all, Method::conventional, true},
                           Way{"node", Paths::planned, Method::node},
                           Way{"colouring", Paths::planned, Method::colouring}};

Result<void> add_spreading(Reproduction& all, const Run& run) {
  if (run.packets == 0) return {};
  constexpr const char* kFabric = "infiniband:6-ary-2-tree:30";
  const auto text = routing::parse_subnet(std::string_view(kFabric).substr(std::string_view(kFabric).find(':') + 1));
  if (!text) return std::unexpected(text.error());
  const auto tree = routing::open_fabric(*text);
  if (!tree) return std::unexpected(tree.error());
  const auto sets = draw_sets(*tree, kRandomSetNodes, run.packets, kRandomSetsSeed);
  std::vector<double> averages;
  for (const Way& way : kWays) {
    const std::string id = fmt::format("fat-tree/spreading/{}/", way.name);
    std::vector<double> speeds;
    for (const Nodes& set : sets) {
      run.at(fmt::format("{}, set {} of {}", id, speeds.size() + 1, sets.size()));
      const auto one = speed({.fabric = kFabric,
                              .nodes = set,
                              .paths = way.paths,
                              .method = way.method,
                              .lane_for_each_target = way.lane_for_each_target},
                             run);
      if (!one) return std::unexpected(one.error());
      speeds.push_back(*one);
    }
    averages.push_back(statistics_of(speeds).average);
    all.figures.push_back({id + "average", {}, averages.back(), "MB/s"});
    all.figures.push_back({id + "average_error", {}, standard_error(speeds), "MB/s"});
  }
  // Against those planned for every pair, which is what 000 leads up to.
  all.figures.push_back({.id = "fat-tree/spreading/spread_to_colouring",
                         .report = {},
                         .ours = averages[1] / averages.back(),
                         .unit = "times",
                         .below = 1.0});
  return {};
}

} // namespace

std::vector<Part> ring_parts() {
  return {
      {{"fat-tree/rings"},
       "Plain and 2-level ring on nodes of eight processes, in packets",
       {"infiniband"},
       add_rings,
       "8 send engines on a node, one for each process; one lane, with-lanes one for each target, at most 16",
       {"infiniband.engines", "infiniband.lanes"}},
      {{"fat-tree/spreading"},
       "Traffic spread over all paths, and planned, in packets",
       {"infiniband"},
       add_spreading,
       "spread and spread-with-lanes have 48 send engines on a node, one for each process and path, since a message "
       "goes by "
       "six paths at once; the others 8, one for each process. One lane, with-lanes one for each target, at most 16",
       {"infiniband.engines", "infiniband.lanes"}}};
}

} // namespace heddle::tool
