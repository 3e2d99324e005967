#include "chart.hpp"

#include "svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace heddle::tool {
namespace {

constexpr double kHeight = 480;
constexpr double kTop = 72;
constexpr double kBottom = kHeight - 56;
constexpr double kLabelGap = 56; // between the end of the axis and the names of lines: a piece of the line stands there
constexpr double kSample = 30;
constexpr double kLabelStep = 15;
constexpr std::size_t kMarks = 12; // of a line at most, twice that where every point can have one

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
    y_from_ = chart.y_from;
    y_ = axis_for(most_y - y_from_);
    left_ = 16 + text_width(mark_text(y_from_ + y_.end)) + 12;
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
  [[nodiscard]] double down(double value) const { return kBottom - (value - y_from_) / y_.end * (kBottom - kTop); }

  [[nodiscard]] std::string axes(const Chart& chart) const {
    std::string svg;
    for (int i = 0; i * y_.step <= y_.end * 1.0001; ++i) {
      const double y = down(y_from_ + i * y_.step);
      svg += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>\n", left_, y, right_);
      svg += svg_text(left_ - 8, y + 4, "end", mark_text(y_from_ + i * y_.step));
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
  double y_from_ = 0;
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

// The same shape, large enough to have a cross in it.
std::string frame_at(double x, double y, std::size_t number, const std::string& colour) {
  constexpr std::array<const char*, 5> kShapes{"m-9 0a9 9 0 1 0 18 0a9 9 0 1 0 -18 0z", "m-8 -8h16v16h-16z",
                                               "m0 -12l11 19h-22z", "m0 -12l12 12l-12 12l-12 -12z",
                                               "m0 12l11 -19h-22z"};
  return fmt::format("<path d=\"M{:.1f} {:.1f}{}\" fill=\"white\" stroke=\"{}\" stroke-width=\"2\"/>\n", x, y,
                     kShapes[number % kShapes.size()], colour);
}

// What nobody takes for a line's mark.
constexpr double kReportMark = 9; // from the middle of it and its frame to the side
std::string report_mark(double x, double y) {
  return fmt::format(
      "<path d=\"M{:.1f} {:.1f}m-6 -6l12 12m0 -12l-12 12\" stroke=\"black\" stroke-width=\"2.5\" fill=\"none\"/>\n", x,
      y);
}

// Every n-th point of many, another one on each line, so that marks of lines that run together do not hide each other.
bool is_marked(std::size_t point, std::size_t points, std::size_t number) {
  if (points <= 2 * kMarks) return true;
  const std::size_t every = points / kMarks;
  return point % every == number * every / kPalette.size() % every;
}

std::string line_of(const Series& series, const Frame& frame, std::size_t number) {
  const std::string colour = colour_of(number);
  std::string points;
  for (const auto& [x, y] : series.points) points += fmt::format("{:.1f},{:.1f} ", frame.across(x), frame.down(y));
  if (!points.empty()) points.pop_back();
  std::string svg =
      fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n",
                  points, colour, kDashes[number % kDashes.size()]);
  for (std::size_t i = 0; i < series.points.size(); ++i)
    if (const auto& [x, y] = series.points[i]; is_marked(i, series.points.size(), number))
      svg += mark_at(frame.across(x), frame.down(y), number, colour);
  return svg;
}

struct Box {
  double left, top, right, bottom;
  [[nodiscard]] bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  [[nodiscard]] bool holds(double x, double y) const { return x >= left && x <= right && y >= top && y <= bottom; }
};

// Places along all lines, a few points apart: what a name should not lie on.
std::vector<std::pair<double, double>> inked(const Chart& chart, const Frame& frame) {
  constexpr int kPieces = 16;
  std::vector<std::pair<double, double>> places;
  for (const Series& series : chart.series) {
    if (series.reported) continue;
    for (std::size_t i = 1; i < series.points.size(); ++i)
      for (int piece = 0; piece <= kPieces; ++piece) {
        const auto between = [&](double from, double to) { return from + (to - from) * piece / kPieces; };
        const auto& [from_x, from_y] = series.points[i - 1];
        const auto& [to_x, to_y] = series.points[i];
        places.emplace_back(between(frame.across(from_x), frame.across(to_x)),
                            between(frame.down(from_y), frame.down(to_y)));
      }
  }
  return places;
}

// Where a name of a point is in the way of least, near it first; nothing where there is no room.
std::optional<Box> room_for(double width, double x, double y, const Frame& frame, const std::vector<Box>& taken,
                            const std::vector<std::pair<double, double>>& ink) {
  std::optional<Box> best;
  double least = std::numeric_limits<double>::max();
  for (const double away : {10.0, 24.0, 40.0, 60.0, 84.0, 112.0, 150.0})
    for (const double across : {1.0, -1.0, 0.0})
      for (const double down : {0.0, -1.0, 1.0, -0.5, 0.5}) {
        if (across == 0 && down == 0) continue;
        const double left = across > 0 ? x + away : across < 0 ? x - away - width : x - width / 2;
        const double middle = y + down * (away + 4);
        const Box box{left - 1, middle - 9, left + width + 1, middle + 6};
        const bool inside =
            box.left > frame.left() && box.right < frame.right() && box.top > kTop && box.bottom < kBottom;
        if (!inside || std::ranges::any_of(taken, [&](const Box& other) { return other.meets(box); })) continue;
        const auto covered =
            std::ranges::count_if(ink, [&](const auto& place) { return box.holds(place.first, place.second); });
        constexpr double kAsBadAsOneCovered = 5; // points further away
        const double cost = static_cast<double>(covered) + away / kAsBadAsOneCovered;
        if (cost >= least) continue;
        least = cost;
        best = box;
      }
  return best;
}

// The report's points, in the mark of their line and named.
std::string reported_of(const Chart& chart, const Frame& frame) {
  const auto ink = inked(chart, frame);
  std::vector<Box> taken;
  for (const Series& series : chart.series)
    if (series.reported)
      for (const auto& [value_x, value_y] : series.points) {
        const double x = frame.across(value_x);
        const double y = frame.down(value_y);
        taken.push_back({x - kReportMark, y - kReportMark, x + kReportMark, y + kReportMark});
      }
  std::string svg;
  for (const Series& series : chart.series) {
    if (!series.reported) continue;
    std::size_t number = 0;
    bool has_line = false;
    for (const Series& line : chart.series) {
      if (line.reported) continue;
      has_line = line.name == series.name;
      if (has_line) break;
      ++number;
    }
    for (const auto& [value_x, value_y] : series.points) {
      const double x = frame.across(value_x);
      const double y = frame.down(value_y);
      const std::string text =
          series.said.empty() ? fmt::format("{} {}", series.name, mark_text(value_y)) : series.said;
      if (const auto box = room_for(text_width(text), x, y, frame, taken, ink)) {
        taken.push_back(*box);
        const double near_x = std::clamp(x, box->left, box->right);
        const double near_y = std::clamp(y, box->top, box->bottom);
        svg += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"black\" stroke-width=\"0.7\"/>\n", x, y,
                           near_x, near_y);
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"white\" "
            "fill-opacity=\"0.85\"/>\n",
            box->left, box->top, box->right - box->left, box->bottom - box->top);
        svg += svg_text(box->left + 1, box->top + 12.5, "start", text);
      }
      if (has_line) svg += frame_at(x, y, number, colour_of(number));
      svg += report_mark(x, y);
    }
  }
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
  svg += reported_of(chart, frame);
  if (std::ranges::any_of(chart.series, &Series::reported)) {
    const double x = frame.right() - text_width("the report's values");
    svg += report_mark(x - 14, kTop - 22) + svg_text(x, kTop - 18, "start", "the report's values");
  }
  return svg_begin(kPictureWidth, height, chart.title) + svg + "</svg>\n";
}

} // namespace heddle::tool
