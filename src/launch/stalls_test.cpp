#include "launch/stalls.hpp"

#include <gtest/gtest.h>

namespace heddle::launch {
namespace {

using Lines = std::vector<std::string>;
using std::chrono::seconds;

TEST(Stalls, OfManyProcessesAreOneReportThatNamesWhoDoesNotWait) {
  Stalls stalls;
  const base::Deadline begin{};
  const base::Deadline now = begin + seconds(100);
  EXPECT_FALSE(stalls.due());
  for (std::uint32_t rank = 1; rank < 1000; ++rank)
    if (rank != 7) stalls.add({.rank = rank, .seconds = 10 + rank, .text = "receive\nbarrier\n"}, now);
  ASSERT_EQ(stalls.due(), now + seconds(2));
  std::vector<bool> running(1000, true);
  running[3] = false;
  EXPECT_EQ(stalls.report(running, now + seconds(2)),
            (Lines{"nothing has moved for 11 s in 997 of 999 processes, but in ranks 0, 7; rank 1 waits:", "  receive",
                   "  barrier"}));
}

TEST(Stalls, AreReportedOnceAMinute) {
  Stalls stalls;
  const base::Deadline now = base::Deadline{} + seconds(100);
  stalls.add({.rank = 0, .seconds = 10, .text = "barrier"}, now);
  EXPECT_EQ(stalls.report({true}, now),
            (Lines{"nothing has moved for 10 s in all 1 processes; rank 0 waits:", "  barrier"}));
  stalls.add({.rank = 0, .seconds = 20, .text = "barrier"}, now + seconds(59));
  EXPECT_FALSE(stalls.due());
  stalls.add({.rank = 0, .seconds = 40, .text = "barrier"}, now + seconds(60));
  EXPECT_TRUE(stalls.due());
}

} // namespace
} // namespace heddle::launch
