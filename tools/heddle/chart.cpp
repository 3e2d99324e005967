#include "chart.hpp"

#include "svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

namespace heddle::tool {
namespace {

constexpr double kHeight = 480;
constexpr double kTop = 72;
constexpr double kBottom = kHeight - 56;
constexpr double kLabelGap = 56; // between the end of the axis and the names of lines: a piece of the line stands there
constexpr double kSample = 30;
constexpr double kLabelStep = 15;
constexpr std::size_t kMostMarked = 24; // points of a line that get a mark each

// Where values come to lie.
class Frame {
 public:
  explicit Frame(const Chart& chart) {
    double most_x = 0;
    double most_y = 0;
    double widest = 0;
    for (const Series& series : chart.series) {
      if (!series.reported) widest = std::max(widest, text_width(series.name));
      for (const auto& [x, y] : series.points) {
        most_x = std::max(most_x, x);
        most_y = std::max(most_y, y);
        values_.insert(x);
      }
    }
    x_ = axis_for(most_x);
    y_ = axis_for(most_y);
    left_ = 16 + text_width(mark_text(y_.end)) + 12;
    right_ = kPictureWidth - kLabelGap - widest - 12;
    const auto is_power = [](double value) {
      return value >= 1 && value < 1e15 && value == std::floor(value) &&
             std::has_single_bit(static_cast<std::uint64_t>(value));
    };
    doubling_ = values_.size() > 3 && std::ranges::all_of(values_, is_power);
  }

  [[nodiscard]] double left() const { return left_; }
  [[nodiscard]] double right() const { return right_; }
  [[nodiscard]] double across(double value) const {
    const double share = doubling_
                             ? std::log2(value / *values_.begin()) / std::log2(*values_.rbegin() / *values_.begin())
                             : value / x_.end;
    return left_ + share * (right_ - left_);
  }
  [[nodiscard]] double down(double value) const { return kBottom - value / y_.end * (kBottom - kTop); }

  [[nodiscard]] std::string axes(const Chart& chart) const {
    std::string svg;
    for (int i = 0; i * y_.step <= y_.end * 1.0001; ++i) {
      const double y = down(i * y_.step);
      svg += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>\n", left_, y, right_);
      svg += svg_text(left_ - 8, y + 4, "end", mark_text(i * y_.step));
    }
    double free_from = 0; // a mark that would touch the one before has no number
    for (const double mark : marks()) {
      const double x = across(mark);
      const std::string text = mark_text(mark);
      svg += fmt::format("<path d=\"M{:.1f} {:.1f}v5\" stroke=\"#333\"/>\n", x, kBottom);
      if (x - text_width(text) / 2 < free_from) continue;
      svg += svg_text(x, kBottom + 18, "middle", text);
      free_from = x + text_width(text) / 2 + 6;
    }
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"#333\"/>\n", left_, kTop,
                       kBottom, right_);
    svg += svg_text((left_ + right_) / 2, kBottom + 40, "middle", chart.x_name);
    return svg + svg_text(16, kTop - 18, "start", chart.y_name);
  }

 private:
  [[nodiscard]] std::vector<double> marks() const {
    if (doubling_) return {values_.begin(), values_.end()};
    std::vector<double> marks;
    for (int i = 0; i * x_.step <= x_.end * 1.0001; ++i) marks.push_back(i * x_.step);
    return marks;
  }

