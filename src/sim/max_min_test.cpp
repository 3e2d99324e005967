#include "sim/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace heddle::sim {
namespace {

TEST(MaxMin, SharesAResourceEqually) {
  MaxMin rates;
  const std::uint32_t link = rates.add_resource(12);
  const std::uint32_t one[] = {link};
  const std::uint32_t a = rates.add_flow(one);
  rates.solve();
  EXPECT_DOUBLE_EQ(rates.rate(a), 12);
  const std::uint32_t b = rates.add_flow(one);
  const std::uint32_t c = rates.add_flow(one);
  EXPECT_EQ(rates.solve().size(), 3U);
  EXPECT_DOUBLE_EQ(rates.rate(b), 4);
  rates.remove_flow(a);
  rates.solve();
  EXPECT_DOUBLE_EQ(rates.rate(c), 6);
}

// Two links of 10; the long flow and two short ones on the first, one short on the second.
TEST(MaxMin, GivesWhatTheSlowCannotUseToTheFast) {
  MaxMin rates;
  const std::uint32_t first = rates.add_resource(9);
  const std::uint32_t second = rates.add_resource(10);
  const std::uint32_t on_both[] = {first, second};
  const std::uint32_t on_first[] = {first};
  const std::uint32_t on_second[] = {second};
  const std::uint32_t longest = rates.add_flow(on_both);
  rates.add_flow(on_first);
  rates.add_flow(on_first);
  const std::uint32_t other = rates.add_flow(on_second);
  rates.solve();
  EXPECT_DOUBLE_EQ(rates.rate(longest), 3);
  EXPECT_DOUBLE_EQ(rates.rate(other), 7);
}

TEST(MaxMin, ReportsOnlyFlowsThatChange) {
  MaxMin rates;
  const std::uint32_t here = rates.add_resource(5);
  const std::uint32_t there = rates.add_resource(5);
  const std::uint32_t on_here[] = {here};
  const std::uint32_t on_there[] = {there};
  rates.add_flow(on_here);
  rates.add_flow(on_there);
  rates.solve();
  rates.add_flow(on_here);
  EXPECT_EQ(rates.solve().size(), 2U);
  EXPECT_TRUE(rates.solve().empty());
}

// The definition itself: no resource over capacity, and each flow has a full one on which nobody is faster.
void expect_fair(const MaxMin& rates, const std::vector<double>& capacity,
                 const std::map<std::uint32_t, std::vector<std::uint32_t>>& flows) {
  std::vector<double> used(capacity.size());
  std::vector<double> fastest(capacity.size());
  for (const auto& [flow, resources] : flows) {
    for (const std::uint32_t each : resources) {
      used[each] += rates.rate(flow);
      fastest[each] = std::max(fastest[each], rates.rate(flow));
    }
  }
  for (std::size_t each = 0; each < capacity.size(); ++each) ASSERT_LE(used[each], capacity[each] * (1 + 1e-8));
  for (const auto& [flow, resources] : flows) {
    const double rate = rates.rate(flow);
    const bool has_bottleneck = std::any_of(resources.begin(), resources.end(), [&](std::uint32_t each) {
      return used[each] >= capacity[each] * (1 - 1e-8) && rate >= fastest[each] * (1 - 1e-8);
    });
    ASSERT_TRUE(has_bottleneck) << "flow " << flow << " at " << rate;
  }
}

TEST(MaxMin, StaysFairWhileFlowsComeAndGo) {
  const std::uint64_t seed = 11;
  std::mt19937_64 random(seed);
  for (int instance = 0; instance < 20; ++instance) {
    MaxMin rates;
    std::vector<double> capacity;
    for (std::uint64_t i = 0; i < 5 + random() % 30; ++i) {
      capacity.push_back(1 + static_cast<double>(random() % 20));
      rates.add_resource(capacity.back());
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> flows;
    for (int change = 0; change < 200; ++change) {
      if (flows.empty() || random() % 5 < 3) {
        std::vector<std::uint32_t> resources;
        for (std::uint64_t i = 0; i < 1 + random() % 5; ++i) {
          const auto each = static_cast<std::uint32_t>(random() % capacity.size());
          if (std::find(resources.begin(), resources.end(), each) == resources.end()) resources.push_back(each);
        }
        flows[rates.add_flow(resources)] = resources;
      } else {
        const auto gone = std::next(flows.begin(), static_cast<std::ptrdiff_t>(random() % flows.size()));
        rates.remove_flow(gone->first);
        flows.erase(gone);
      }
      if (random() % 3 == 0) continue; // several changes at once
      rates.solve();
      expect_fair(rates, capacity, flows);
      if (testing::Test::HasFatalFailure()) {
        FAIL() << "seed " << seed << ", instance " << instance << ", change " << change;
      }
    }
  }
}

} // namespace
} // namespace heddle::sim
