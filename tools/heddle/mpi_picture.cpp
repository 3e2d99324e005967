// The comparison of MPI programs as bars: of each program its MPI's own transport and Heddle, computing below and waiting above, as multiples of the
// time on the own transport. A thin line spans all rounds.
#include "mpi_compare.hpp"
#include "svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace heddle::tool {
namespace {

constexpr double kBarWidth = 30;
constexpr double kGroupWidth = 110;
constexpr double kBarsLeft = 56;
constexpr double kBarsTop = 76;
constexpr double kBarsHeight = 260;
constexpr double kBarsBottom = 66;
constexpr double kLeastWidth = 640; // the legend's
constexpr std::array kBarNames{"own: computing", "own: waiting", "Heddle: computing", "Heddle: waiting"};
constexpr std::array kBarFills{"#4477aa", "#99bbdd", "#ee6677", "#f7b6be"};

struct Heights {
  double end = 1;
  [[nodiscard]] double down(double value) const { return kBarsTop + kBarsHeight * (1 - value / end); }
};

std::string bar_part(double x, double from, double to, const char* fill) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"{}\"/>\n", x, from,
                     kBarWidth, std::max(0.0, to - from), fill);
}

std::string one_bar(double x, const std::vector<Timed>& runs, double unit, const Heights& scale, std::size_t colour) {
  const double run = median_of(runs, &Timed::run) / unit;
  const double waiting = std::min(run, median_of(runs, &Timed::waiting) / unit);
  const auto [least, most] = std::ranges::minmax(runs, {}, &Timed::run);
  return bar_part(x, scale.down(run - waiting), scale.down(0), kBarFills[colour]) +
         bar_part(x, scale.down(run), scale.down(run - waiting), kBarFills[colour + 1]) +
         fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#333\"/>\n", x + kBarWidth / 2,
                     scale.down(least.run / unit), scale.down(most.run / unit));
}

std::string short_name(const std::string& name) {
  constexpr std::size_t kMost = 16; // letters that fit below a group
  return name.size() <= kMost ? name : name.substr(0, kMost - 2) + "..";
}

} // namespace

std::string to_svg(std::string_view title, const std::vector<Compared>& all) {
  const double width = std::max(kLeastWidth, kBarsLeft + kGroupWidth * static_cast<double>(all.size()) + 24);
  double largest = 1;
  for (const Compared& each : all) {
    const double unit = median_of(each.own, &Timed::run);
    for (const auto* runs : {&each.own, &each.heddle})
      for (const Timed& run : *runs) largest = std::max(largest, run.run / unit);
  }
  const double step = largest <= 2 ? 0.25 : std::ceil(largest / 8);
  const Heights scale{.end = std::ceil(largest * 1.02 / step) * step};
  std::string svg = svg_begin(width, kBarsTop + kBarsHeight + kBarsBottom, title);
  double legend = kBarsLeft;
  for (std::size_t i = 0; i < kBarNames.size(); ++i) {
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"38\" width=\"14\" height=\"12\" fill=\"{}\"/>\n", legend, kBarFills[i]);
    svg += svg_text(legend + 20, 49, "start", kBarNames[i]);
    legend += 144;
  }
  svg += svg_text(8, kBarsTop - 10, "start", "run time, own = 1");
  for (double value = 0; value <= scale.end * 1.0001; value += step) {
    svg += fmt::format("<path d=\"M{} {:.1f}H{:.1f}\" stroke=\"{}\"/>\n", kBarsLeft, scale.down(value), width - 16,
                       value == 0 ? "#333" : "#ddd");
    svg += svg_text(kBarsLeft - 6, scale.down(value) + 4, "end", fmt::format("{:g}", value));
  }
  double x = kBarsLeft;
  for (const Compared& each : all) {
    const double unit = median_of(each.own, &Timed::run);
    svg += one_bar(x + kGroupWidth / 2 - kBarWidth - 3, each.own, unit, scale, 0);
    svg += one_bar(x + kGroupWidth / 2 + 3, each.heddle, unit, scale, 2);
    svg += svg_text(x + kGroupWidth / 2, kBarsTop + kBarsHeight + 18, "middle", short_name(each.name));
    svg += svg_text(x + kGroupWidth / 2, kBarsTop + kBarsHeight + 34, "middle", fmt::format("{:.3g} s", unit));
    svg += svg_text(x + kGroupWidth / 2, kBarsTop + kBarsHeight + 50, "middle",
                    fmt::format("{:+.1f} %", 100 * (ratio_of(each, &Timed::run) - 1)));
    x += kGroupWidth;
  }
  return svg + "</svg>\n";
}

} // namespace heddle::tool
