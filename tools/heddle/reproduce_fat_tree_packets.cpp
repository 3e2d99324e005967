// The first of the reports' random sets once more, in packets: the library's own all-to-all between simulated processes, its
// paths planned at join, its packets forwarded by the switches' tables, which have the report's rule of LIDs: what is sent before a
// connection is made goes to base LIDs, all by root 0.
//
// What is scaled unless --full-size asks for all of it, so that it ends within a minute: messages of 64 KiB instead of 1 MiB, 4
// processes on a node instead of 8. Per node and stage that is 1 MiB instead of 64 MiB. Not scaled: the links, of the full
// 2,000 MB/s of 4xDDR, where the reports' machine reached some 1,738; and processes of one node exchange over its interface, not
// through memory, which costs 4 of 64
// messages. Packets also show what the model leaves out: processes get out of step, and what stands behind a blocked packet
// waits with it, so that paths without hot spots in step still meet between steps (docs/simulator.md).
#include "reproduce.hpp"

#include "routing/tree.hpp"
#include "sweep.hpp"
#include "workloads.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

namespace heddle::tool {
namespace {

using routing::Method;

constexpr const char* kTree = "6-ary-2-tree:30";
constexpr std::uint32_t kFewestInARow = 3;
constexpr std::uint32_t kMostInARow = 30;
// 000, 5.3: "up to 12 or a multiple of 6".
constexpr bool is_good_size(std::uint32_t nodes) {
  return nodes <= 12 || nodes % 6 == 0;
}
constexpr std::uint32_t kNamedInARow = 16; // whose speed 000 states

// What is exchanged: the report's, or a part of it.
struct Scale {
  std::uint32_t processes; // on a node
  std::uint64_t message;
};
constexpr std::uint64_t kSmallMessage = 64 << 10;
constexpr Scale kFullScale{8, 1 << 20};
Scale part_of_it(const Parameters& parameters) {
  const PacketScale given = parameters.packets();
  return {static_cast<std::uint32_t>(given.processes), static_cast<std::uint64_t>(given.message)};
}
Scale scale_of(const Run& run) {
  return run.full_size ? kFullScale : part_of_it(run.parameters);
}

// MB/s per node, as the reports define it.
Result<double> speed(const std::vector<routing::HostIndex>& nodes, Method method, const Scale& scale,
                     const Parameters& parameters) {
  simulation::Setup setup{.fabric = parameters.fabric(fmt::format("infiniband:{},lids=report", kTree)),
                          .peers_per_node = scale.processes,
                          .nodes = nodes,
                          .options = parameters.options(options_for(nodes.size() * scale.processes))};
  std::ranges::sort(setup.nodes);
  setup.options.paths = std::string(to_string(method));
  auto world = simulation::World::create(setup);
  if (!world) return std::unexpected(std::move(world.error()));
  const auto measured = run_workload(*world, {.workload = Workload::all_to_all,
                                              .bytes = scale.message,
                                              .rounds = 1,
                                              .first_bytes = std::min(kSmallMessage, scale.message)});
  if (!measured) return std::unexpected(measured.error());
  const double us = static_cast<double>(measured->time.count()) / 1e6;
  return static_cast<double>(scale.message * (nodes.size() - 1) * scale.processes * scale.processes) / us;
}

// What the model says of the same sets.
Result<double> model_average(const routing::Subnet& subnet, const std::vector<std::vector<routing::HostIndex>>& sets,
                             Method method, const Parameters& parameters) {
  std::vector<double> speeds;
  for (const auto& set : sets) {
    const auto job = routing::make_job(subnet.fabric, set);
    if (!job) return std::unexpected(job.error());
    const auto modelled = speed_of(subnet, *job, method, parameters.machine());
    if (!modelled) return std::unexpected(modelled.error());
    speeds.push_back(modelled->mb_s);
  }
  return statistics_of(speeds).average;
}

} // namespace

double standard_error(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double average = statistics_of(values).average;
  double squares = 0;
  for (const double value : values) squares += (value - average) * (value - average);
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / (count - 1) / count);
}

Result<void> add_fat_tree_packets(Reproduction& all, const Run& run) {
  const std::uint32_t count = run.packets;
  if (count == 0) return {};
  const Scale scale = scale_of(run);
  const auto subnet = routing::make_subnet(routing::build_tree(*routing::parse_tree(kTree)), {}, routing::kReportLids);
  if (!subnet) return std::unexpected(subnet.error());
  const auto sets = draw_sets(subnet->fabric, kRandomSetNodes, count, kRandomSetsSeed);
  const std::string id = "fat-tree/packets/";
  all.figures.push_back({id + "sets", 1000, static_cast<double>(count), "", Kind::input});
  all.figures.push_back({id + "message", 1 << 20, static_cast<double>(scale.message), "bytes", Kind::input});
  all.figures.push_back({id + "processes_per_node", 8, static_cast<double>(scale.processes), "", Kind::input});
  std::vector<double> averages;
  for (const Method method : routing::kMethods) {
    std::vector<double> speeds;
    for (const auto& set : sets) {
      run.at(fmt::format("{}{}, set {} of {}", id, to_string(method), speeds.size() + 1, count));
      const auto one = speed(set, method, scale, run.parameters);
      if (!one) return std::unexpected(one.error());
      speeds.push_back(*one);
    }
    const auto modelled = model_average(*subnet, sets, method, run.parameters);
    if (!modelled) return std::unexpected(modelled.error());
    const auto statistics = statistics_of(speeds);
    averages.push_back(statistics.average);
    const std::string of_method = fmt::format("{}{}/", id, to_string(method));
    // Nothing was fitted for packets: at full size they predict what was measured.
    const bool measured = run.full_size && (method == Method::conventional || method == Method::node);
    const double theirs = method == Method::conventional ? 1198 : 1607;
    all.figures.push_back({.id = of_method + "average",
                           .report = measured ? std::optional(theirs) : std::nullopt,
                           .ours = statistics.average,
                           .unit = "MB/s",
                           .tolerance = 0.05,
                           .error = standard_error(speeds)}); // of a few sets, where the report has a thousand
    all.figures.push_back({of_method + "average_error", {}, standard_error(speeds), "MB/s"});
    all.figures.push_back({of_method + "best", {}, statistics.best, "MB/s"});
    all.figures.push_back({of_method + "worst", {}, statistics.worst, "MB/s"});
    all.figures.push_back({of_method + "model_average", {}, *modelled, "MB/s"});
  }
  all.figures.push_back({id + "node/gain", 1.34, averages[1] / averages[0], "times"});
  all.figures.push_back({id + "colouring/gain", {}, averages[3] / averages[0], "times"});
  return {};
}

