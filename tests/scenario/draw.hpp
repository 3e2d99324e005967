// Scenarios drawn from a seed: mostly small ones, since those find most, now and then a large one.
#pragma once

#include "tests/scenario/scenario.hpp"

namespace heddle::tests {

// Everything about it from the seed, the same on every compiler.
Scenario draw(std::uint64_t seed);

} // namespace heddle::tests
