// The methods of the reports on the reports' own examples.
#include "routing/methods.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::job_of;
using testing::shift_load;
using testing::subnet_of;

// "2: leaf1->root0" for every hot spot, with its shift distance.
std::vector<std::string> hot_spots(const Subnet& subnet, const JobHosts& job, Method method) {
  const Links links(subnet.fabric);
  std::vector<std::string> names;
  for (const HotSpot& spot : shift_load(subnet, job, method).hot_spots)
    names.push_back(std::to_string(spot.stage + 1) + ": " + links.name(subnet.fabric, spot.link));
  return names;
}

// Figure 2: any nodes. N3 -> N6 and N5 -> N9 meet on the link from LS1 to RS0 at distance 2.
TEST(Methods, ConventionalHasTheHotSpotOfFigure2) {
  const Subnet subnet = subnet_of("3-ary-2-tree");
  EXPECT_THAT(hot_spots(subnet, job_of(subnet, "3,5,6,9"), Method::conventional), Contains("2: leaf1->root0"));
}

// Figure 3: nodes in a row. N3 -> N6 and N5 -> N0 meet on the link from LS1 to RS0 at distance 3.
TEST(Methods, ConventionalHasTheHotSpotOfFigure3) {
  const Subnet subnet = subnet_of("3-ary-2-tree");
  EXPECT_THAT(hot_spots(subnet, job_of(subnet, "0-7"), Method::conventional), Contains("3: leaf1->root0"));
  EXPECT_THAT(hot_spots(subnet, job_of(subnet, "0,1,3,4,6,7,9,10"), Method::conventional), ElementsAre())
      << "the symmetric choice that the report gives instead";
}

// Figure 5 and section 4.2: local numbers in the order of the fabric, M = Nln where it divides the number of nodes, else K.
TEST(Methods, NodeChoosesByTheNumberWithinTheJob) {
  const Subnet subnet = subnet_of("3-ary-2-tree", {}, "", kReportLids);
  const JobHosts three = job_of(subnet, "0,3,6");
  const Selection one_each = select(subnet, three, Method::node, Pattern::shift(3)).value();
  for (std::uint32_t d = 0; d < 3; ++d) EXPECT_EQ(one_each.offset((d + 1) % 3, d), 0) << "Nln = 1 divides 3";

  const JobHosts six = job_of(subnet, "1,2,5,13,15,16");
  const Selection two_each = select(subnet, six, Method::node, Pattern::shift(6)).value();
  EXPECT_EQ(lid_of(subnet, six, two_each, 0, 3), 4 * (13 + 1) + 3 % 2) << "Nln = 2 divides 6: BaseLID(13) + 3 mod 2";
  EXPECT_THAT(hot_spots(subnet, six, Method::node), ElementsAre());
  EXPECT_FALSE(hot_spots(subnet, six, Method::conventional).empty());

  const JobHosts five = job_of(subnet, "0,1,3,4,6");
  const Selection uneven = select(subnet, five, Method::node, Pattern::shift(5)).value();
  EXPECT_EQ(uneven.offset(0, 4), 4 % 3) << "Nln = 2 does not divide 5: M = K";
}

TEST(Methods, NodeFreesEightNodesThatCollideConventionally) {
  const Subnet subnet = subnet_of("3-ary-2-tree");
  const JobHosts eight = job_of(subnet, "3,4,5,7,8,10,12,14");
  EXPECT_FALSE(hot_spots(subnet, eight, Method::conventional).empty());
  EXPECT_THAT(hot_spots(subnet, eight, Method::node), ElementsAre());
}

