#include "progress/patience.hpp"

#include <gtest/gtest.h>

namespace heddle::progress {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Looks every half second, until it is over; the time that took, in seconds.
double time_until_over(Patience& patience, std::uint64_t from, double share) {
  std::uint64_t now = from;
  do now += kSecond / 2;
  while (!patience.over(now, share));
  return static_cast<double>(now - from) / kSecond;
}

TEST(Patience, IsOverAfterItsTimeAndAgainAfterTwice) {
  Patience patience(std::chrono::seconds(10));
  patience.restart(5 * kSecond);
  EXPECT_EQ(time_until_over(patience, 5 * kSecond, 1), 10);
  EXPECT_EQ(time_until_over(patience, 15 * kSecond, 1), 10);
  EXPECT_EQ(time_until_over(patience, 25 * kSecond, 1), 20);
  patience.restart(100 * kSecond);
  EXPECT_EQ(time_until_over(patience, 100 * kSecond, 1), 10);
}

TEST(Patience, LastsLongerWhereProcessorsAreShort) {
  Patience patience(std::chrono::seconds(10));
  patience.restart(0);
  EXPECT_EQ(time_until_over(patience, 0, 0.125), 80);
}

TEST(Patience, DoesNotCountTimeThatItWasNotLookedAt) {
  Patience patience(std::chrono::seconds(10));
  patience.restart(0);
  for (std::uint64_t look = 1; look < 10; ++look) EXPECT_FALSE(patience.over(look * 100 * kSecond, 1));
  EXPECT_TRUE(patience.over(1000 * kSecond, 1));
}

TEST(Patience, OfZeroIsNeverOver) {
  Patience patience(std::chrono::seconds(0));
  patience.restart(0);
  EXPECT_FALSE(patience.over(1000 * kSecond, 1));
  EXPECT_FALSE(patience.over(2000 * kSecond));
}

TEST(Patience, ReadsTheShareOfAProcessor) {
  EXPECT_EQ(processor_share("6.06 2.83 1.17 9/112 7114\n", 2), 0.25);
  EXPECT_EQ(processor_share("6.06 2.83 1.17 3/112 7114\n", 2), 1);
  EXPECT_EQ(processor_share("6.06 2.83 1.17 1/112 7114\n", 2), 1);
  EXPECT_EQ(processor_share("600 2.83 1.17 100000/200000 7114\n", 1), 1.0 / 60);
  for (const char* text : {"", "1 2 3", "a b c d", "1 2 3 /"}) EXPECT_EQ(processor_share(text, 2), 1) << text;
}

} // namespace
} // namespace heddle::progress
