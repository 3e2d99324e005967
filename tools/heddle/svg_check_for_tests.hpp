// Reads pictures of the program back and says what a reader would stumble over: what lies outside the canvas, and text over text. Knows
// nothing of how they were drawn; widths are those of DejaVu Sans, the widest of the usual fonts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tests {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  std::string what;
};

inline double dejavu_width(std::string_view text, double size) {
  constexpr std::array<int, 95> kThousandths{
      318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
      636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
      575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
      611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
      278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
  double width = 0;
  for (const char c : text) width += c >= ' ' && c <= '~' ? kThousandths[static_cast<std::size_t>(c - ' ')] : 1000;
  return width * size / 1000;
}

inline std::string attribute(const std::string& element, const std::string& name, const std::string& otherwise = "0") {
  std::smatch found;
  return std::regex_search(element, found, std::regex("[ ]" + name + "=\"([^\"]*)\"")) ? found[1].str() : otherwise;
}
inline double number(const std::string& element, const std::string& name) {
  return std::strtod(attribute(element, name).c_str(), nullptr);
}

inline std::string unescaped(std::string text) {
  for (const auto& [from, to] :
       {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&quot;", "\""), std::pair("&amp;", "&")})
    text = std::regex_replace(text, std::regex(from), to);
  return text;
}

inline std::vector<Box> texts_of(const std::string& svg) {
  std::vector<Box> boxes;
  const std::regex pattern("<text([^>]*)>([^<]*)</text>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    const std::string element = (*at)[1];
    const std::string text = unescaped((*at)[2]);
    const double size = std::strtod(attribute(element, "font-size", attribute(svg, "font-size")).c_str(), nullptr);
    const double width = dejavu_width(text, size);
    const std::string anchor = attribute(element, "text-anchor", "start");
    const double before = anchor == "end" ? width : anchor == "middle" ? width / 2 : 0;
    const double x = number(element, "x");
    const double y = number(element, "y");
    if (element.find("rotate(-90") != std::string::npos)
      boxes.push_back({x - 0.76 * size, y - (width - before), x + 0.2 * size, y + before, text});
    else
      boxes.push_back({x - before, y - 0.76 * size, x - before + width, y + 0.2 * size, text});
  }
  return boxes;
}

// Ends of a path's pieces; arcs and curves are not followed.
inline void add_path(std::vector<Box>& boxes, const std::string& path) {
  double x = 0, y = 0;
  const std::regex piece("([MmLlHhVv])([^A-Za-z]*)");
  for (std::sregex_iterator at(path.begin(), path.end(), piece), end; at != end; ++at) {
    const char kind = (*at)[1].str().front();
    const std::string numbers = (*at)[2];
    const char* rest = numbers.c_str();
    char* next = nullptr;
    const auto take = [&] {
      while (*rest == ',') ++rest;
      const double value = std::strtod(rest, &next);
      rest = next;
      return value;
    };
    const bool relative = kind >= 'a';
    if (kind == 'H' || kind == 'h') {
      x = take() + (relative ? x : 0);
    } else if (kind == 'V' || kind == 'v') {
      y = take() + (relative ? y : 0);
    } else {
      const double dx = take();
      const double dy = take();
      x = dx + (relative ? x : 0);
      y = dy + (relative ? y : 0);
    }
    boxes.push_back({x, y, x, y, "path " + path.substr(0, 40)});
  }
}

inline std::vector<Box> shapes_of(const std::string& svg) {
  std::vector<Box> boxes;
  const std::regex pattern("<(rect|line|circle|polyline|path)([^>]*)>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    const std::string kind = (*at)[1];
    const std::string element = (*at)[2];
    if (kind == "rect" && attribute(element, "width") != "100%") {
      const double x = number(element, "x");
      const double y = number(element, "y");
      boxes.push_back({x, y, x + number(element, "width"), y + number(element, "height"), "rect"});
    } else if (kind == "line") {
      boxes.push_back({std::min(number(element, "x1"), number(element, "x2")),
                       std::min(number(element, "y1"), number(element, "y2")),
                       std::max(number(element, "x1"), number(element, "x2")),
                       std::max(number(element, "y1"), number(element, "y2")), "line"});
    } else if (kind == "circle") {
      const double r = number(element, "r");
      boxes.push_back({number(element, "cx") - r, number(element, "cy") - r, number(element, "cx") + r,
                       number(element, "cy") + r, "circle"});
    } else if (kind == "path") {
      add_path(boxes, attribute(element, "d", ""));
    } else if (kind == "polyline") {
      add_path(boxes, "M" + std::regex_replace(attribute(element, "points", ""), std::regex(" "), "L"));
    }
  }
  return boxes;
}

// One line each; empty where all is well.
inline std::string faults_of(const std::string& svg) {
  std::string faults;
  const double width = number(svg, "width");
  const double height = number(svg, "height");
  const std::vector<Box> texts = texts_of(svg);
  std::vector<Box> all = shapes_of(svg);
  all.insert(all.end(), texts.begin(), texts.end());
  if (texts.empty()) faults += "no text\n";
  for (const Box& box : all)
    if (box.left < 0 || box.top < 0 || box.right > width || box.bottom > height)
      faults += "outside the canvas: " + box.what + "\n";
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (texts[i].left < texts[j].right && texts[j].left < texts[i].right && texts[i].top < texts[j].bottom &&
          texts[j].top < texts[i].bottom)
        faults += "'" + texts[i].what + "' over '" + texts[j].what + "'\n";
  return faults;
}

} // namespace heddle::tests
