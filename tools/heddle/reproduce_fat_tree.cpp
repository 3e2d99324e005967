// The two reports on all-to-all over fat-tree InfiniBand: 30 nodes on a 6-ary-2-tree, 1,000 random sets of 16 of them, and nodes
// in a row. Theirs are measurements, ours the model of src/routing/alltoall_model.hpp; for some of the sets, packets, too
// (reproduce_fat_tree_packets.cpp). LIDs are those of the report's rule, base LIDs by root 0; the methods choose roots, so that no
// figure depends on it.
#include "reproduce.hpp"

#include "routing/subnet_text.hpp"
#include "sweep.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace heddle::tool {
namespace {

using routing::Method;

constexpr std::uint32_t kSets = 1000;
// How often they are drawn, by seeds that follow each other: the worst of one drawing is now 740, now 863 MB/s.
constexpr std::uint32_t kDrawings = 20;
constexpr std::string_view kReportTree = "6-ary-2-tree:30,lids=report";
constexpr double kGoodSpeed = 1500;

// What the reports say of one method's random sets.
struct Reported {
  std::optional<double> average, best, worst, above, free;
};

constexpr double kSpeedTolerance = 0.05;

// Of a count of so many of kSets: three standard deviations of the difference of two drawings, theirs and ours, since nobody knows
// which sets they drew.
double count_tolerance(std::optional<double> count) {
  if (!count || *count == 0 || *count == kSets) return 0;
  const double share = *count / kSets;
  return 3 * std::sqrt(2 * kSets * share * (1 - share)) / *count;
}

Reported reported(Method method) {
  switch (method) {
    case Method::conventional: return {1198, 1690, 888, 20, {}};
    case Method::node: return {1607, 1716, 1265, 732, {}};
    case Method::pair: return {{}, {}, {}, {}, kSets}; // "can avoid a hot-spot occurrence at any time"
    case Method::colouring: return {};
  }
  return {};
}

// One drawing of kSets; and of what it has a figure of each, over all drawings.
using Drawing = std::vector<SweepResult>; // by method
struct Spread {
  double average = 0;
  double deviation = 0; // of one drawing
};
template <typename FigureOf>
Spread spread_of(const std::vector<Drawing>& drawings, FigureOf figure_of) {
  std::vector<double> values;
  for (const Drawing& drawing : drawings) values.push_back(figure_of(drawing));
  return {statistics_of(values).average, standard_error(values) * std::sqrt(static_cast<double>(values.size()))};
}

void add_random_curves(Reproduction& all, const Drawing& first) {
  Chart chart{.file = "fat-tree-random16",
              .title = fmt::format("All-to-all on 1,000 random sets of 16 of 30 nodes (000, figure 9), first of {} "
                                   "drawings",
                                   kDrawings),
              .x_name = "sets, slowest first",
              .y_name = "MB/s per node"};
  for (const SweepResult& result : first) {
    std::vector<double> sorted = result.mb_s;
    std::ranges::sort(sorted);
    Series& series = chart.series.emplace_back(Series{.name = std::string(to_string(result.method))});
    for (std::size_t i = 0; i < sorted.size(); ++i) series.points.emplace_back(static_cast<double>(i + 1), sorted[i]);
  }
  // The report's curves by what its text says of them: the worst, how many are above 1,500 MB/s, the best.
  for (const Method method : {Method::conventional, Method::node}) {
    const Reported theirs = reported(method);
    const std::string name(to_string(method));
    chart.series.push_back({.name = name, .points = {{1, *theirs.worst}, {kSets, *theirs.best}}, .reported = true});
    chart.series.push_back({.name = name,
                            .points = {{kSets - *theirs.above, kGoodSpeed}},
                            .reported = true,
                            .said = fmt::format("{}: {} above {}", name, *theirs.above, kGoodSpeed)});
  }
  all.charts.push_back(std::move(chart));
}

void add_random_sets(Reproduction& all, const std::vector<Drawing>& drawings) {
  for (std::size_t m = 0; m < drawings.front().size(); ++m) {
    const Method method = drawings.front()[m].method;
    const std::string id = fmt::format("fat-tree/random16/{}/", to_string(method));
    const Reported theirs = reported(method);
    const auto speed = [&](const char* what, std::optional<double> reported, double Statistics::* value, Kind kind) {
      const Spread ours = spread_of(drawings, [&](const Drawing& each) { return statistics_of(each[m].mb_s).*value; });
      all.figures.push_back({.id = id + what,
                             .report = reported,
                             .ours = ours.average,
                             .unit = "MB/s",
                             .kind = kind,
                             .tolerance = kSpeedTolerance,
                             .error = ours.deviation}); // theirs is one drawing
    };
    const bool link = method == Method::node; // its best figure is what the link's rate was made from
    speed("average", theirs.average, &Statistics::average, Kind::predicted);
    speed("best", theirs.best, &Statistics::best, link ? Kind::fitted : Kind::predicted);
    speed("worst", theirs.worst, &Statistics::worst, Kind::predicted);
    const auto count = [&](const char* what, std::optional<double> reported, auto count_of) {
      all.figures.push_back(
          {.id = id + what,
           .report = reported,
           .ours = spread_of(drawings, [&](const Drawing& each) { return count_of(each[m]); }).average,
           .unit = "sets",
           .tolerance = count_tolerance(reported),
           .is_count = true});
    };
    count("above_1500", theirs.above, [](const SweepResult& result) {
      return static_cast<double>(std::ranges::count_if(result.mb_s, [](double value) { return value > kGoodSpeed; }));
    });
    count("hot_spot_free", theirs.free, [](const SweepResult& result) { return double{1} * result.hot_spot_free; });
  }
  const Spread gain = spread_of(drawings, [](const Drawing& each) {
    return statistics_of(each[1].mb_s).average / statistics_of(each[0].mb_s).average;
  });
  all.figures.push_back({"fat-tree/random16/node/gain", 1.34, gain.average, "times"});
  add_random_curves(all, drawings.front());
}

Result<routing::Subnet> subnet_of_report() {
  const auto text = routing::parse_subnet(kReportTree);
  if (!text) return std::unexpected(text.error());
  return routing::open_subnet(*text);
}

Result<Drawing> random_sets(const routing::Subnet& subnet, const Parameters& parameters, std::uint32_t sets,
                            std::uint64_t seed = kRandomSetsSeed) {
  return sweep(subnet, {.pick = kRandomSetNodes,
                        .sets = sets,
                        .seed = seed,
                        .methods = {routing::kMethods.begin(), routing::kMethods.end()},
                        .machine = parameters.machine()});
}

Result<void> add_random(Reproduction& all, const Run& run) {
  const auto subnet = subnet_of_report();
  if (!subnet) return std::unexpected(subnet.error());
  std::vector<Drawing> drawings;
  for (std::uint32_t i = 0; i < kDrawings; ++i) {
    auto one = random_sets(*subnet, run.parameters, kSets, kRandomSetsSeed + i);
    if (!one) return std::unexpected(one.error());
    drawings.push_back(std::move(*one));
  }
  add_random_sets(all, drawings);
  return {};
}

Result<routing::AlltoallSpeed> speed_in_a_row(const routing::Subnet& subnet, std::uint32_t n, Method method,
                                              const Parameters& parameters) {
  std::vector<routing::HostIndex> hosts(n);
  std::iota(hosts.begin(), hosts.end(), 0U);
  const auto job = routing::make_job(subnet.fabric, hosts);
  if (!job) return std::unexpected(job.error());
  return speed_of(subnet, *job, method, parameters.machine());
}

// "18 % below the average of random sets", which the per-node method has.
Result<void> add_below_random(Reproduction& all, const routing::Subnet& subnet, const Run& run) {
  const auto results = random_sets(subnet, run.parameters, kSets);
  if (!results) return std::unexpected(results.error());
  const auto row = speed_in_a_row(subnet, 16, Method::node, run.parameters);
  if (!row) return std::unexpected(row.error());
  const double average = statistics_of((*results)[1].mb_s).average;
  constexpr double kTheirs = 18;
  // As far as a ratio of two speeds that are within kSpeedTolerance.
  const double tolerance = kSpeedTolerance * (100 - kTheirs) / kTheirs;
  all.figures.push_back({"fat-tree/contiguous/16/below_random", kTheirs, 100 * (1 - row->mb_s / average), "%",
                         Kind::predicted, tolerance});
  return {};
}

Result<void> add_nodes_in_a_row(Reproduction& all, const Run& run) {
  const auto subnet = subnet_of_report();
  if (!subnet) return std::unexpected(subnet.error());
  Chart chart{.file = "fat-tree-contiguous",
              .title = "All-to-all on nodes 0 to n-1 (000, figure 10)",
              .x_name = "nodes n",
              .y_name = "MB/s per node"};
  for (const Method method : routing::kMethods) {
    const std::string id = fmt::format("fat-tree/contiguous/{}/", to_string(method));
    const bool measured = method == Method::conventional || method == Method::node;
    Series& series = chart.series.emplace_back(Series{.name = std::string(to_string(method))});
    double at_full_speed = 0;
    for (std::uint32_t n = 3; n <= 30; ++n) {
      const auto speed = speed_in_a_row(*subnet, n, method, run.parameters);
      if (!speed) return std::unexpected(speed.error());
      series.points.emplace_back(n, speed->mb_s);
      at_full_speed += speed->hot_spot_free ? 1 : 0;
      if (n == 16)
        all.figures.push_back({id + "16", measured ? std::optional(1310.0) : std::nullopt, speed->mb_s, "MB/s",
                               Kind::predicted, kSpeedTolerance});
    }
    // Up to 12, and 18, 24, 30: thirteen of the sizes from 3 on.
    all.figures.push_back({.id = id + "sizes_at_full_speed",
                           .report = measured ? std::optional(13.0) : std::nullopt,
                           .ours = at_full_speed,
                           .unit = "sizes",
                           .tolerance = 0,
                           .is_count = true});
  }
  chart.series.push_back({.name = "conventional and node", .points = {{16, 1310}}, .reported = true});
  all.charts.push_back(std::move(chart));
  return add_below_random(all, *subnet, run);
}

} // namespace

