#include "routing/lids.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::HasSubstr;

// Figure 4 of the first report.
TEST(Lids, NumbersTheThreeAryTreeAsTheReportDoes) {
  const Subnet subnet = testing::subnet_of("3-ary-2-tree", {}, "", kReportLids);
  const LidPlan& lids = subnet.lids;
  EXPECT_EQ(lids.lmc, 2U);
  EXPECT_EQ(lids.lid(0, 0), 4);
  EXPECT_EQ(lids.offsets(), 3U);
  for (std::uint32_t root = 0; root < 3; ++root) {
    const Lid lid = lids.lid(0, root);
    const Port port = subnet.tables.port(4, lid);
    EXPECT_EQ(subnet.fabric.switches[subnet.fabric.switches[4].ports[port].index].name,
              "root" + std::to_string(lid % 4));
  }
  for (SwitchIndex at = 0; at < subnet.fabric.switches.size(); ++at) EXPECT_EQ(subnet.tables.port(at, 7), kUnset);
}

TEST(Lids, SpreadsBaseLidsOverTheWaysInTurn) {
  const LidPlan lids = testing::subnet_of("6-ary-2-tree:30").lids;
  for (HostIndex host = 0; host < 30; ++host)
    for (std::uint32_t offset = 0; offset < 6; ++offset) EXPECT_EQ(lids.up_path(host, offset), (host + offset) % 6);
}

TEST(Lids, UsesAsManyAsTheWaysNeed) {
  EXPECT_EQ(testing::subnet_of("6-ary-2-tree:30").lids.lmc, 3U);
  EXPECT_EQ(testing::subnet_of("18-ary-2-tree").lids.lmc, 5U);
  EXPECT_EQ(testing::subnet_of("1-ary-2-tree").lids.lmc, 0U);
  EXPECT_EQ(testing::subnet_of("8-ary-2-tree,links=4").lids.lmc, 3U) << "two roots, four cables to each";
  EXPECT_EQ(testing::subnet_of("18-ary-2-tree").lids.limit, "");
}

TEST(Lids, SaysWhichLimitOfInfiniBandBinds) {
  const LidPlan many = testing::subnet_of("36-ary-2-tree").lids;
  EXPECT_EQ(many.lmc, 4U);
  EXPECT_LE(many.largest(), kLargestUnicastLid);
  EXPECT_THAT(many.limit, HasSubstr("16 LIDs for 36 up-paths: lmc 5 would need LIDs up to"));
  const LidPlan wide = testing::subnet_of("12-ary-3-tree:144").lids;
  EXPECT_EQ(wide.lmc, 7U);
  EXPECT_THAT(wide.limit, HasSubstr("no lmc above 7"));
  EXPECT_THAT(testing::subnet_of("6-ary-2-tree:30", 1).lids.limit, HasSubstr("as asked"));
}

TEST(Lids, FindsTheOffsetOfAWayBothWithAndWithoutEnoughLids) {
  std::vector<LidPlan> plans{testing::subnet_of("6-ary-2-tree:30", 3, "", kReportLids).lids};
  for (const std::uint32_t lmc : {0U, 1U, 2U, 3U}) plans.push_back(testing::subnet_of("6-ary-2-tree:30", lmc).lids);
  for (const LidPlan& lids : plans) {
    for (HostIndex host = 0; host < 30; ++host) {
      std::uint32_t found = 0;
      for (UpPath up_path = 0; up_path < 6; ++up_path)
        if (const auto offset = lids.offset(host, up_path)) {
          EXPECT_EQ(lids.up_path(host, *offset), up_path);
          ++found;
        }
      EXPECT_EQ(found, std::min(6U, lids.per_host()));
      EXPECT_TRUE(lids.offset(host, host % 6)) << "the conventional up-path is always there";
    }
  }
}

TEST(Lids, RefusesWhatDoesNotFit) {
  const Fabric fabric = testing::fabric_of("36-ary-2-tree");
  EXPECT_THAT(make_subnet(fabric, 8).error().fact, HasSubstr("lmc 8 is out of range: expected 0 to 7"));
  EXPECT_THAT(make_subnet(fabric, 5).error().fact, HasSubstr("a subnet has them up to 49151"));
  EXPECT_THAT(
      make_subnet(fabric, {}, kReportLids).error().fact,
      HasSubstr("the report's rule needs a LID for every up-path, but lmc 4 gives each host 16 LIDs for 36 up-paths"));
  EXPECT_THAT(parse_lid_rule("reports").error().message(),
              HasSubstr("'reports' (remedy: expected conventional or report"));
  for (const LidRule& rule : kLidRules) EXPECT_EQ(parse_lid_rule(rule.name).value().spread, rule.spread);
}

} // namespace
} // namespace heddle::routing
