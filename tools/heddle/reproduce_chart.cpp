// Line charts as SVG: axes from zero with round steps, one colour per series, a legend below the title.
#include "reproduce.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace heddle::tool {
namespace {

constexpr double kChartWidth = 760;
constexpr double kChartHeight = 460;
constexpr double kChartLeft = 72;
constexpr double kChartRight = 24;
constexpr double kChartTop = 76;
constexpr double kChartBottom = 56;
constexpr std::array kColours{"#4477aa", "#ee6677", "#ccbb44",
                              "#228833", "#66ccee", "#aa3377"}; // told apart by colour-blind readers

// One axis: values from 0 to `end`, a mark every `step`.
struct Axis {
  double step = 1;
  double end = 1;
};

// Five to ten marks at 1, 2 or 5 times a power of ten.
Axis axis_for(double largest) {
  const double power = std::pow(10, std::floor(std::log10(std::max(largest, 1e-9))));
  double step = power / 10;
  for (const double factor : {0.1, 0.2, 0.5, 1.0, 2.0})
    if (largest / (factor * power) > 5) step = factor * power;
  return {step, std::ceil(largest / step - 1e-9) * step};
}

struct Frame {
  Axis x;
  Axis y;
  [[nodiscard]] double across(double value) const {
    return kChartLeft + value / x.end * (kChartWidth - kChartLeft - kChartRight);
  }
  [[nodiscard]] double down(double value) const {
    return kChartHeight - kChartBottom - value / y.end * (kChartHeight - kChartTop - kChartBottom);
  }
};

Frame frame_of(const Chart& chart) {
  double x = 0;
  double y = 0;
  for (const Series& series : chart.series)
    for (const auto& [px, py] : series.points) {
      x = std::max(x, px);
      y = std::max(y, py);
    }
  return {axis_for(x), axis_for(y)};
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

std::string axes(const Chart& chart, const Frame& frame) {
  std::string svg;
  for (int i = 0; i * frame.y.step <= frame.y.end * 1.0001; ++i) {
    const double y = frame.down(i * frame.y.step);
    svg += fmt::format("<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kChartLeft, y,
                       kChartWidth - kChartRight, y);
    svg += text_at(kChartLeft - 8, y + 4, "end", fmt::format("{:g}", i * frame.y.step));
  }
  for (int i = 0; i * frame.x.step <= frame.x.end * 1.0001; ++i)
    svg += text_at(frame.across(i * frame.x.step), kChartHeight - kChartBottom + 18, "middle",
                   fmt::format("{:g}", i * frame.x.step));
  svg += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#333\"/>\n", kChartLeft, kChartTop,
                     kChartHeight - kChartBottom, kChartWidth - kChartRight);
  svg += text_at((kChartLeft + kChartWidth - kChartRight) / 2, kChartHeight - 14, "middle", chart.x_name);
  svg += text_at(8, kChartTop - 10, "start", chart.y_name);
  return svg;
}

std::string line_of(const Series& series, const Frame& frame, const char* colour, double width) {
  std::string points;
  for (const auto& [x, y] : series.points) points += fmt::format("{:.1f},{:.1f} ", frame.across(x), frame.down(y));
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1f}\"/>\n", points, colour,
                     width);
}

} // namespace

std::string to_svg(const Chart& chart) {
  const Frame frame = frame_of(chart);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kChartWidth, kChartHeight);
  svg += fmt::format("<text x=\"{}\" y=\"24\" font-size=\"16\">{}</text>\n", kChartLeft, escaped(chart.title));
  svg += axes(chart, frame);
  double legend = kChartLeft;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const char* const colour = kColours[i % kColours.size()];
    svg += line_of(chart.series[i], frame, colour,
                   2 + 1.5 * static_cast<double>(chart.series.size() - 1 - i)); // what is beneath shows
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"36\" width=\"18\" height=\"4\" fill=\"{}\"/>\n", legend, colour);
    svg += text_at(legend + 24, 43, "start", chart.series[i].name);
    legend += 48 + 7.5 * static_cast<double>(chart.series[i].name.size());
  }
  return svg + "</svg>\n";
}

} // namespace heddle::tool
