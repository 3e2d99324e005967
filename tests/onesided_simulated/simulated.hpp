// What the one-sided tests on simulated fabrics share.
#pragma once

#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::simulation {

inline constexpr AreaId kArea{7};

// Ends the process it stands in with an error.
inline void demand(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

inline void expect_well(const Setup& setup, const Program& program) {
  auto world = World::create(setup);
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run(program);
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

} // namespace heddle::simulation
