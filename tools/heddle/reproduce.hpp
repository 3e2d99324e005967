// What `heddle reproduce` is made of. Each report is a file reproduce_NAME.cpp with a list of parts, and a line in reproduce.cpp.
#pragma once

#include "chart.hpp"
#include "heddle/error.hpp"
#include "mpi_compare.hpp"
#include "progress.hpp"
#include "reproduce_figure.hpp"
#include "reproduce_parameters.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::tool {

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
  std::string_view note = {}; // what a reader of its figures has to know
  std::vector<std::string_view> varies =
      {}; // parameters that it sets by itself, so that --set does not reach them everywhere
};
// What is to be said below its figures: its note, and which changes do not reach it.
std::vector<std::string> notes_of(const Part& part, const Run& run);

// A part that was run.
struct Section {
  Part part;
  Reproduction made;
};

// Those with a verdict, the furthest from the report's first: what is to be believed, and what is not.
std::vector<const ReportedFigure*> worst_first(const std::vector<Section>& sections);

std::string picture_of_programs(const Reproduction& made);

// All of it as one page that needs nothing else; `command` makes the same figures, all of them. reproduce_page.cpp
Result<std::string> reproduction_page(const std::vector<Section>& sections, const Run& run, std::string_view command);

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
Result<Headline> library_headline(const Parameters& parameters);
Result<Headline> fat_tree_headline(const Parameters& parameters);
Result<Headline> infiniband_headline(const Parameters& parameters);
Result<Headline> rhinet_headline(const Parameters& parameters);
Result<Headline> rhinet_switch_headline(const Parameters& parameters);
Result<Headline> tofu_headline(const Parameters& parameters);

// A parameter that has no source, changed, and what came of it.
struct Movement {
  std::string parameter; // NAME=VALUE
  Headline change;       // relative; empty where the value cannot be
  std::string why_not;
};
Result<std::vector<Movement>> movements_of(const Run& run, std::string_view model);

// Parameters whose names begin so, with their sources, and how far the headlines move when one that has no source is halved and
// doubled. reproduce_sensitivity.cpp
int print_parameters(const Run& run, std::string_view only, bool json);

} // namespace heddle::tool
