// The random traffic of real processes, unchanged, between simulated ones; and whole jobs in which anything may happen.
#include "tests/scenario/draw.hpp"
#include "tests/scenario/play.hpp"
#include "tests/scenario/text.hpp"
#include "tests/traffic/slowdown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace heddle::tests {
namespace {

struct TrafficRun {
  simulation::Setup setup;
  SeededTraffic traffic;
};

Played play(const TrafficRun& run) {
  Scenario scenario{.setup = run.setup, .meetings = {}, .actions = {}, .leaves = {}, .traffic = run.traffic};
  scenario.actions.resize(run.setup.peers);
  scenario.leaves.resize(run.setup.peers);
  return tests::play(scenario);
}

void expect_good(const TrafficRun& run) {
  EXPECT_EQ(play(run).verdict, "") << run.setup.fabric;
}

class SimulatedTraffic : public testing::TestWithParam<const char*> {
 protected:
  // Fewer on a network that takes long: while it does, many look whether something has come.
  static std::uint64_t share(std::uint64_t messages) {
    const bool slow = std::string_view(GetParam()).starts_with("rhinet");
    return std::max<std::uint64_t>(messages / (slow ? 8 : 1) / kSlowdown, 2);
  }
};
INSTANTIATE_TEST_SUITE_P(Fabrics, SimulatedTraffic,
                         testing::Values("infiniband:6-ary-3-tree:256,lmc=2", "tofu:3x3x3", "rhinet:star:256"));

TEST_P(SimulatedTraffic, IsWholeAndInOrderBetweenEight) {
  expect_good(
      {.setup = {.fabric = GetParam(), .peers = 8}, .traffic = {.seed = 1, .messages = 200, .largest = 1'000'000}});
}
TEST_P(SimulatedTraffic, IsWholeAndInOrderBetween48) {
  expect_good({.setup = {.fabric = GetParam(), .peers = 48}, .traffic = {.seed = 2, .messages = share(60)}});
}
TEST_P(SimulatedTraffic, IsWholeAndInOrderBetween256) {
  Options options;
  options.ring_bytes = 8192;
  options.ring_memory = 1U << 21U;
  expect_good({.setup = {.fabric = GetParam(), .peers = kSlowdown == 1 ? 256U : 64U, .options = options},
               .traffic = {.seed = 3, .messages = share(24), .largest = 20'000}});
}

// Jobs that have failed once, each made as small as it could be (tests/simulation/shrink), and the first as they were found.
TEST(SimulatedRuns, ThatOnceFailedPass) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HEDDLE_TEST_SOURCES "/once_failed")) {
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    const auto scenario = parse_scenario(text.str());
    ASSERT_TRUE(scenario) << entry.path() << ": " << scenario.error().message();
    EXPECT_EQ(tests::play(*scenario).verdict, "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 9U);
}

// tests/simulation/run plays as many as one has time for.
TEST(SimulatedRuns, EndWellWhateverTheSeed) {
  Happened all;
  for (std::uint64_t seed = 1; seed <= 1000 / kSlowdown; ++seed) {
    const Played played = tests::play(draw(seed));
    ASSERT_EQ(played.verdict, "") << "tests/simulation/run --runs 1 --seed " << seed;
    for (const auto& count : Happened::counts()) all.*count.member += played.happened.*count.member;
  }
  // What is drawn must come to something now and then, or nothing is checked.
  if (kSlowdown > 1) return; // too few runs for what is rare
  for (const auto& count : Happened::counts()) EXPECT_GT(all.*count.member, 0U) << count.name;
}

TEST(SimulatedRuns, AreTheSameTwice) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Scenario scenario = draw(seed);
    const Played first = tests::play(scenario);
    EXPECT_EQ(first, tests::play(scenario)) << seed;
    EXPECT_NE(first.history, tests::play(draw(seed + 1)).history);
  }
}

TEST(SimulatedRuns, AreTheSameFromTheirFiles) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Scenario scenario = draw(seed);
    const auto read = parse_scenario(to_text(scenario));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(to_text(*read), to_text(scenario));
    EXPECT_EQ(tests::play(*read), tests::play(scenario)) << seed;
  }
}

// Every compiler must come to these to the picosecond; they change only when the engine or the model does.
TEST(SimulatedRuns, AreTheSameInEveryBuild) {
  struct Recorded {
    const char* fabric;
    std::int64_t picoseconds;
    std::uint64_t history;
  };
  for (const Recorded& recorded :
       {Recorded{"infiniband:4-ary-2-tree,lmc=2,lids=report", 288912000, 15302756898924725083U},
        Recorded{"tofu:1x1x1", 153034000, 6819414228090784016U},
        Recorded{"rhinet:star:8", 10215605000, 1997202873948479209U}}) {
    const Played played =
        play({.setup = {.fabric = recorded.fabric, .peers = 8}, .traffic = {.seed = 1, .messages = 40}});
    EXPECT_EQ(played.verdict, "");
    EXPECT_EQ(played.picoseconds, recorded.picoseconds) << recorded.fabric;
    EXPECT_EQ(played.history, recorded.history) << recorded.fabric;
  }
}

} // namespace
} // namespace heddle::tests
