#include "progress/quick_calls.hpp"

#include <gtest/gtest.h>

namespace heddle::progress {
namespace {

// Calls up to and including the next one that makes progress.
int until_due(QuickCalls& calls) {
  int count = 1;
  while (!calls.due() && count < 1000) ++count;
  return count;
}

TEST(QuickCalls, MakeProgressEverMoreRarelyWhileTheyComeFast) {
  QuickCalls calls;
  EXPECT_EQ(until_due(calls), 1) << "the first does";
  std::uint64_t now = 5'000'000'000;
  calls.made_progress(now);
  for (const int expected : {1, 2, 4, 8, 16, 32, 64, 64}) {
    EXPECT_EQ(until_due(calls), expected);
    calls.made_progress(now += 1000);
  }
}

TEST(QuickCalls, AllMakeProgressWhenTheyComeSlowly) {
  QuickCalls calls;
  std::uint64_t now = 5'000'000'000;
  for (int i = 0; i < 10; ++i) {
    until_due(calls);
    calls.made_progress(now += 1000);
  }
  EXPECT_GT(until_due(calls), 1);
  calls.made_progress(now += 2'000'000);
  EXPECT_EQ(until_due(calls), 1);
}

} // namespace
} // namespace heddle::progress
