#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(Clock, NeverGoesBack) {
  const auto first = steady_ns();
  EXPECT_LE(first, steady_ns());
}

TEST(Clock, RoundsRemainingTimeUpAndStopsAtZero) {
  EXPECT_EQ(milliseconds_until(Clock::now() - std::chrono::seconds(1)), 0);
  EXPECT_GE(milliseconds_until(Clock::now() + std::chrono::microseconds(1'000'100)), 1000);
  EXPECT_EQ(milliseconds_until(Clock::now() + std::chrono::hours(48)), 3'600'000);
}

} // namespace
} // namespace heddle::base
