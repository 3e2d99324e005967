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

// Empty when every message was delivered once, intact and in order, every operation ended and memory was bounded.
std::string verdict(const Run& run);

} // namespace heddle::tests
