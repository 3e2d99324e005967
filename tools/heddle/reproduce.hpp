// What `heddle reproduce` is made of. Each report is a file reproduce_NAME.cpp with one function, and a line in reproduce.cpp.
#pragma once

#include "heddle/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tool {

// One value of a report, and ours.
struct ReportedFigure {
  std::string id;               // report/figure/what, such as fat-tree/random16/conventional/average
  std::optional<double> report; // nothing where the report has no such value
  double ours = 0;
  std::string unit;
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// A line chart.
struct Chart {
  std::string file; // without folder and .svg
  std::string title;
  std::string x_name;
  std::string y_name;
  std::vector<Series> series;
};

struct Reproduction {
  std::vector<ReportedFigure> figures;
  std::vector<Chart> charts;
};

std::string to_svg(const Chart& chart); // reproduce_chart.cpp

// The random sets of nodes of the fat-tree report.
inline constexpr std::uint64_t kRandomSetsSeed = 1;
inline constexpr std::uint32_t kRandomSetNodes = 16;

Result<Reproduction> reproduce_fat_tree();    // reproduce_fat_tree.cpp
Result<Reproduction> reproduce_portability(); // reproduce_portability.cpp
Result<Reproduction> reproduce_rhinet();      // reproduce_rhinet.cpp
Result<Reproduction> reproduce_scheduling();  // reproduce_scheduling.cpp

// Adds to RHiNET's report what programs see of mcast through the library. reproduce_rhinet_mcast.cpp
Result<void> add_rhinet_mcast_by_library(Reproduction& all);

// Adds to the fat-tree report the first `sets` of its random sets in packets. reproduce_fat_tree_packets.cpp
Result<void> add_fat_tree_packets(Reproduction& all, std::uint32_t sets);

} // namespace heddle::tool
