// Which method is quicker than which, as the text of the report says it (003, 4.2 to 4.6) without a figure: a bound for each grid size.
#include "reproduce_scheduling.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>

namespace heddle::tool::scheduling {
namespace {

using Methods = std::span<const std::string_view>;
constexpr std::array<std::string_view, 3> kRoundRobin{"round-robin-1", "round-robin-2", "round-robin-4"};
constexpr std::array<std::string_view, 5> kAllButBottomLeft4{"round-robin-1", "round-robin-2", "round-robin-4",
                                                             "bottom-left-1", "bottom-left-2"};
constexpr std::array<std::string_view, 5> kAllButRoundRobin1{"round-robin-2", "round-robin-4", "bottom-left-1",
                                                             "bottom-left-2", "bottom-left-4"};
constexpr double kSame = 0.02; // "the same": as a curve shows it

struct Extremes {
  double quickest = std::numeric_limits<double>::max();
  double slowest = 0;
};
Extremes extremes_of(Methods methods, std::uint32_t k, Times& times) {
  Extremes extremes;
  for (const std::string_view method : methods) {
    extremes.quickest = std::min(extremes.quickest, times[method][k]);
    extremes.slowest = std::max(extremes.slowest, times[method][k]);
  }
  return extremes;
}

void add_below(Reproduction& all, std::string id, double quicker, double slower) {
  all.figures.push_back({.id = std::move(id), .report = {}, .ours = quicker / slower, .unit = "times", .below = 1.0});
}

} // namespace

void add_orders(Reproduction& all, const PlottedPattern& figure, Times& times) {
  for (const std::uint32_t k : kGridSizes) {
    const std::string id = fmt::format("scheduling/{}/order/{}/", figure.name, k);
    const auto pair = [&](std::string_view quicker, std::string_view slower) {
      add_below(all, fmt::format("{}{}_to_{}", id, quicker, slower), times[quicker][k], times[slower][k]);
    };
    const auto bottom_left_4_to_best_of = [&](const char* name, Methods methods) {
      add_below(all, fmt::format("{}bottom-left-4_to_best_of_{}", id, name), times["bottom-left-4"][k],
                extremes_of(methods, k, times).quickest);
    };
    if (figure.number == 4) {
      const Extremes others = extremes_of(kAllButRoundRobin1, k, times);
      all.figures.push_back({id + "slowest_to_quickest_of_others", 1.0, others.slowest / others.quickest, "times",
                             Kind::predicted, kSame});
      add_below(all, id + "others_to_round-robin-1", others.slowest, times["round-robin-1"][k]);
    }
    if (figure.number == 6) pair("round-robin-4", "bottom-left-4");
    if (figure.number == 8) bottom_left_4_to_best_of("round-robin", kRoundRobin);
    if (figure.number == 10) {
      pair("bottom-left-4", "bottom-left-2");
      pair("bottom-left-2", "round-robin-4");
      pair("round-robin-4", "round-robin-2");
    }
    if (figure.number == 12) bottom_left_4_to_best_of("others", kAllButBottomLeft4);
  }
}

} // namespace heddle::tool::scheduling