  Axis x_;
  Axis y_;
  double left_ = 0;
  double right_ = 0;
  bool doubling_ = false;
  std::set<double> values_; // of x
};

// Marks of points, each of another shape, so that lines are told apart without colour.
std::string mark_at(double x, double y, std::size_t number, const std::string& colour) {
  constexpr std::array<const char*, 5> kShapes{"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "m-3 -3h6v6h-6z",
                                               "m0 -4l4 7h-8z", "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z", "m0 4l4 -7h-8z"};
  const bool hollow = number / kShapes.size() % 2 == 1;
  return fmt::format("<path d=\"M{:.1f} {:.1f}{}\" fill=\"{}\" stroke=\"{}\"/>\n", x, y,
                     kShapes[number % kShapes.size()], hollow ? "white" : colour, colour);
}

// What nobody takes for a line's mark.
std::string report_mark(double x, double y) {
  return fmt::format(
      "<path d=\"M{:.1f} {:.1f}m-6 -6l12 12m0 -12l-12 12\" stroke=\"black\" stroke-width=\"2.5\" fill=\"none\"/>\n", x,
      y);
}

std::string line_of(const Series& series, const Frame& frame, std::size_t number) {
  const std::string colour = colour_of(number);
  std::string points;
  for (const auto& [x, y] : series.points) points += fmt::format("{:.1f},{:.1f} ", frame.across(x), frame.down(y));
  if (!points.empty()) points.pop_back();
  std::string svg =
      fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
                  points, colour, kDashes[number % kDashes.size()]);
  if (series.points.size() <= kMostMarked)
    for (const auto& [x, y] : series.points) svg += mark_at(frame.across(x), frame.down(y), number, colour);
  return svg;
}

// A line's name beside its end, as near as others leave room.
struct Label {
  std::size_t number = 0; // of the series
  double end_x = 0;
  double end_y = 0;
  double y = 0; // of the name
};

// Moves names apart: downwards from the top, then back up from the bottom.
void spread(std::vector<Label>& labels) {
  std::ranges::stable_sort(labels, {}, &Label::y);
  const double above = kTop - 8;
  const double below = std::max(kBottom, above + kLabelStep * static_cast<double>(labels.size()));
  double free_from = above;
  for (Label& label : labels) {
    label.y = std::max(label.y, free_from);
    free_from = label.y + kLabelStep;
  }
  double free_to = below;
  for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
    label->y = std::min(label->y, free_to);
    free_to = label->y - kLabelStep;
  }
}

std::string labels_of(const Chart& chart, const Frame& frame, double& height) {
  std::vector<Label> labels;
  std::size_t number = 0;
  for (const Series& series : chart.series) {
    if (series.reported) continue;
    const auto [x, y] = series.points.empty() ? std::pair(0.0, 0.0) : series.points.back();
    labels.push_back({number++, frame.across(x), frame.down(y), frame.down(y)});
  }
  spread(labels);
  std::vector<const Series*> lines;
  for (const Series& series : chart.series)
    if (!series.reported) lines.push_back(&series);
  std::string svg;
  for (const Label& label : labels) {
    const std::string colour = colour_of(label.number);
    const double sample = frame.right() + kLabelGap - 6 - kSample;
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#999\" stroke-width=\"0.7\"/>\n", label.end_x,
                       label.end_y, sample, label.y);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h{}\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
                       sample, label.y, kSample, colour, kDashes[label.number % kDashes.size()]);
    if (lines[label.number]->points.size() <= kMostMarked)
      svg += mark_at(sample + kSample / 2, label.y, label.number, colour);
    svg += svg_text(frame.right() + kLabelGap, label.y + 4, "start", lines[label.number]->name);
    height = std::max(height, label.y + 20);
  }
  return svg;
}

} // namespace

std::string to_svg(const Chart& chart) {
  const Frame frame(chart);
  std::string svg = frame.axes(chart);
  double height = kHeight;
  svg += labels_of(chart, frame, height);
  std::size_t number = 0;
  for (const Series& series : chart.series)
    if (!series.reported) svg += line_of(series, frame, number++);
  bool reported = false;
  for (const Series& series : chart.series)
    if (series.reported)
      for (const auto& [x, y] : series.points) {
        svg += report_mark(frame.across(x), frame.down(y));
        reported = true;
      }
  if (reported) {
    const double x = frame.right() - text_width("the report's values");
    svg += report_mark(x - 14, kTop - 22) + svg_text(x, kTop - 18, "start", "the report's values");
  }
  return svg_begin(kPictureWidth, height, chart.title) + svg + "</svg>\n";
}

} // namespace heddle::tool