// Section 5.3: full speed up to 12 nodes and for multiples of 6, with hot spots else; conventional and per-node alike.
TEST(Methods, NodesInARowAreFreeUpToTwoLeavesAndForWholeLeaves) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  for (std::uint32_t n = 3; n <= 30; ++n) {
    const JobHosts job = job_of(subnet, "0-" + std::to_string(n - 1));
    const bool free = n <= 12 || n % 6 == 0;
    const LoadReport conventional = shift_load(subnet, job, Method::conventional);
    EXPECT_EQ(conventional.hot_spots.empty(), free) << n;
    EXPECT_EQ(shift_load(subnet, job, Method::node).largest, conventional.largest) << n;
    EXPECT_TRUE(shift_load(subnet, job, Method::colouring).hot_spots.empty()) << n;
  }
}

// The listing, worked by hand: 3-ary tree, nodes 0,1 | 3,4 | 6. Per node (M = 3) roots are d mod 3.
// sd = 1: 0->1 local; 1->2 is fixed on root 2 (leaf 0 up, leaf 1 down). s = 4: 4->0 on root 0, unused: stays.
// s = 3: 3->4 on root 1: stays. s = 2: 2->3 local. sd = 2: fixed 0->2 on 2, 1->3 on 0. s = 4: 4->1 on root 1, stays.
// s = 3: 3->0 on root 0, stays. s = 2: 2->4 on root 1: leaf 1 up free, leaf 2 down free: stays.
TEST(Methods, PairFollowsTheListing) {
  const std::vector<SwitchIndex> leaves{0, 0, 1, 1, 2};
  const std::vector<UpPath> table = pair_table(leaves, 3);
  const auto root = [&](std::uint32_t s, std::uint32_t d) { return table[s * 5 + d]; };
  EXPECT_EQ(root(1, 2), 2U);
  EXPECT_EQ(root(4, 0), 0U);
  EXPECT_EQ(root(3, 4), 1U);
  EXPECT_EQ(root(2, 4), 1U);
  // sd = 3: fixed 0->3 on root 0, 1->4 on root 1. s = 4: 4->2 on root 2 stays. s = 3: 3->1 on root 1 stays.
  // s = 2: 2->0 on root 0: leaf 1 up 0 unused, leaf 0 down 0 unused: stays.
  EXPECT_EQ(root(4, 2), 2U);
  EXPECT_EQ(root(2, 0), 0U);
  // sd = 4: fixed 0->4 on root 1, 1->0 local. s = 4: 4->3 on root 0 stays; s = 3: 3->2 local; s = 2: 2->1 on root 1 stays.
  EXPECT_EQ(root(4, 3), 0U);
  EXPECT_EQ(root(2, 1), 1U);
}

// Two flows of one leaf on one root: 0 | 1 2 | 3 4 with K = 2. Nln = 2 does not divide 5, so roots are d mod 2.
// sd = 1: fixed 0->1 on root 1. s = 4: 4->0 on 0. s = 2: 2->3 on 1. (1->2, 3->4 local.) No conflict.
// sd = 2: fixed 0->2 on root 0 (up 0/0, down leaf1/0). s = 4: 4->1 on root 1, stays: down leaf1/1 used.
// s = 3: 3->0 on root 0: up leaf2/0 unused, stays. s = 2: 2->4 on root 0: stays (up leaf1/0, down leaf2/0).
// s = 1: 1->3 on root 1: up leaf1/1 unused, down leaf2/1 unused: stays.
// sd = 3: fixed 0->3 on 1 (down leaf2/1). s = 4: 4->2 on 0. s = 3: 3->1 on 1. s = 2: 2->0 on 0. s = 1: 1->4 on root 0: its
// link up leaf1/0 is used by 2->0; root 1 = (0 - 1) mod 2 has leaf1/1 up unused but leaf2/1 down used: no idle root, stays.
TEST(Methods, PairStaysWhereNoRootIsIdle) {
  const std::vector<SwitchIndex> leaves{0, 1, 1, 2, 2};
  const std::vector<UpPath> table = pair_table(leaves, 2);
  EXPECT_EQ(table[1 * 5 + 4], 0U);
  EXPECT_EQ(table[2 * 5 + 0], 0U);
}

