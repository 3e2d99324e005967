// An MPI program in turns on its MPI's own transport and on Heddle: how long it runs, and how long it waits in MPI.
#pragma once

#include "heddle/error.hpp"
#include "subcommands.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tool {

struct Comparison {
  std::string name; // of the program, for people
  std::vector<std::string> command;
  std::string via;
  std::string folder; // where it runs; empty: here
  unsigned rounds = 1;
};

// One run. Seconds from the end of MPI_Init to MPI_Finalize, of the process that took longest; seconds in calls that may wait (tools/mpi_times), as a mean over
// the processes.
struct Timed {
  double run = 0;
  double waiting = 0;
  std::size_t processes = 0;
};

struct Compared {
  std::string name;
  std::vector<Timed> own;
  std::vector<Timed> heddle; // as many: one of each a round
};

// Both, `rounds` times, whoever was first being second in the next round. Fails where a run fails, where its processes do not report, or where it did not use the transport
// that it was to use. `at` hears how far it is.
Result<Compared> compare(const Comparison& what, const std::function<void(std::string_view)>& at);

// The median of a member; its range as a fraction of it; the median of each round's own ratio of Heddle's to the other, and the range of
// those as a fraction of it.
double median_of(const std::vector<Timed>& runs, double Timed::* member);
double spread_of(const std::vector<Timed>& runs, double Timed::* member);
double ratio_of(const Compared& compared, double Timed::* member);
double ratio_spread_of(const Compared& compared, double Timed::* member);

std::string to_text(const Compared& compared);
std::string to_text(const std::vector<Compared>& all); // a line for each
Json to_json(const Compared& compared);
// Of each program two bars, Heddle's as a multiple of the other, in both the part that was waited.
std::string to_svg(std::string_view title, const std::vector<Compared>& all); // mpi_picture.cpp

} // namespace heddle::tool