std::vector<Part> fat_tree_parts() {
  std::vector<Part> parts{
      {{"fat-tree/random16"}, "All-to-all on random sets of 16 of 30 nodes", {"fat-tree"}, add_random},
      {{"fat-tree/contiguous"}, "All-to-all on nodes in a row", {"fat-tree"}, add_nodes_in_a_row},
      {{"fat-tree/packets"},
       "All-to-all on random sets, in packets",
       {"fat-tree", "packets", "infiniband", "library"},
       add_fat_tree_packets,
       "",
       {"library.ring_bytes"}},
      {{"fat-tree/packets-contiguous"},
       "All-to-all on nodes in a row, in packets",
       {"packets", "infiniband", "library"},
       add_fat_tree_packets_in_a_row,
       "",
       {"library.ring_bytes"}}};
  std::ranges::move(ring_parts(), std::back_inserter(parts));
  return parts;
}

Result<Headline> fat_tree_headline(const Parameters& parameters) {
  constexpr std::uint32_t kFew = 100;
  const auto subnet = subnet_of_report();
  if (!subnet) return std::unexpected(subnet.error());
  const auto results = random_sets(*subnet, parameters, kFew);
  if (!results) return std::unexpected(results.error());
  Headline headline;
  for (const SweepResult& result : *results)
    headline.emplace_back(to_string(result.method), statistics_of(result.mb_s).average);
  return headline;
}

} // namespace heddle::tool
