// Plays a scenario and says whether all went well.
#pragma once

#include "tests/scenario/role.hpp"
#include "tests/scenario/scenario.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::tests {

// How it went. Equal scenarios are equal in all of it, on every compiler.
struct Played {
  std::string verdict;          // empty: everything ended, and all was as it must be
  std::int64_t picoseconds = 0; // that the job took
  std::uint64_t history = 0;    // of every event of the network
  Happened happened;
  bool operator==(const Played&) const = default;
};

// With `story`, what happened is added to it line by line.
Played play(const Scenario& scenario, std::vector<std::string>* story = nullptr);

} // namespace heddle::tests
