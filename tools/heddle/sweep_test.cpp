#include "tools/heddle/sweep.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::tool {
namespace {

using routing::JobHosts;
using routing::Method;
using routing::Selection;
using routing::Subnet;
using routing::testing::job_of;
using routing::testing::subnet_of;
using ::testing::HasSubstr;

TEST(Sweep, AgreesWithTheAveragesOfTheReport) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  const auto results = sweep(
      subnet, {.pick = 16, .sets = 1000, .seed = 1, .methods = {routing::kMethods.begin(), routing::kMethods.end()}});
  ASSERT_TRUE(results) << results.error().message();
  const Statistics conventional = statistics_of((*results)[0].mb_s);
  const Statistics node = statistics_of((*results)[1].mb_s);
  EXPECT_NEAR(conventional.average, 1198, 0.05 * 1198);
  EXPECT_NEAR(node.average, 1607, 0.05 * 1607);
  EXPECT_NEAR(node.average / conventional.average, 1.34, 0.05 * 1.34);
  EXPECT_NEAR(statistics_of((*results)[0].relative).average, 0.66, 0.01);
  EXPECT_EQ((*results)[3].hot_spot_free, 1000U);
  EXPECT_DOUBLE_EQ(statistics_of((*results)[3].relative).worst, 1.0);
}

TEST(Sweep, DrawsTheSameSetsForTheSameSeed) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  const SweepRequest request{.pick = 9, .sets = 20, .seed = 7, .methods = {Method::conventional}};
  EXPECT_EQ(sweep(subnet, request)->front().mb_s, sweep(subnet, request)->front().mb_s);
  SweepRequest other = request;
  other.seed = 8;
  EXPECT_NE(sweep(subnet, request)->front().mb_s, sweep(subnet, other)->front().mb_s);
}

TEST(Sweep, RefusesSetsThatCannotBeDrawn) {
  const Subnet subnet = subnet_of("3-ary-2-tree");
  const auto fact = [&](std::uint32_t pick, std::uint32_t sets) {
    return sweep(subnet, {.pick = pick, .sets = sets, .methods = {Method::node}}).error().fact;
  };
  EXPECT_THAT(fact(19, 1), HasSubstr("cannot pick 19 nodes: expected 2 to 18"));
  EXPECT_THAT(fact(1, 1), HasSubstr("cannot pick 1 nodes"));
  EXPECT_THAT(fact(2, 0), HasSubstr("0 sets"));
}

TEST(AlltoallModel, GivesTheHighestFigureOfTheReportWithoutHotSpots) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  const auto speed = speed_of(subnet, job_of(subnet, "0-15"), Method::colouring);
  EXPECT_NEAR(speed->mb_s, 1716, 2);
  EXPECT_TRUE(speed->hot_spot_free);
  EXPECT_DOUBLE_EQ(speed->relative, 1);
}

TEST(AlltoallModel, SlowsDownByWhatALinkIsShared) {
  const Subnet subnet = subnet_of("3-ary-2-tree", {}, "", routing::kReportLids);
  const JobHosts pair = job_of(subnet, "0,1,3,4");
  Selection same(4);
  for (std::uint32_t s = 0; s < 4; ++s)
    for (std::uint32_t d = 0; d < 4; ++d) same.set(s, d, 0); // all by one root
  routing::AlltoallMachine machine{.message_bytes = 1e6, .processes = 1, .in_node_mb_s = 1e9, .link_mb_s = 1000};
  const auto speed = routing::alltoall_speed(subnet, pair, same, machine);
  // Distances 1 and 3 cross with one flow each way, distance 2 with two: 1 + 2 + 1 ms for 3 MB.
  EXPECT_NEAR(speed->mb_s, 3.0 / 0.004, 0.1);
  EXPECT_DOUBLE_EQ(speed->relative, 0.75);
  EXPECT_FALSE(speed->hot_spot_free);
}

TEST(AlltoallModel, NeedsTwoNodes) {
  const Subnet subnet = subnet_of("3-ary-2-tree");
  EXPECT_FALSE(speed_of(subnet, job_of(subnet, "5"), Method::colouring));
}

} // namespace
} // namespace heddle::tool
