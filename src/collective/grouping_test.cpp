#include "collective/grouping.hpp"
#include "collective/exchange_plan.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

namespace heddle::collective {
namespace {

// Every ordered pair once, and what one sends at a step the other receives at that step.
void expect_complete(const std::vector<std::uint32_t>& node_of) {
  const Grouping grouping(node_of);
  const auto size = static_cast<std::uint32_t>(node_of.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> met;
  for (std::uint64_t step = 0; step < grouping.steps(); ++step)
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const auto partners = grouping.partners(rank, step);
      if (partners.to != kNobody) {
        EXPECT_TRUE(met.emplace(rank, partners.to).second) << rank << " to " << partners.to << " twice";
        EXPECT_EQ(grouping.partners(partners.to, step).from, rank);
      }
      if (partners.from != kNobody) {
        EXPECT_EQ(grouping.partners(partners.from, step).to, rank);
      }
    }
  EXPECT_EQ(met.size(), std::size_t{size} * size);
}

TEST(Grouping, IsTheReportsRingWhereNodesAreAlike) {
  const Grouping grouping(std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
  const std::uint32_t nodes = 4;
  const std::uint32_t local = 3;
  for (std::uint32_t rank = 0; rank < nodes * local; ++rank)
    for (std::uint32_t j = 0; j < nodes; ++j)
      for (std::uint32_t k = 0; k < local; ++k)
        EXPECT_EQ(grouping.partners(rank, j * local + k).to,
                  (rank / local + j) % nodes * local + (rank % local + k) % local);
}

TEST(Grouping, BringsEveryPairTogetherOnceHoweverUnevenTheNodes) {
  expect_complete({0});
  expect_complete({0, 0, 0, 0, 0});
  expect_complete({0, 1, 2, 3, 4, 5, 6});
  expect_complete({0, 0, 1, 0, 0, 2, 2, 0});
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t nodes = 1 + random() % 7;
    std::vector<std::uint32_t> node_of(nodes);
    std::iota(node_of.begin(), node_of.end(), 0U); // none is empty
    for (std::uint64_t more = random() % 20; more > 0; --more)
      node_of.push_back(static_cast<std::uint32_t>(random() % nodes));
    std::shuffle(node_of.begin(), node_of.end(), random);
    expect_complete(node_of);
  }
}

TEST(Grouping, NumbersNodesInTheOrderOfTheNetwork) {
  const std::vector<std::uint64_t> keys{70, 50, 70, 60, 50};
  EXPECT_EQ(number_nodes(keys, std::vector<std::uint64_t>{9, 3, 9, 5, 3}), (std::vector<std::uint32_t>{2, 0, 2, 1, 0}));
  EXPECT_EQ(number_nodes(keys, std::vector<std::uint64_t>(5, 0)), (std::vector<std::uint32_t>{0, 1, 0, 2, 1}))
      << "unknown: in the order of first processes";
}

TEST(Bruck, PaysForSmallBlocksOfManyProcesses) {
  EXPECT_FALSE(bruck_pays(1, 8, {}));
  EXPECT_FALSE(bruck_pays(2, 8, {}));
  EXPECT_FALSE(bruck_pays(8, 8, {})) << "measured: the ring's messages overlap";
  EXPECT_TRUE(bruck_pays(16, 8, {}));
  EXPECT_TRUE(bruck_pays(64, 32, {}));
  EXPECT_FALSE(bruck_pays(64, 256, {}));
  EXPECT_FALSE(bruck_pays(64, 64, Costs::between_machines(4))) << "four processes share a link";
  EXPECT_TRUE(bruck_pays(1024, 32, {}));
  EXPECT_FALSE(bruck_pays(1024, 4096, {}));
  EXPECT_FALSE(bruck_pays(8, 64 << 10, {}));
  EXPECT_TRUE(bruck_pays(4096, 64, Costs::between_machines(4))) << "4,095 connections of each process";
  for (const std::uint32_t processes : {4U, 16U, 100U, 1024U}) { // once it no longer pays, it never does again
    bool paid = true;
    for (std::uint64_t bytes = 1; bytes < (1U << 20U); bytes *= 2) {
      const bool pays = bruck_pays(processes, bytes, {});
      EXPECT_TRUE(paid || !pays);
      paid = pays;
    }
  }
}

TEST(Bruck, HasFewRoundsWhereMessagesAreSmall) {
  EXPECT_EQ(expected_times(256, 8, {}).radix, 16U)
      << "two rounds of 15 messages: measured, a third of the time of eight rounds";
  EXPECT_EQ(expected_times(4, 8, {}).radix, 2U);
  EXPECT_EQ(expected_times(100, 8, {}).radix, 16U);
  EXPECT_EQ(expected_times(4096, 64, {}).radix, 64U);
}

} // namespace
} // namespace heddle::collective