TEST(Methods, RankAsTheReportsSay) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  std::mt19937 dice(3);
  std::array<int, kMethods.size()> free{};
  constexpr int kSets = 300;
  for (int set = 0; set < kSets; ++set) {
    const JobHosts job = testing::random_job(subnet, 16, dice);
    for (std::size_t m = 0; m < kMethods.size(); ++m)
      free[m] += shift_load(subnet, job, kMethods[m]).hot_spots.empty() ? 1 : 0;
  }
  EXPECT_LT(free[0], kSets / 20) << "conventional: hardly ever";
  EXPECT_NEAR(free[1], 0.67 * kSets, 0.09 * kSets) << "node: two of three";
  EXPECT_GT(free[2], 0.90 * kSets) << "pair: nearly always";
  EXPECT_LT(free[2], kSets) << "pair: a heuristic";
  EXPECT_EQ(free[3], kSets) << "colouring: always";
}

TEST(Methods, ChooseTheSameWaysWhateverTheRuleOfLids) {
  const Subnet spread = subnet_of("6-ary-2-tree:30");
  const Subnet report = subnet_of("6-ary-2-tree:30", {}, "", kReportLids);
  std::mt19937 dice(14);
  for (int set = 0; set < 20; ++set) {
    const JobHosts job = testing::random_job(spread, 2 + dice() % 29, dice);
    const Pattern pattern = Pattern::shift(job.nodes());
    for (const Method method : kMethods) {
      const Selection one = select(spread, job, method, pattern).value();
      const Selection other = select(report, job, method, pattern).value();
      for (std::uint32_t s = 0; s < job.nodes(); ++s)
        for (std::uint32_t d = 0; d < job.nodes(); ++d) {
          if (job.same_leaf(s, d)) continue;
          ASSERT_EQ(spread.lids.up_path(job.hosts[d], one.offset(s, d)),
                    report.lids.up_path(job.hosts[d], other.offset(s, d)))
              << to_string(method);
          ASSERT_TRUE(method != Method::conventional || one.offset(s, d) == 0) << "the base LID is conventional";
        }
    }
  }
}

TEST(Methods, SayWhereTheyDoNotApply) {
  const Subnet deep = subnet_of("2-ary-3-tree");
  const Subnet few = subnet_of("6-ary-2-tree:30", 1);
  const Pattern pattern = Pattern::shift(2);
  for (const Method method : {Method::node, Method::pair}) {
    EXPECT_THAT(select(deep, job_of(deep, "0,9"), method, pattern).error().fact,
                HasSubstr("two levels, this one has 3"));
    EXPECT_THAT(select(few, job_of(few, "0,9"), method, pattern).error().fact, HasSubstr("2 LIDs for 6 up-paths"));
  }
  EXPECT_TRUE(select(few, job_of(few, "0,9"), Method::conventional, pattern));
  EXPECT_THAT(parse_method("coloring").error().fact, HasSubstr("did you mean colouring?"));
  for (const Method method : kMethods) EXPECT_EQ(parse_method(to_string(method)).value(), method);
}

// The smallest job that the per-node table leaves a hot spot for and the moving rule repairs: at distance 2 the flow 2 -> 4 finds the
// link from leaf1 to root0 in use, and takes root 1, which nobody uses or is likely to. Nothing else moves.
TEST(Methods, PairMovesExactlyWhatIsInTheWay) {
  const std::vector<SwitchIndex> leaves{0, 0, 1, 1, 2};
  const std::vector<UpPath> before = node_table(leaves, 2);
  std::vector<UpPath> expected = before;
  expected[2 * 5 + 4] = 1;
  EXPECT_EQ(before[2 * 5 + 4], 0U);
  EXPECT_EQ(pair_table(leaves, 2), expected);
  const Subnet subnet = subnet_of("2-ary-2-tree");
  const JobHosts job = job_of(subnet, "0-4");
  EXPECT_THAT(hot_spots(subnet, job, Method::node), Contains("2: leaf1->root0"));
  EXPECT_TRUE(hot_spots(subnet, job, Method::pair).empty());
}

