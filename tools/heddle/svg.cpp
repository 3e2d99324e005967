#include "svg.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace heddle::tool {
namespace {

constexpr double kTitleFont = 15;
constexpr double kMargin = 16;

// Of DejaVu Sans, the widest of the fonts that browsers take for sans-serif, in parts of the font's size, rounded up.
double advance(char c) {
  constexpr std::string_view kThin = "ijl|'!.,:; I()[]/";
  constexpr std::string_view kWide = "mwMW%@#+<=>^~";
  if ((static_cast<unsigned char>(c) & 0xc0U) == 0x80U) return 0; // within a character
  if (kThin.find(c) != std::string_view::npos) return 0.4;
  if (kWide.find(c) != std::string_view::npos) return 1.0;
  if (c >= 'A' && c <= 'Z') return 0.79;
  return 0.645;
}

} // namespace

Axis axis_for(double largest) {
  const double power = std::pow(10, std::floor(std::log10(std::max(largest, 1e-9))));
  double step = power / 10;
  for (const double factor : {0.1, 0.2, 0.5, 1.0, 2.0})
    if (largest / (factor * power) > 5) step = factor * power;
  return {step, std::ceil(largest / step - 1e-9) * step};
}

std::string mark_text(double value) {
  const std::string plain = fmt::format("{:.10g}", value);
  const std::size_t digits = plain.find_first_not_of("0123456789") == std::string::npos ? plain.size() : 0;
  if (digits <= 4) return plain;
  std::string grouped; // 10,000
  for (std::size_t i = 0; i < digits; ++i) {
    if (i > 0 && (digits - i) % 3 == 0) grouped += ',';
    grouped += plain[i];
  }
  return grouped;
}

std::string colour_of(std::size_t number) {
  if (number < kPalette.size()) return kPalette[number];
  // Further ones go round the circle of hues by the golden angle, darker each time.
  const double hue = std::fmod(137.5 * static_cast<double>(number), 360) / 60;
  const double light = 0.75 - 0.07 * static_cast<double>(number % 6);
  std::array<int, 3> channels{};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const double away = std::fmod(hue + 6 - 2 * static_cast<double>(i), 6); // from this channel's own hue
    const double share = std::clamp(std::abs(away - 3) - 1, 0.0, 1.0);
    channels[i] = static_cast<int>(255 * light * (0.15 + 0.85 * share));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", channels[0], channels[1], channels[2]);
}

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) width += advance(c);
  return width * size;
}

std::string fitted(std::string_view text, double width, double size) {
  if (text_width(text, size) <= width) return std::string(text);
  constexpr std::string_view kDots = "...";
  std::size_t end = text.size();
  while (end > 0 && text_width(text.substr(0, end), size) + text_width(kDots, size) > width) --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end; // whole characters only
  return std::string(text.substr(0, end)) + std::string(kDots);
}

std::string svg_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return result;
}

std::string svg_begin(double width, double height, std::string_view title) {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"{2}\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             width, height, kFont) +
         svg_text(kMargin, 24, "start", fitted(title, width - 2 * kMargin, kTitleFont), kTitleFont);
}

std::string svg_text(double x, double y, const char* anchor, std::string_view text, double size) {
  const std::string font = size == kFont ? "" : fmt::format(" font-size=\"{:g}\"", size);
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, font,
                     svg_escaped(text));
}

std::string svg_text_upwards(double x, double y, std::string_view text, double size) {
  return fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"middle\" font-size=\"{2:g}\" "
      "transform=\"rotate(-90 {0:.1f} {1:.1f})\">{3}</text>\n",
      x, y, size, svg_escaped(text));
}

} // namespace heddle::tool
