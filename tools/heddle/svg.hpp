// What all pictures of the program have in common: the frame of an SVG file, text that may hold anything, colours that
// colour-blind readers tell apart.
#pragma once

#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>

namespace heddle::tool {

inline constexpr std::array kPalette{"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                     "#66ccee", "#aa3377", "#ee8866", "#bbbbbb"};

inline std::string svg_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

inline std::string svg_begin(double width, double height, std::string_view title) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"16\" y=\"24\" font-size=\"15\">{2}</text>\n",
      width, height, svg_escaped(title));
}

inline std::string svg_text(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, svg_escaped(text));
}

} // namespace heddle::tool