// The smallest job that it does not repair (docs/routing.md goes through it; pair_readings_test.cpp tries all that are smaller).
TEST(Methods, PairLeavesAHotSpotToFiveNodes) {
  const Subnet subnet = subnet_of("2-ary-2-tree");
  const JobHosts job = job_of(subnet, "0,2-5");
  EXPECT_EQ(pair_table(job.leaves, 2), node_table(job.leaves, 2)) << "nothing can move by the rule";
  EXPECT_THAT(hot_spots(subnet, job, Method::pair), ElementsAre("3: leaf1->root0"));
  EXPECT_TRUE(hot_spots(subnet, job, Method::colouring).empty());
}

// With three roots there are two others to choose from. `moves`: what differs from the starting table, which is d mod 3 here.
struct Move {
  std::uint32_t from, to;
  UpPath root;
};
void expect_moves(const std::vector<SwitchIndex>& leaves, const std::vector<Move>& moves) {
  std::vector<UpPath> expected = node_table(leaves, 3);
  for (const Move& move : moves) {
    UpPath& root = expected[move.from * leaves.size() + move.to];
    EXPECT_EQ(root, move.to % 3);
    EXPECT_NE(root, move.root);
    root = move.root;
  }
  EXPECT_EQ(pair_table(leaves, 3), expected);
}

// 0 1 2 | 3 4 5 | 6. Distance 2: 6->1 on root 1 and 5->0 on root 0 find nothing in use and stay. 4->6 on root 0 finds up 1-0 in use, by
// 5->0. Nobody uses, or is likely to use, up 1-1, up 1-2, down 2-1 or down 2-2: (0 - 1) mod 3 = 2 comes first.
// Distance 3: 3->6 on root 0 finds up 1-0 in use by 4->0, and up 1-1 by 5->1; root 2 is idle.
TEST(PairMoves, ToTheRootBeforeFirst) {
  expect_moves({0, 0, 0, 1, 1, 1, 2}, {{4, 6, 2}, {3, 6, 2}});
}

// 0 1 | 2 3 4 | 5 6. Distance 3: 6->2, 5->1 and 4->0 stay. 3->6 on root 0 finds up 1-0 in use by 4->0. Root 2 comes first, with
// nothing in use, but 2->5 is likely to take both its links; nobody is likely to take those of root 1, so that is taken.
// Distance 4: 2->6 on root 0 is in the way of 3->0, but 1->5 uses down 2-2 and 4->1 up 1-1: it stays.
TEST(PairMoves, ToAnIdleRootRatherThanALikelyIdleOne) {
  expect_moves({0, 0, 1, 1, 1, 2, 2}, {{3, 6, 1}});
}

// 0 1 | 2 3 | 4 5 6 | 7 8 9. Distance 4: 9->3, 8->2, 7->1 and 6->0 stay.
//   5->9 on 0: up 2-0 is in use by 6->0. Root 2: likely, by 4->8. Root 1: likely, by 3->7. None is idle; 2 came first.
//   4->8 on 2: in use now. Root 1: likely, by 3->7. Root 0: up 2-0 is in use. So 1.
//   3->7 on 1: down 3-1 is in use by that. Root 0: likely, by 2->6. Root 2: down 3-2 is in use. So 0.
//   2->6 on 0: up 1-0 is in use by that; roots 2 and 1 are down to leaf 2 by 1->5 and 0->4, which are fixed. It stays, in the way.
// Distance 5: 4->9 on 0 gives way to 5->0: root 2 is likely, by 3->8, and root 1 in use by 6->1. So 2, and 3->8 must leave it: root 1
// is likely, by 2->7, root 0 idle.
TEST(PairMoves, ToTheFirstLikelyIdleRootWhereNoneIsIdle) {
  expect_moves({0, 0, 1, 1, 2, 2, 2, 3, 3, 3}, {{5, 9, 2}, {4, 8, 1}, {3, 7, 0}, {4, 9, 2}, {3, 8, 0}});
}

} // namespace
} // namespace heddle::routing
