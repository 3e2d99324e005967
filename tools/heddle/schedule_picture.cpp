#include "schedule_picture.hpp"

#include "base/refusal.hpp"
#include "base/size_text.hpp"
#include "svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace heddle::tool {
namespace {

using schedule::Placement;
using schedule::Schedule;

std::size_t engines_of(const Schedule& schedule) {
  std::size_t engines = 4;
  for (const Placement& placement : schedule.placements)
    engines = std::max<std::size_t>(engines, placement.send_engine + 1U);
  return engines;
}

// --- text ---

constexpr std::size_t kTextRows = 24;

// What an engine works on at a time, or nothing.
const PlannedPut* at_work(const PlanTask& task, const Schedule& schedule, std::size_t engine, double time, double step,
                          bool& begins) {
  for (std::size_t i = 0; i < task.puts.size(); ++i) {
    const Placement& placed = schedule.placements[i];
    if (placed.send_engine != engine || placed.start_ns > time || placed.end_ns <= time) continue;
    begins = placed.start_ns > time - step;
    return &task.puts[i];
  }
  return nullptr;
}

// --- SVG ---

constexpr double kLeft = 80;
constexpr double kRight = 24;
constexpr double kTop = 44;
constexpr double kRow = 44;
constexpr double kScale = 34; // below the engines
constexpr double kHeading = 22;
constexpr double kLegendRow = 20;
constexpr std::size_t kMostRows = 96;

// Every name has a colour of its own; where there are more names than colours, none has.
class Colours {
 public:
  explicit Colours(std::span<const PlanTask> tasks) {
    for (const PlanTask& task : tasks)
      for (const PlannedPut& put : task.puts)
        if (numbers_.emplace(put.name, numbers_.size()).second) names_.push_back(&put);
  }
  [[nodiscard]] bool enough() const { return names_.size() <= kPalette.size(); }
  [[nodiscard]] const char* of(const PlannedPut& put) const {
    return enough() ? kPalette[numbers_.at(put.name)] : "#8fb3d9";
  }
  // White on dark grounds.
  [[nodiscard]] const char* ink_on(const PlannedPut& put) const {
    constexpr std::string_view kLight = "#c99700 #00a0b0 #e377c2 #9aa7b1 #8fb3d9 #e1574c";
    return kLight.find(of(put)) != std::string_view::npos ? "black" : "white";
  }
  // One for each name, in the order of the puts.
  [[nodiscard]] const std::vector<const PlannedPut*>& names() const { return names_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<const PlannedPut*> names_;
};

std::string bar(const PlannedPut& put, const Placement& placed, const Colours& colours, double points_per_ns,
                double y) {
  const double x = kLeft + placed.start_ns * points_per_ns;
  const double width = (placed.end_ns - placed.start_ns) * points_per_ns;
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\" stroke=\"white\">"
      "<title>{}, {}, {:.2f} to {:.2f} us</title></rect>\n",
      x, y + 3, width, kRow - 6, colours.of(put), svg_escaped(put.name), base::print_size(put.bytes),
      placed.start_ns / 1000, placed.end_ns / 1000);
  const std::string ink = fmt::format("<g fill=\"{}\">", colours.ink_on(put));
  const double middle = x + width / 2;
  const std::string& longest = text_width(put.name) + 6 <= width ? put.name : put.brief;
  if (text_width(longest) + 4 <= width)
    svg += ink + svg_text(middle, y + kRow / 2 + 4, "middle", longest) + "</g>\n";
  else if (width >= kFont + 2 && text_width(put.brief) + 4 <= kRow - 6)
    svg += ink + svg_text_upwards(middle + 4, y + kRow / 2, put.brief) + "</g>\n";
  return svg;
}

std::string scale(double end_us, double points_per_us, double y) {
  std::string svg;
  const Axis axis = axis_for(end_us);
  for (int i = 0; i * axis.step <= end_us; ++i) {
    const double x = kLeft + i * axis.step * points_per_us;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}v5\" stroke=\"#333\"/>\n", x, y);
    svg += svg_text(x, y + 18, "middle", mark_text(i * axis.step) + (i == 0 ? " us" : ""));
  }
  return svg + fmt::format("<path d=\"M{} {:.1f}H{}\" stroke=\"#333\"/>\n", kLeft, y, kPictureWidth - kRight);
}

