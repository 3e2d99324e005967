#include "base/free_space.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>

namespace heddle::base {
namespace {

TEST(FreeSpace, GivesNothingTwiceAndBecomesWholeAgain) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  constexpr std::uint64_t kBytes = 1000;
  FreeSpace space(kBytes);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % 90;
      const auto at = space.take(bytes);
      if (!at) continue;
      ASSERT_LE(*at + bytes, kBytes);
      const auto after = taken.lower_bound(*at);
      ASSERT_TRUE(after == taken.end() || *at + bytes <= after->first);
      ASSERT_TRUE(after == taken.begin() || std::prev(after)->first + std::prev(after)->second <= *at);
      taken[*at] = bytes;
    } else if (!taken.empty()) {
      const auto one = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      space.give_back(one->first);
      taken.erase(one);
    }
  }
  for (const auto& [at, bytes] : taken) space.give_back(at);
  EXPECT_EQ(space.take(kBytes), 0U) << "all of it in one";
  EXPECT_EQ(space.take(1), std::nullopt);
}

TEST(FreeSpace, TakesNothingBackThatItHasNotGiven) {
  FreeSpace space(100);
  ASSERT_EQ(space.take(10), 0U);
  space.give_back(5);
  space.give_back(10);
  EXPECT_EQ(space.take(91), std::nullopt);
  space.give_back(0);
  space.give_back(0);
  EXPECT_EQ(space.take(100), 0U);
}

} // namespace
} // namespace heddle::base
