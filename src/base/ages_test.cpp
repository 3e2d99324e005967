#include "base/ages.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

constexpr std::uint64_t kLook = 20'000'000;

TEST(Ages, KnowsAgesToAnEighthHoweverOld) {
  Ages ages;
  constexpr std::uint64_t kLooks = 500'000; // nearly three hours
  for (std::uint64_t look = 0; look <= kLooks; ++look) ages.note(look * 64, look * kLook);
  const std::uint64_t now = kLooks * kLook;
  for (const std::uint64_t look : {0UL, 1UL, 1000UL, 250'000UL, 499'000UL, 499'950UL, 499'999UL, 500'000UL}) {
    const std::uint64_t real = now - look * kLook;
    EXPECT_LE(ages.of(look * 64, now), real);
    EXPECT_GE(ages.of(look * 64, now) + real / 6 + kLook, real) << look;
  }
  EXPECT_EQ(ages.of(kLooks * 64 + 1, now), 0U);
}

TEST(Ages, GivesNothingAnAgeBeforeTheFirstLook) {
  EXPECT_EQ(Ages().of(3, 1000), 0U);
}

TEST(Ages, AreSaidInSeconds) {
  EXPECT_EQ(seconds_text(350'000'000), "0.3 s");
  EXPECT_EQ(seconds_text(9'990'000'000), "9.9 s");
  EXPECT_EQ(seconds_text(12'900'000'000), "12 s");
}

} // namespace
} // namespace heddle::base
