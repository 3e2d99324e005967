// What `heddle reproduce` is made of. Each report is a file reproduce_NAME.cpp with a list of parts, and a line in reproduce.cpp.
#pragma once

#include "heddle/error.hpp"
#include "progress.hpp"
#include "reproduce_parameters.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::tool {

// What a figure of ours is.
enum class Kind : std::uint8_t {
  input,     // the report's value went into a parameter
  fitted,    // a parameter was chosen so that it comes out
  predicted, // comes out of a model that knows nothing of the report's value
  measured,  // on this machine, or counted in these sources
};
std::string_view to_string(Kind kind);

// How far a predicted figure may be from the report's, relatively, unless it says otherwise.
inline constexpr double kTolerance = 0.08;

// One value of a report, and ours.
struct ReportedFigure {
  std::string id;               // report/figure/what, such as fat-tree/random16/conventional/average
  std::optional<double> report; // nothing where the report has no such value
  double ours = 0;
  std::string unit;
  Kind kind = Kind::predicted;
  double tolerance = kTolerance;
};

// What is to be said of a figure.
enum class Verdict : std::uint8_t {
  none,       // nothing to compare, or not predicted
  holds,      // within its tolerance
  known_miss, // not, for a reason that known_miss() gives
  misses,
};
Verdict verdict_of(const ReportedFigure& figure);
std::string_view to_string(Verdict verdict);
std::string_view known_miss(std::string_view id); // empty where none is known; reproduce_known_misses.cpp
// Of ours to the report's, relatively; 0 where there is nothing to relate it to.
double difference_of(const ReportedFigure& figure);

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool reported = false; // the report's own values: points, not a line
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

// What a part is run with.
struct Run {
  Parameters parameters;
  std::uint32_t packets = 0; // sets of the fat-tree report to run in packets
  bool full_size = false;    // of those: with the report's messages and processes
  Progress* progress = nullptr;
  void at(std::string_view what) const {
    if (progress != nullptr) progress->at(what);
  }
};

// What can be run by itself: the figures whose ids begin with one of these.
struct Part {
  std::vector<std::string_view> ids;
  Result<void> (*add)(Reproduction& all, const Run& run);
};

// The random sets of nodes of the fat-tree report.
inline constexpr std::uint64_t kRandomSetsSeed = 1;
inline constexpr std::uint32_t kRandomSetNodes = 16;

std::vector<Part> fat_tree_parts();    // reproduce_fat_tree.cpp
std::vector<Part> portability_parts(); // reproduce_portability.cpp
std::vector<Part> rhinet_parts();      // reproduce_rhinet.cpp
std::vector<Part> scheduling_parts();  // reproduce_scheduling.cpp

Result<void> add_rhinet_mcast_by_library(Reproduction& all, const Run& run); // reproduce_rhinet_mcast.cpp
Result<void> add_fat_tree_packets(Reproduction& all, const Run& run);        // reproduce_fat_tree_packets.cpp

// A few figures of each model that say whether a parameter matters: quick, and with a value for any parameters.
using Headline = std::vector<std::pair<std::string, double>>;
Result<Headline> fat_tree_headline(const Parameters& parameters);
Result<Headline> infiniband_headline(const Parameters& parameters);
Result<Headline> rhinet_headline(const Parameters& parameters);
Result<Headline> tofu_headline(const Parameters& parameters);

// Parameters whose names begin so, with their sources, and how far the headlines move when one that has no source is halved and
// doubled. reproduce_sensitivity.cpp
int print_parameters(const Run& run, std::string_view only, bool json);

} // namespace heddle::tool
