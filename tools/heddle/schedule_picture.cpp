#include "schedule_picture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace heddle::tool {
namespace {

using schedule::Placement;
using schedule::Schedule;

constexpr std::size_t kRows = 24;

// By direction; told apart by colour-blind readers.
constexpr std::array<const char*, kDirections> kColoursOfDirections{"#ee6677", "#4477aa", "#228833", "#ccbb44",
                                                                    "#66ccee", "#aa3377", "#ee8866", "#bbbbbb"};
constexpr std::array<const char*, kDirections> kShort{"E", "W", "N", "S", "NW", "SE", "NE", "SW"};

std::size_t index_of(Direction direction) {
  return static_cast<std::size_t>(direction);
}

std::size_t engines_of(const Schedule& schedule) {
  std::size_t engines = 4;
  for (const Placement& placement : schedule.placements)
    engines = std::max<std::size_t>(engines, placement.send_engine + 1U);
  return engines;
}

// What an engine works on at a time: the request's number, or nothing.
const HaloPut* at_work(const std::vector<HaloPut>& puts, const Schedule& schedule, std::size_t engine, double time,
                       bool& begins, double step) {
  for (std::size_t i = 0; i < puts.size(); ++i) {
    const Placement& placed = schedule.placements[i];
    if (placed.send_engine != engine || placed.start_ns > time || placed.end_ns <= time) continue;
    begins = placed.start_ns > time - step;
    return &puts[i];
  }
  return nullptr;
}

} // namespace

std::string schedule_text(const std::vector<HaloPut>& puts, const Schedule& schedule) {
  const std::size_t engines = engines_of(schedule);
  std::string text = fmt::format("{:>9} ", "us");
  for (std::size_t engine = 0; engine < engines; ++engine) text += fmt::format(" engine {:<5}", engine);
  text += '\n';
  const double step = schedule.makespan_ns / kRows;
  for (std::size_t row = 0; row < kRows; ++row) {
    const double time = (static_cast<double>(row) + 0.5) * step;
    text += fmt::format("{:>9.2f} ", static_cast<double>(row) * step / 1000);
    for (std::size_t engine = 0; engine < engines; ++engine) {
      bool begins = false;
      const HaloPut* put = at_work(puts, schedule, engine, time, begins, step);
      const char* name = put == nullptr ? "." : kShort[index_of(put->direction)];
      const char* mark = put == nullptr ? "" : begins ? "==" : "";
      text += fmt::format(" {:<12}", fmt::format("{}{}{}", mark, name, mark));
    }
    text += '\n';
  }
  return text;
}

std::string schedule_svg(const std::vector<HaloPut>& puts, const Schedule& schedule, const std::string& title) {
  constexpr double kLeft = 64;
  constexpr double kTop = 64;
  constexpr double kColumn = 120;
  constexpr double kHeight = 420;
  const auto engines = static_cast<double>(engines_of(schedule));
  const double width = kLeft + engines * kColumn + 150;
  const double scale = kHeight / std::max(schedule.makespan_ns, 1.0);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"16\">{3}</text>\n",
      width, kTop + kHeight + 32, kLeft, title);
  for (double engine = 0; engine < engines; ++engine)
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">engine {}</text>\n",
                       kLeft + (engine + 0.5) * kColumn, kTop - 10, engine);
  for (int mark = 0; mark <= 4; ++mark)
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.1f}</text>\n", kLeft - 8,
                       kTop + kHeight * mark / 4 + 4, schedule.makespan_ns * mark / 4000);
  svg += fmt::format("<text x=\"8\" y=\"{}\">us</text>\n", kTop - 10);
  for (std::size_t i = 0; i < puts.size(); ++i) {
    const Placement& placed = schedule.placements[i];
    const std::size_t direction = index_of(puts[i].direction);
    const double y = kTop + placed.start_ns * scale;
    const double height = (placed.end_ns - placed.start_ns) * scale;
    const double x = kLeft + placed.send_engine * kColumn;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#333\"/>\n",
                       x, y, kColumn, height, kColoursOfDirections[direction]);
    if (height > 12)
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x + kColumn / 2,
                         y + height / 2 + 4, kShort[direction]);
  }
  for (std::size_t direction = 0; direction < kDirections; ++direction) {
    const double y = kTop + 22 * static_cast<double>(direction);
    const double x = kLeft + engines * kColumn + 20;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"14\" fill=\"{}\"/>\n", x, y,
                       kColoursOfDirections[direction]);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 22, y + 12,
                       to_string(static_cast<Direction>(direction)));
  }
  return svg + "</svg>\n";
}

} // namespace heddle::tool
