// What is said of a figure: verdicts and what they allow, and that a known miss is known only as far as its range goes.
#include "reproduce_figure.hpp"

#include <gtest/gtest.h>

namespace heddle::tool {
namespace {

ReportedFigure figure(double report, double ours) {
  return {.id = "a/b", .report = report, .ours = ours, .unit = "us"};
}

TEST(ReportedFigure, HoldsWithinItsTolerance) {
  EXPECT_EQ(verdict_of(figure(100, 108)), Verdict::holds);
  EXPECT_EQ(verdict_of(figure(100, 108.1)), Verdict::misses);
  EXPECT_EQ(verdict_of(figure(100, 91.9)), Verdict::misses);
  for (const Kind kind : {Kind::input, Kind::fitted, Kind::measured, Kind::contrast}) {
    ReportedFigure other = figure(100, 500);
    other.kind = kind;
    EXPECT_EQ(verdict_of(other), Verdict::none) << to_string(kind);
  }
  EXPECT_EQ(printed_allowance(figure(100, 1)), "tolerance 8 %");
}

TEST(ReportedFigure, AddsThreeStandardErrorsOfASample) {
  ReportedFigure sampled = figure(100, 113);
  EXPECT_EQ(verdict_of(sampled), Verdict::misses);
  sampled.error = 2;
  EXPECT_EQ(verdict_of(sampled), Verdict::holds);
  sampled.ours = 114.1;
  EXPECT_EQ(verdict_of(sampled), Verdict::misses);
  EXPECT_EQ(printed_allowance(sampled), "tolerance 8 % + 3 x 2");
}

TEST(ReportedFigure, SaysOfCountsWhichTheyMayBe) {
  ReportedFigure count = figure(20, 38);
  count.is_count = true;
  count.tolerance = 0.939;
  EXPECT_EQ(printed_allowance(count), "2 to 38");
  EXPECT_EQ(verdict_of(count), Verdict::holds);
  count.ours = 39;
  EXPECT_EQ(verdict_of(count), Verdict::misses);
  count.tolerance = 0;
  EXPECT_EQ(printed_allowance(count), "exactly 20");
}

TEST(ReportedFigure, StaysBelowABound) {
  ReportedFigure bounded{.id = "a/b", .report = {}, .ours = 0.99, .unit = "times", .below = 1.0};
  EXPECT_EQ(verdict_of(bounded), Verdict::holds);
  EXPECT_EQ(difference_of(bounded), 0);
  bounded.ours = 1.25;
  EXPECT_EQ(verdict_of(bounded), Verdict::misses);
  EXPECT_EQ(difference_of(bounded), 0.25);
  EXPECT_EQ(printed_allowance(bounded), "below 1");
}

TEST(KnownMiss, IsKnownOnlyWithinItsRange) {
  const char* id = "scheduling/four/872/orig_to_bottom-left-4";
  const KnownMiss* known = known_miss(id);
  ASSERT_NE(known, nullptr);
  ReportedFigure missed{.id = id, .report = 2.0, .ours = known->least, .unit = "times"};
  EXPECT_EQ(verdict_of(missed), Verdict::known_miss);
  missed.ours = known->most;
  EXPECT_EQ(verdict_of(missed), Verdict::known_miss);
  missed.ours = known->least - 0.01;
  EXPECT_EQ(verdict_of(missed), Verdict::misses);
  missed.ours = known->most + 0.35;
  EXPECT_EQ(verdict_of(missed), Verdict::misses);
  missed.ours = 2;
  EXPECT_EQ(verdict_of(missed), Verdict::holds);
  EXPECT_EQ(known_miss("scheduling/four"), nullptr);
}

} // namespace
} // namespace heddle::tool
