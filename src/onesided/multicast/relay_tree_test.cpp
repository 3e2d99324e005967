#include "onesided/multicast/relay_tree.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::onesided {
namespace {

// Hands on as the engines do; counts how often each is reached, and checks `behind` against who was really behind.
void hand_on(std::size_t count, std::size_t fanout, TreePart row, std::vector<int>& reached) {
  for (std::size_t part = 0; part < fanout; ++part) {
    const TreePart inside = tree_part(row.count, fanout, part);
    if (inside.count == 0) continue;
    const std::size_t head = row.first + inside.first;
    ++reached[head];
    const TreePart rest = behind(count, fanout, head);
    EXPECT_EQ(rest.first, head + 1);
    EXPECT_EQ(rest.count, inside.count - 1);
    hand_on(count, fanout, rest, reached);
  }
}

TEST(RelayTree, ReachesEveryReceiverOnce) {
  for (std::size_t fanout = 1; fanout <= 5; ++fanout)
    for (std::size_t count = 1; count < 70; ++count) {
      std::vector<int> reached(count, 0);
      hand_on(count, fanout, {.first = 0, .count = count}, reached);
      EXPECT_EQ(reached, std::vector<int>(count, 1)) << count << " by " << fanout;
    }
}

TEST(RelayTree, IsNoDeeperThanItMustBe) {
  for (const std::size_t fanout : {std::size_t{2}, std::size_t{4}}) {
    std::size_t depth = 0;
    for (std::size_t count = 64; count > 0; ++depth) count = tree_part(count, fanout, fanout - 1).count - 1;
    EXPECT_LE(depth, fanout == 2 ? 6U : 4U);
  }
}

} // namespace
} // namespace heddle::onesided
