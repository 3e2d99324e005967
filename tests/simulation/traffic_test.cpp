// The random traffic of real processes, unchanged, between simulated ones.
#include "tests/simulation/runs.hpp"
#include "tests/traffic/slowdown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace heddle::tests {
namespace {

void expect_good(const Run& run) {
  SCOPED_TRACE(describe(run));
  EXPECT_EQ(play(run).verdict, "");
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
  expect_good({.setup = {.fabric = GetParam(), .peers = 8}, .seed = 1, .messages = 200, .largest = 1'000'000});
}
TEST_P(SimulatedTraffic, IsWholeAndInOrderBetween48) {
  expect_good({.setup = {.fabric = GetParam(), .peers = 48}, .seed = 2, .messages = share(60)});
}
TEST_P(SimulatedTraffic, IsWholeAndInOrderBetween256) {
  Options options;
  options.ring_bytes = 8192;
  options.ring_memory = 1U << 21U;
  expect_good({.setup = {.fabric = GetParam(), .peers = kSlowdown == 1 ? 256U : 64U, .options = options},
               .seed = 3,
               .messages = share(24),
               .largest = 20'000});
}

std::uint64_t asked(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

// tests/simulation/run asks for more of them. HEDDLE_TEST_SEED=17 alone runs that one.
TEST(SimulatedRuns, AreWholeAndInOrderWhateverTheSeed) {
  const bool one = std::getenv("HEDDLE_TEST_SEED") != nullptr;
  const std::uint64_t first = asked("HEDDLE_TEST_SEED", 1);
  const std::uint64_t runs = asked("HEDDLE_TEST_RUNS", one ? 1 : 300 / kSlowdown);
  for (std::uint64_t seed = first; seed < first + runs && !HasFailure(); ++seed) expect_good(random_run(seed));
}

TEST(SimulatedRuns, AreTheSameTwice) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const tests::Run run = random_run(seed);
    const Played first = play(run);
    const Played second = play(run);
    EXPECT_EQ(first, second) << describe(run);
    EXPECT_NE(first.history, play(random_run(seed + 1)).history);
  }
}

// Every compiler must come to these to the picosecond; they change only when the engine or the model does.
TEST(SimulatedRuns, AreTheSameInEveryBuild) {
  struct Recorded {
    const char* fabric;
    std::int64_t picoseconds;
    std::uint64_t history;
  };
  for (const Recorded& recorded : {Recorded{"infiniband:4-ary-2-tree,lmc=2", 256536000, 4051222084829101932U},
                                   Recorded{"tofu:1x1x1", 183746000, 12373101559054963545U},
                                   Recorded{"rhinet:star:8", 10215605000, 15679438317849690532U}}) {
    const Played played = play({.setup = {.fabric = recorded.fabric, .peers = 8}, .seed = 1, .messages = 40});
    EXPECT_EQ(played.verdict, "");
    EXPECT_EQ(played.picoseconds, recorded.picoseconds) << recorded.fabric;
    EXPECT_EQ(played.history, recorded.history) << recorded.fabric;
  }
}

} // namespace
} // namespace heddle::tests
