// Scenarios themselves: what files may say, and that a failing one becomes small.
#include "tests/scenario/draw.hpp"
#include "tests/scenario/shrink.hpp"
#include "tests/scenario/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace heddle::tests {
namespace {

TEST(ScenarioFile, SaysWhichLineIsWrongAndWhatWasExpected) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& each : {Case{"fabric tofu:1x1x1\n", "no number of peers is given"},
                           Case{"peers 2\ndo 2 look\n", "line 2: expected a rank of the job"},
                           Case{"peers 2\n\ndo 0 dance\n", "line 3: expected a word that is known, not 'dance'"},
                           Case{"peers 2\ndo 0 send peer=x\n", "line 2: expected a number, not 'x'"},
                           Case{"peers 2\ndo 0 send colour=1\n", "line 2: expected a member of an action"},
                           Case{"peers 0\n", "line 1: expected 1 to 1024 peers"},
                           Case{"peers 2\nfaults colour=1\n", "line 2: expected a fault's name"},
                           Case{"peers 2\nmeeting\n", "line 2: expected more words"},
                           Case{"peers 2\nhats 3\n", "line 2: expected fabric, peers"}}) {
    const auto read = parse_scenario(each.text);
    ASSERT_FALSE(read) << each.text;
    EXPECT_NE(read.error().fact.find(each.message), std::string::npos) << read.error().fact;
  }
}

TEST(ScenarioDrawing, HasEverythingWithinAThousandSeeds) {
  std::set<Deed> deeds;
  std::set<Meeting::Kind> meetings;
  std::set<std::string> with_faults;
  std::set<std::string> fabrics;
  std::size_t small = 0, largest = 0, deaths = 0, leaves = 0, cables = 0, several = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Scenario scenario = draw(seed);
    for (const auto& actions : scenario.actions)
      for (const Action& action : actions) deeds.insert(action.deed);
    for (const Meeting& meeting : scenario.meetings) meetings.insert(meeting.kind);
    fabrics.insert(scenario.setup.fabric);
    if (scenario.setup.faults.seed != 0) with_faults.insert(scenario.setup.fabric);
    small += scenario.peers() <= 8 ? 1U : 0U;
    largest = std::max<std::size_t>(largest, scenario.peers());
    deaths += scenario.setup.deaths.empty() ? 0U : 1U;
    several += scenario.setup.deaths.size() > 1 ? 1U : 0U;
    leaves += std::ranges::count(scenario.leaves, true) > 0 ? 1U : 0U;
    cables += scenario.setup.cables.empty() ? 0U : 1U;
  }
  EXPECT_EQ(deeds.size(), 18U);
  EXPECT_EQ(meetings.size(), 5U);
  EXPECT_EQ(fabrics.size(), 11U);
  EXPECT_EQ(with_faults, fabrics) << "faults on every fabric";
  EXPECT_GT(small, 800U);
  EXPECT_GT(largest, 50U);
  EXPECT_GT(deaths, 300U);
  EXPECT_GT(several, 50U);
  EXPECT_GT(leaves, 100U);
  EXPECT_GT(cables, 30U);
}

TEST(Shrinking, LeavesOnlyWhatTheFailureNeeds) {
  Scenario scenario = draw(3);
  for (std::uint64_t seed = 3; scenario.peers() < 5 || scenario.setup.deaths.empty(); ++seed) scenario = draw(seed);
  scenario.setup.deaths = {{.rank = Rank{3}, .at = {}}}; // one of the two that are needed anyway
  scenario.leaves[3] = false;
  scenario.actions[1].insert(scenario.actions[1].begin() + 1, {.deed = Deed::send, .peer = 3, .bytes = 4711});
  const auto fails = [](const Scenario& candidate) {
    return !candidate.setup.deaths.empty() && std::ranges::any_of(candidate.actions, [](const auto& actions) {
      return std::ranges::any_of(actions, [](const Action& action) { return action.bytes == 4711; });
    });
  };
  const Scenario smallest = shrink(scenario, fails);
  EXPECT_TRUE(fails(smallest));
  EXPECT_EQ(smallest.peers(), 2U);
  EXPECT_EQ(smallest.setup.deaths.size(), 1U);
  EXPECT_TRUE(smallest.meetings.empty());
  EXPECT_EQ(smallest.setup.faults.seed, 0U);
  std::size_t actions = 0;
  for (const auto& of_one : smallest.actions) actions += of_one.size();
  EXPECT_EQ(actions, 1U);
}

TEST(Shrinking, GivesTheSmallestSoFarWhenItIsToStop) {
  const Scenario scenario = draw(3);
  std::size_t tries = 0;
  const auto fails = [&](const Scenario&) {
    ++tries;
    return true;
  };
  const Scenario smaller = shrink(scenario, fails, [&](const Scenario&) { return tries < 2; });
  EXPECT_EQ(tries, 2U);
  EXPECT_NE(to_text(smaller), to_text(scenario));
}

} // namespace
} // namespace heddle::tests