namespace {

using Row = std::map<std::uint32_t, double>; // nodes -> MB/s

// Of all sizes, or of 16 where no other figure is asked for.
Result<Row> speeds_in_a_row(Method method, const std::string& id, const Run& run) {
  const bool all_sizes = run.wants(id + "good_sizes") || run.wants(id + "degraded_sizes") ||
                         run.wants(id + "degraded_to_good") || run.wants(id + "furthest_from_conventional");
  Row row;
  for (std::uint32_t n = kFewestInARow; n <= kMostInARow; ++n) {
    if (!all_sizes && n != kNamedInARow) continue;
    run.at(fmt::format("{}{}", id, n));
    std::vector<routing::HostIndex> nodes(n);
    std::iota(nodes.begin(), nodes.end(), 0U);
    const auto one = speed(nodes, method, scale_of(run), run.parameters);
    if (!one) return std::unexpected(one.error());
    row[n] = *one;
  }
  return row;
}

double average_of(const Row& row, bool good) {
  std::vector<double> speeds;
  for (const auto& [n, one] : row)
    if (is_good_size(n) == good) speeds.push_back(one);
  return statistics_of(speeds).average;
}

void add_row(Reproduction& all, const Row& row, const std::string& id, std::optional<double> theirs, bool measured) {
  all.figures.push_back({id + "16", theirs, row.at(kNamedInARow), "MB/s", Kind::predicted, 0.05});
  if (row.size() == 1) return;
  const double good = average_of(row, true);
  const double degraded = average_of(row, false);
  all.figures.push_back({id + "good_sizes", {}, good, "MB/s"});
  all.figures.push_back({id + "degraded_sizes", {}, degraded, "MB/s"});
  if (!measured) return;
  all.figures.push_back(
      {.id = id + "degraded_to_good", .report = {}, .ours = degraded / good, .unit = "times", .below = 1.0});
}

} // namespace

// Figure 10: nodes 0 to n-1. No sample, so no error: the same to the picosecond each time.
Result<void> add_fat_tree_packets_in_a_row(Reproduction& all, const Run& run) {
  if (run.packets == 0) return {};
  Chart chart{.file = "fat-tree-packets-contiguous",
              .title = "All-to-all on nodes 0 to n-1, in packets (000, figure 10)",
              .x_name = "nodes n",
              .y_name = "MB/s per node"};
  std::map<Method, Row> rows;
  for (const Method method : {Method::conventional, Method::node, Method::colouring}) {
    const std::string id = fmt::format("fat-tree/packets-contiguous/{}/", to_string(method));
    if (!run.wants(id)) continue;
    auto row = speeds_in_a_row(method, id, run);
    if (!row) return std::unexpected(row.error());
    const bool measured = method != Method::colouring;
    add_row(all, *row, id, measured && run.full_size ? std::optional(1310.0) : std::nullopt, measured);
    chart.series.push_back({.name = std::string(to_string(method)), .points = {row->begin(), row->end()}});
    rows[method] = std::move(*row);
  }
  double furthest = 0;
  for (const auto& [n, one] : rows[Method::node])
    if (rows[Method::conventional].contains(n))
      furthest = std::max(furthest, std::abs(one / rows[Method::conventional][n] - 1));
  // "The same for both": to 5 %, since a curve was looked at.
  if (rows.size() == 3)
    all.figures.push_back({.id = "fat-tree/packets-contiguous/node/furthest_from_conventional",
                           .report = {},
                           .ours = 100 * furthest,
                           .unit = "%",
                           .below = 5.0});
  if (run.full_size)
    chart.series.push_back({.name = "conventional and node", .points = {{16, 1310}}, .reported = true});
  all.charts.push_back(std::move(chart));
  return {};
}

// One random set, on which conventional routing has hot spots.
Result<Headline> infiniband_headline(const Parameters& parameters) {
  const auto shape = routing::parse_tree(kTree);
  if (!shape) return std::unexpected(shape.error());
  const auto sets = draw_sets(routing::build_tree(*shape), kRandomSetNodes, 1, kRandomSetsSeed);
  Headline headline;
  for (const Method method : {Method::conventional, Method::colouring}) {
    const auto one = speed(sets.front(), method, part_of_it(parameters), parameters);
    if (!one) return std::unexpected(one.error());
    headline.emplace_back(to_string(method), *one);
  }
  return headline;
}

} // namespace heddle::tool
