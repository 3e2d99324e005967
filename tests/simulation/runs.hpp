// Random traffic of whole simulated jobs, from a seed: the fabric, the number of processes, the limits, what goes wrong.
#pragma once

#include <heddle/simulation.hpp>

#include <cstdint>
#include <string>

namespace heddle::tests {

struct Run {
  simulation::Setup setup;
  std::uint64_t seed = 1;
  std::uint64_t messages = 60;
  std::uint64_t largest = 100'000;
};

// Everything about it from the seed.
Run random_run(std::uint64_t seed);
std::string describe(const Run& run);

// How a run went. Equal runs are equal in all of it, on every compiler.
struct Played {
  std::string
      verdict; // empty when every message was delivered once, intact and in order, every operation ended and memory
               // was bounded
  std::int64_t picoseconds = 0; // that the job took
  std::uint64_t history = 0;    // of every event of the network
  bool operator==(const Played&) const = default;
};
Played play(const Run& run);

} // namespace heddle::tests
