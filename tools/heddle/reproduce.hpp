// What `heddle reproduce` is made of. Each report is a file reproduce_NAME.cpp with a list of parts, and a line in reproduce.cpp.
#pragma once

#include "chart.hpp"
#include "heddle/error.hpp"
#include "mpi_compare.hpp"
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
  bool is_change = false;        // by so many percent: differences are points, since a part of a change says nothing
  std::optional<double> below{}; // all that the report says is that it is below this
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
// "1198", "< 1", or nothing.
std::string printed_report(const ReportedFigure& figure);
// "tolerance 8 %", "below 1".
std::string printed_allowance(const ReportedFigure& figure);
// Of ours to the report's, relatively; 0 where there is nothing to relate it to.
double difference_of(const ReportedFigure& figure);

// A program that gave no figures.
struct NotRun {
  std::string id;
  std::string why;
  bool has_failed = false; // else it is not there
};

struct Reproduction {
  std::vector<ReportedFigure> figures;
  std::vector<Chart> charts;
  std::vector<Compared> compared; // MPI programs
  std::vector<NotRun> not_run;
};

// Options of `reproduce mpi`.
struct MpiOptions {
  unsigned rounds = 3;
  unsigned processes = 2;
  std::string size = "W"; // of our kernels
  std::string programs;   // a folder of programs to run instead of the known ones
};

// What a part is run with.
struct Run {
  Parameters parameters;
  std::uint32_t packets = 0; // sets of the fat-tree report to run in packets
  bool full_size = false;    // of those: with the report's messages and processes
  MpiOptions mpi;
  std::string only; // figures whose ids begin so
  Progress* progress = nullptr;
  void at(std::string_view what) const {
    if (progress != nullptr) progress->at(what);
  }
  // Whether figures whose ids begin so are among those asked for.
  [[nodiscard]] bool wants(std::string_view id) const;
};

// What can be run by itself: the figures whose ids begin with one of these.
struct Part {
  std::vector<std::string_view> ids;
  std::string_view title;
  std::vector<std::string_view> models; // whose parameters it is told: names up to the dot
  Result<void> (*add)(Reproduction& all, const Run& run);
};

// A part that was run.
struct Section {
  Part part;
  Reproduction made;
};

// Those with a verdict, the furthest from the report's first: what is to be believed, and what is not.
std::vector<const ReportedFigure*> worst_first(const std::vector<Section>& sections);
// "+1.2 %", "+1.2 pts" of what is a change in percent itself, or nothing.
std::string printed_difference(const ReportedFigure& figure);

std::string picture_of_programs(const Reproduction& made);

// All of it as one page that needs nothing else; `command` makes the same figures, all of them. reproduce_page.cpp
std::string reproduction_page(const std::vector<Section>& sections, const Run& run, std::string_view command);

// Of the average of a sample.
double standard_error(const std::vector<double>& values);

// The random sets of nodes of the fat-tree report.
inline constexpr std::uint64_t kRandomSetsSeed = 1;
inline constexpr std::uint32_t kRandomSetNodes = 16;

std::vector<Part> fat_tree_parts();    // reproduce_fat_tree.cpp
std::vector<Part> mpi_parts();         // reproduce_mpi.cpp
std::vector<Part> portability_parts(); // reproduce_portability.cpp
std::vector<Part> rhinet_parts();      // reproduce_rhinet.cpp
std::vector<Part> rhinet_switch_parts();
std::vector<Part> ring_parts();       // reproduce_rings.cpp, of the fat-tree report
std::vector<Part> scheduling_parts(); // reproduce_scheduling.cpp

Result<void> add_rhinet_mcast_by_library(Reproduction& all, const Run& run); // reproduce_rhinet_mcast.cpp
Result<void> add_fat_tree_packets(Reproduction& all, const Run& run);        // reproduce_fat_tree_packets.cpp
Result<void> add_fat_tree_packets_in_a_row(Reproduction& all, const Run& run);

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
