#include "schedule/algorithms.hpp"

#include "schedule/checker.hpp"
#include "schedule/random_problem_for_tests.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::schedule {
namespace {

// Whatever is held up by nothing at all, or passes a link twice.
TEST(LowerBound, IsBelowEverySchedule) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Problem problem = random_problem(seed, {.most_requests = 8, .most_paths = 2, .extremes = true});
    const double bound = lower_bound_ns(problem);
    for (const std::string_view name : algorithm_names()) {
      if (name == "exact") continue;
      EXPECT_LE(bound, expected(problem, *run_algorithm(name, problem)).makespan_ns * (1 + 1e-9) + 1e-3)
          << name << " seed " << seed;
    }
  }
}

// Beside bytes that move at any rate, prices of those held up by a link are lost to rounding.
TEST(LowerBound, IsBelowASchedulesEndWhereEnginesHaveNoLimit) {
  Problem problem{.resources = {.engines = 4, .receive_engines = 4, .startup_ns = 1000, .queue_ns = 500},
                  .link_rates = {10, 4.9, 4.9, 0, 10, 10, 4.9, 0}};
  const auto add = [&](std::uint64_t bytes, std::uint32_t receiver,
                       const std::vector<std::vector<std::uint32_t>>& paths) {
    problem.requests.push_back(
        {.bytes = bytes, .receiver = receiver, .first_path = static_cast<std::uint32_t>(problem.paths.size())});
    for (const auto& path : paths) problem.add_path(path);
  };
  add(262'366, 2, {});
  add(8'268, 3, {{6}, {6, 3, 2}, {0}});
  add(262'619, 1, {{7, 3}, {}, {}});
  add(736, 2, {{}});
  add(32'836, 1, {{2, 3}, {}});
  add(1, 0, {{4}, {6, 5}});
  add(0, 0, {{5}, {2}, {1}});
  add(285, 1, {{6, 2, 7}});
  EXPECT_LE(lower_bound_ns(problem), expected(problem, sharing(problem)).makespan_ns);
}

TEST(LowerBound, CountsALinkAsOftenAsEveryPathPassesIt) {
  Problem problem{.resources = kTofuLike, .link_rates = {1}};
  problem.add({.bytes = 100'000}, {0, 0});
  EXPECT_NEAR(lower_bound_ns(problem), kTofuLike.startup_ns + 200'000, 1);
  problem.add_path(std::array{0U});
  EXPECT_NEAR(lower_bound_ns(problem), kTofuLike.startup_ns + 100'000, 1);
}

TEST(LowerBound, KnowsThatFewEnginesReceive) {
  Problem problem{.resources = kTofuLike, .link_rates = {}};
  problem.resources.receive_engines = 1;
  for (int i = 0; i < 4; ++i) problem.add({.bytes = 4'000}, {});
  EXPECT_NEAR(simple_bound_ns(problem), 4 * (kTofuLike.startup_ns + 1'000), 1);
}

TEST(EveryAlgorithm, RefusesAnUnknownNameWithTheNearest) {
  const auto schedule = run_algorithm("sharin", random_problem(1, {}));
  ASSERT_FALSE(schedule);
  EXPECT_NE(schedule.error().message().find("did you mean sharing?"), std::string::npos);
}

// At the pace of one engine alone the second request is worth a queue of its own, and then both share the node.
TEST(BottomLeft, KeepsTheNodesPaceWhenThatTakesMoreEngines) {
  Problem problem{
      .resources = {.engines = 8, .receive_engines = 8, .node_rate = 1, .startup_ns = 100, .queue_ns = 1000},
      .link_rates = {}};
  problem.add({.bytes = 33'094, .direction = 0}, {});
  problem.add({.bytes = 1'470, .direction = 1}, {});
  EXPECT_EQ(find_fault(problem, bottom_left(problem, {.queue_cost = true}), {}), "");
}

// Routes that meet only on their second hop.
TEST(WholePath, CountsBeyondTheFirstHop) {
  Problem problem{.resources = kTofuLike, .link_rates = {4.9, 4.9, 4.9}};
  problem.add({.bytes = 100'000, .direction = 0}, {0, 2});
  problem.add({.bytes = 100'000, .direction = 1}, {1, 2});
  const Schedule first_hop = bottom_left(problem, {});
  const Schedule whole = bottom_left(problem, {.exclusive = BottomLeft::Exclusive::path});
  EXPECT_TRUE(first_hop.placements[0].shares_link);
  EXPECT_FALSE(whole.placements[0].shares_link);
  EXPECT_GE(whole.placements[1].start_ns, whole.placements[0].end_ns);
  EXPECT_GE(sharing(problem).makespan_ns, 200'000 / 4.9);
}

// Two paths to each target, one of them common.
TEST(Paths, AreChosenSoThatLinksAreNotShared) {
  Problem problem{.resources = kTofuLike, .link_rates = {4, 4, 4}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::uint32_t common[] = {2};
    const std::uint32_t own[] = {i};
    problem.add({.bytes = 100'000, .direction = i}, std::span<const std::uint32_t>(common));
    problem.add_path(own);
  }
  const Schedule schedule = sharing(problem);
  EXPECT_FALSE(schedule.placements[0].shares_link);
  EXPECT_FALSE(schedule.placements[1].shares_link);
}

// However long the schedule, two requests on one engine at a time are found.
TEST(Checker, SeesAnOverlapOfAStartUpInALongSchedule) {
  Problem problem{.resources = kTofuLike, .link_rates = {}};
  for (int i = 0; i < 2; ++i) problem.add({.bytes = 40'000'000'000, .direction = 0}, {});
  Schedule schedule = round_robin(problem, 1);
  EXPECT_EQ(find_fault(problem, schedule, {}), "");
  Placement& second = schedule.placements[schedule.order[1]];
  second.start_ns -= kTofuLike.startup_ns;
  EXPECT_NE(find_fault(problem, schedule, {}), "");
}

// Engines take one request after the other: whatever the search finds can be handed over as queues.
TEST(Exact, FindsWhatQueuesCanDo) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Problem problem = random_problem(seed, {.most_requests = 8});
    const auto best = exact(problem, 20'000);
    ASSERT_TRUE(best);
    EXPECT_NEAR(expected(problem, best->schedule).makespan_ns, best->schedule.makespan_ns, 1) << "seed " << seed;
  }
}

} // namespace
} // namespace heddle::schedule
