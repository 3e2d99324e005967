// Files of what the processes of a job did, to be done again elsewhere: one step of one process a row (table.hpp), in the order in
// which that process made it. docs/traffic.md is the user's page. Not here: how steps are carried out.
#pragma once

#include "traffic/table.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::traffic {

struct JobStep {
  enum class Kind : std::uint8_t {
    send,     // begins to send `bytes` with `tag` to `with`
    receive,  // begins to receive as much from `with`, or from anybody
    wait,     // until all that this process has begun has ended
    compute,  // for `us`
    barrier,  // begins one and waits for it
    alltoall, // blocks of `bytes` between all, likewise
  };
  Kind kind{};
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> with; // none: anybody
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;
  double us = 0;
  Place place;
};

struct Job {
  std::vector<std::vector<JobStep>> ranks; // by rank, each in its order
};

// Of one file.
inline constexpr std::size_t kMostSteps = 10'000'000;
inline constexpr std::uint32_t kMostRanks = 100'000;

// bad_argument names line and column: what is no step, a step that lacks something or has what it cannot use, a partner that has no
// step of its own, no step at all.
Result<Job> parse_job(std::string_view text);

// As parse_job reads it, in CSV: the line of names, and one for each step.
std::string_view job_names();
std::string to_text(const JobStep& step);

} // namespace heddle::traffic
