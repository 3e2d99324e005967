// What `heddle schedule` plans: the puts of one process, or of each process that a file names, as problems for the scheduler.
#pragma once

#include "schedule/problem.hpp"

#include <heddle/error.hpp>

#include <string>
#include <vector>

namespace heddle::tool {

struct PlannedPut {
  std::string name;  // "north-west", "to 5"
  std::string brief; // "NW", "5": for where there is little room
  std::uint64_t bytes = 0;
};

struct PlanTask {
  std::string process;    // "node 3"; empty where every process does the same
  std::uint32_t from = 0; // that node
  std::vector<PlannedPut> puts;
  schedule::Problem problem;
  std::vector<std::string> links; // names, by the problem's number
};

struct PatternText {
  std::string pattern;    // scale-les3:K, halo:AxB[xC]:BYTES or a file (docs/traffic.md)
  std::string directions; // of the first two; empty: all of the first, the straight ones of the second
  std::string fabric;     // a tofu; empty: one that has all nodes named, in a row
};

// At least one task, in the order of the senders. bad_argument: what of the text cannot be, in a file with line and column.
Result<std::vector<PlanTask>> open_tasks(const PatternText& text);

} // namespace heddle::tool
