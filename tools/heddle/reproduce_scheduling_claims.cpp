// What the report on RDMA scheduling says of its figures, beside ours: times, rates, overheads, ratios; and its charts.
#include "reproduce_scheduling.hpp"

#include "halo_on_tofu.hpp"
#include "schedule/algorithms.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace heddle::tool::scheduling {
namespace {

// What the text says of k = 872, in us. Of bottom-left-seeded it says nothing: that is its idea for small puts, which it did not try.
std::optional<double> reported(int figure, std::string_view method) {
  const bool packed = method.starts_with("bottom-left") && method != "bottom-left-seeded";
  if (figure == 4 && (packed || method == "round-robin-2" || method == "round-robin-4")) return 72;
  if (figure == 6 && packed) return 74;
  if (figure == 6 && method == "round-robin-2") return 108;
  if (figure == 6 && method == "round-robin-4") return 64;
  if (figure == 8 && method == "bottom-left-4") return 86;
  return std::nullopt;
}

// How far the plan that shares links is from what no plan can beat, both as planned.
Result<void> add_distance_to_bound(Reproduction& all, const PlottedPattern& figure, const Run& run) {
  for (const std::uint32_t k : kGridSizes) {
    const auto puts = scale_les3(k, figure.directions);
    if (!puts) return std::unexpected(puts.error());
    const auto problem = halo_on_tofu(*puts, run.parameters.fabric(kFabric));
    if (!problem) return std::unexpected(problem.error());
    all.figures.push_back({fmt::format("scheduling/{}/{}/sharing_to_bound", figure.name, k), std::nullopt,
                           schedule::sharing(*problem).makespan_ns / schedule::lower_bound_ns(*problem), "times"});
  }
  return {};
}

// What the text reads off where its curves begin.
std::optional<double> reported_overhead(int figure) {
  if (figure == 4 || figure == 6) return 18;
  if (figure == 8) return 23;
  return std::nullopt;
}

// An overhead; and what would be left of the report's for its two barriers if all else took as long as here: were barriers all the
// difference, that would be the same for every pattern.
void add_overhead(Reproduction& all, const PlottedPattern& figure, Times& times, double barriers) {
  const auto theirs = reported_overhead(figure.number);
  if (!theirs) return;
  const std::string id = fmt::format("scheduling/{}/overhead", figure.name);
  const double start = times["bottom-left-4"][kSmallestGrid];
  all.figures.push_back({id, theirs, start, "us"});
  all.figures.push_back({id + "/barriers", {}, barriers, "us"});
  all.figures.push_back({id + "/left_for_barriers_of_report", {}, *theirs - (start - barriers), "us", Kind::contrast});
}

// What the text makes of its curves: a rate. Ours is that of the bytes which the largest grid has more than the smallest; the text
// sometimes takes all bytes and leaves the overhead out.
void add_rates(Reproduction& all, const PlottedPattern& figure, Times& times) {
  const std::string id = fmt::format("scheduling/{}/", figure.name);
  constexpr double kBytesMore = 224'256 - 16'384; // each way, on every straight link
  const auto gb_s = [&](std::string_view method) {
    return kBytesMore / (times[method][kLargestGrid] - times[method][kSmallestGrid]) / 1000;
  };
  const double engine = gb_s("bottom-left-4");
  if (figure.number == 4) all.figures.push_back({id + "engine", 3.8, engine, "GB/s"});
  if (figure.number == 6) all.figures.push_back({id + "link", 4.8, gb_s("round-robin-4"), "GB/s"});
  if (figure.number == 6) all.figures.push_back({id + "engine", 4.0, engine, "GB/s", Kind::fitted});
  if (figure.number == 8) all.figures.push_back({id + "engine", 3.5, engine, "GB/s", Kind::fitted});
}

// Figures 13 and 14, of small puts: what a further engine's queue costs, and what comes of planning with it.
void add_small(Reproduction& all, const PlottedPattern& figure, const Run& run, Times& times) {
  const std::string id = fmt::format("scheduling/{}/", figure.name);
  const auto problem = halo_on_tofu({}, run.parameters.fabric(kFabric));
  if (problem) all.figures.push_back({id + "queue", 1.0, problem->resources.queue_ns / 1000, "us", Kind::input});
  for (const std::string_view method : {"bottom-left-seeded", "sharing"})
    all.figures.push_back({id + fmt::format("{}/{}_to_bottom-left-4", kSmallestGrid, method), std::nullopt,
                           times[method][kSmallestGrid] / times["bottom-left-4"][kSmallestGrid], "times"});
}

// From which figure a parameter of the model was made.
Kind kind_of(int figure, std::string_view method) {
  const bool engine = figure == 6 && method.starts_with("bottom-left"); // the seeded one, too: hardly anything else
  const bool node = figure == 8 && method == "bottom-left-4";
  return engine || node ? Kind::fitted : Kind::predicted;
}

void add_ratios(Reproduction& all, const PlottedPattern& figure, Times& times) {
  const std::string id = fmt::format("scheduling/{}/", figure.name);
  // What planning messages gains, all else alike. The report has no such figure.
  for (const std::uint32_t k : kGridSizes)
    all.figures.push_back({fmt::format("{}{}/orig-planned_to_orig", id, k),
                           {},
                           times[kOriginalPlanned][k] / times[kOriginal][k],
                           "times"});
  // Without what does not depend on the size.
  const auto net = [&](std::string_view method) { return times[method][kLargestGrid] - times[method][kSmallestGrid]; };
  if (figure.number == 4)
    all.figures.push_back({id + "net/round-robin-1_to_2", 2.0, net("round-robin-1") / net("round-robin-2"), "times"});
  if (figure.number == 6) {
    all.figures.push_back({id + "net/round-robin-2_to_4", 2.0, net("round-robin-2") / net("round-robin-4"), "times"});
    all.figures.push_back(
        {id + "net/round-robin-1_to_bottom-left", 2.0, net("round-robin-1") / net("bottom-left-4"), "times"});
  }
  if (figure.number == 8 || figure.number == 12) {
    const auto to_planned = [&](std::string_view method) {
      return times[method][kLargestGrid] / times["bottom-left-4"][kLargestGrid];
    };
    all.figures.push_back(
        {id + fmt::format("{}/orig_to_bottom-left-4", kLargestGrid), 2.0, to_planned(kOriginal), "times"});
    // The report's library planned nothing and cut nothing, so that nothing of it is to come near these.
    for (const std::string_view method : {kOriginalPlanned, kOriginalDefault})
      all.figures.push_back({id + fmt::format("{}/{}_to_bottom-left-4", kLargestGrid, method), 2.0, to_planned(method),
                             "times", Kind::contrast});
  }
}

// Values that the text states, each under the names of all methods that share it.
void add_reported_points(Chart& chart, const PlottedPattern& figure) {
  std::map<double, std::vector<std::string_view>> methods;
  for (const std::string_view method : kMethods)
    if (const auto value = reported(figure.number, method)) methods[*value].push_back(method);
  for (const auto& [value, names] : methods) {
    std::string name(names.front());
    if (names.size() > 1) name = names.front() == "bottom-left-1" ? "bottom-left" : "all but round-robin-1";
    chart.series.push_back({.name = std::move(name), .points = {{kLargestGrid, value}}, .reported = true});
  }
}

// Of the grids up to this one.
Chart chart_of(const PlottedPattern& figure, Times& times, std::uint32_t largest) {
  Chart chart{.file = fmt::format("scheduling-{}", figure.name),
              .title = fmt::format("Halo exchange, {} (figure {})", figure.name, figure.number),
              .x_name = "vertical grid points k",
              .y_name = "us per exchange"};
  for (const std::string_view method : kMethods) {
    Series& series = chart.series.emplace_back(Series{.name = std::string(method)});
    for (const std::uint32_t k : kGridSizes)
      if (k <= largest) series.points.emplace_back(k, times[method][k]);
  }
  return chart;
}

void add_charts(Reproduction& all, const PlottedPattern& figure, Times& times) {
  Chart chart = chart_of(figure, times, kLargestGrid);
  add_reported_points(chart, figure);
  all.charts.push_back(std::move(chart));
  if (figure.number != 10) return;
  constexpr std::uint32_t kMostOfSmall = 109;
  Chart small = chart_of(figure, times, kMostOfSmall);
  small.file += "-small";
  double least = small.series.front().points.front().second;
  for (const Series& series : small.series)
    for (const auto& [k, us] : series.points) least = std::min(least, us);
  small.y_from = std::floor(least / 5) * 5;
  small.y_name = fmt::format("us per exchange, from {:g} on", small.y_from);
  small.title = "Halo exchange, diagonal, small puts (figure 13; bottom-left-seeded is figure 14's idea)";
  all.charts.push_back(std::move(small));
}

void add_times(Reproduction& all, const PlottedPattern& figure, Times& times) {
  for (const std::string_view method : kMethods)
    for (const std::uint32_t k : kGridSizes)
      all.figures.push_back({fmt::format("scheduling/{}/{}/{}", figure.name, k, method),
                             k == kLargestGrid ? reported(figure.number, method) : std::nullopt, times[method][k], "us",
                             k == kLargestGrid ? kind_of(figure.number, method) : Kind::predicted});
}

} // namespace

Result<void> add_pattern(Reproduction& all, const PlottedPattern& figure, const Run& run, Times& times,
                         double barriers) {
  add_times(all, figure, times);
  add_charts(all, figure, times);
  add_ratios(all, figure, times);
  add_orders(all, figure, times);
  add_overhead(all, figure, times, barriers);
  add_rates(all, figure, times);
  if (figure.number == 10) add_small(all, figure, run, times);
  return add_distance_to_bound(all, figure, run);
}

} // namespace heddle::tool::scheduling
