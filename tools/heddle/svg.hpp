// What all pictures of the program have in common: the frame of an SVG file, text that may hold anything and whose width is
// known beforehand, colours and dashes that colour-blind readers and grey printers tell apart.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::tool {

inline constexpr double kPictureWidth = 900; // what a page or a screen shows without scaling
inline constexpr double kFont = 12;

// Marks of an axis from zero: round steps, five to ten of them up to `largest`.
struct Axis {
  double step = 1;
  double end = 1; // the last mark: at or beyond the largest
};
Axis axis_for(double largest);
// What stands beside a mark.
std::string mark_text(double value);

// No two alike, also in lightness; the last is the lightest that can be seen on white.
inline constexpr std::array kPalette{"#1f4e8c", "#e1574c", "#1b7837", "#c99700", "#7b3294",
                                     "#00a0b0", "#8c510a", "#e377c2", "#555555", "#9aa7b1"};
// Lines that are alike in grey differ in these. As many as colours.
inline constexpr std::array kDashes{"none", "8 4",  "2 3",         "10 3 2 3", "5 2",
                                    "1 6",  "16 5", "6 2 1 2 1 2", "18 3 6 3", "14 2 2 2"};
static_assert(kDashes.size() == kPalette.size());
// Of the palette, and beyond it as many more as are asked for.
std::string colour_of(std::size_t number);

// What of this text is wider than any usual sans-serif font makes it, in points.
double text_width(std::string_view text, double size = kFont);
// As much of it as fits, with dots at its end where not all does.
std::string fitted(std::string_view text, double width, double size = kFont);

std::string svg_escaped(std::string_view text);
// Frame, white ground and title.
std::string svg_begin(double width, double height, std::string_view title);
std::string svg_text(double x, double y, const char* anchor, std::string_view text, double size = kFont);
// Upwards, its middle at that place.
std::string svg_text_upwards(double x, double y, std::string_view text, double size = kFont);

} // namespace heddle::tool
