// Line charts as SVG: our values as lines, each with its name at its end, the report's as points of their own, named beside them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heddle::tool {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool reported =
      false;          // the report's own values: points, not a line; with the mark of the line that has the same name
  std::string said{}; // beside such points, instead of name and value
};

struct Chart {
  std::string file; // without folder and .svg
  std::string title;
  std::string x_name;
  std::string y_name;
  std::vector<Series> series;
  double y_from = 0; // where its axis begins, not above any value: an enlargement, which y_name should say
};

// Axes begin at zero, but for an enlargement's, and that of x where all its values are powers of two: then each is as far from the next.
std::string to_svg(const Chart& chart);

} // namespace heddle::tool
