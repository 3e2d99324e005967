#include "translators/tcp/look_round.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::translators::tcp {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(LookRound, AsksEveryPlaceOnceInARoundAndFewAtATime) {
  LookRound round;
  auto now = LookRound::Clock::now();
  EXPECT_TRUE(round.next(now, 1000).is_last); // the first look of all
  std::vector<int> asked(1000);
  int rounds = 0;
  for (int poll = 0; poll < 3 * 5000 + 1; ++poll) { // every 0.1 ms
    now += microseconds(100);
    const auto part = round.next(now, asked.size());
    EXPECT_LE(part.end - part.begin, 2U);
    for (std::size_t i = part.begin; i < part.end; ++i) ++asked[i];
    rounds += part.is_last ? 1 : 0;
  }
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(asked, std::vector<int>(1000, 3));
}

TEST(LookRound, OfSeldomPollsMissesNobody) {
  LookRound round;
  auto now = LookRound::Clock::now();
  round.next(now, 10);
  std::vector<int> asked(10);
  for (const int gap : {150, 200, 3000, 500}) {
    now += milliseconds(gap);
    const auto part = round.next(now, asked.size());
    for (std::size_t i = part.begin; i < part.end; ++i) ++asked[i];
  }
  EXPECT_EQ(asked, std::vector<int>(10, 2)); // the third and the fourth poll each end a round
}

TEST(LookRound, BeginsAnewWhereThereAreMore) {
  LookRound round;
  auto now = LookRound::Clock::now();
  round.next(now, 10);
  now += milliseconds(250);
  EXPECT_EQ(round.next(now, 10).end, 5U);
  now += milliseconds(50);
  const auto part = round.next(now, 20);
  EXPECT_EQ(part.begin, 0U);
  EXPECT_EQ(part.end, 12U);
}

} // namespace
} // namespace heddle::translators::tcp