// Names that a bar may only show in brief. Sets the height that it takes.
std::string legend(const Colours& colours, double y, double& height) {
  height = 0;
  if (!colours.enough()) return "";
  std::string svg;
  double x = kLeft;
  height = kLegendRow;
  for (const PlannedPut* put : colours.names()) {
    const bool says_itself = put->name.ends_with(put->brief); // "to 5"
    const std::string text = says_itself ? put->name : fmt::format("{} {}", put->brief, put->name);
    const double width = 18 + text_width(text) + 16;
    if (x + width > kPictureWidth && x > kLeft) {
      x = kLeft;
      height += kLegendRow;
    }
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, y + height - 16,
                       colours.of(*put));
    svg += svg_text(x + 18, y + height - 6, "start", text);
    x += width;
  }
  return svg;
}

} // namespace

std::string schedule_text(const PlanTask& task, const Schedule& schedule) {
  const std::size_t engines = engines_of(schedule);
  std::string text = fmt::format("{:>9} ", "us");
  for (std::size_t engine = 0; engine < engines; ++engine) text += fmt::format(" engine {:<5}", engine);
  text += '\n';
  const double step = schedule.makespan_ns / kTextRows;
  for (std::size_t row = 0; row < kTextRows; ++row) {
    const double time = (static_cast<double>(row) + 0.5) * step;
    text += fmt::format("{:>9.2f} ", static_cast<double>(row) * step / 1000);
    for (std::size_t engine = 0; engine < engines; ++engine) {
      bool begins = false;
      const PlannedPut* put = at_work(task, schedule, engine, time, step, begins);
      const std::string name = put == nullptr ? "." : put->brief;
      const char* mark = put != nullptr && begins ? "==" : "";
      text += fmt::format(" {:<12}", fmt::format("{}{}{}", mark, name, mark));
    }
    text += '\n';
  }
  return text;
}

Result<std::string> schedules_svg(std::span<const PlanTask> tasks, std::span<const Schedule> schedules,
                                  std::string_view title) {
  std::size_t rows = 0;
  double end_ns = 1;
  for (const Schedule& schedule : schedules) {
    rows += engines_of(schedule);
    end_ns = std::max(end_ns, schedule.makespan_ns);
  }
  if (rows > kMostRows)
    return refuse(
        fmt::format("engines of {} processes are too many to draw: {} engines at most", tasks.size(), kMostRows));
  const Colours colours(tasks);
  const double points_per_ns = (kPictureWidth - kLeft - kRight) / end_ns;
  std::string svg;
  double y = kTop;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].process.empty()) svg += svg_text(kLeft, (y += kHeading) - 6, "start", tasks[i].process);
    for (std::size_t engine = 0; engine < engines_of(schedules[i]); ++engine)
      svg += svg_text(kLeft - 8, y + kRow * (static_cast<double>(engine) + 0.5) + 4, "end",
                      fmt::format("engine {}", engine));
    for (std::size_t put = 0; put < tasks[i].puts.size(); ++put) {
      const Placement& placed = schedules[i].placements[put];
      svg += bar(tasks[i].puts[put], placed, colours, points_per_ns, y + kRow * placed.send_engine);
    }
    y += kRow * static_cast<double>(engines_of(schedules[i]));
  }
  svg += scale(end_ns / 1000, points_per_ns * 1000, y);
  double names = 0;
  svg += legend(colours, y + kScale, names);
  return svg_begin(kPictureWidth, y + kScale + names, title) + svg + "</svg>\n";
}

} // namespace heddle::tool
