#include "routing/tables.hpp"

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

// Every LID in use leads from every host to its owner; returns the roots passed.
void expect_all_arrive(const Subnet& subnet, const std::string& what) {
  const JobHosts all = whole_job(subnet.fabric);
  for (const HostIndex from : all.hosts)
    for (const HostIndex to : all.hosts)
      for (std::uint32_t offset = 0; offset < subnet.lids.offsets(); ++offset) {
        bool down = false;
        std::uint32_t level = 0;
        const bool arrives =
            from == to || follow(subnet, from, to, subnet.lids.lid(to, offset), [&](SwitchIndex at, Port) {
              const std::uint32_t now = subnet.fabric.switches[at].level;
              down = down || now < level;
              EXPECT_FALSE(down && now > level) << what << ": down and up again";
              level = now;
            });
        ASSERT_TRUE(arrives) << what << ": " << from << " to " << to << " offset " << offset;
      }
}

TEST(Tables, RefusesThoseThatWouldFillTheMemory) {
  const auto subnet = make_subnet(build_tree(parse_tree("127-ary-3-tree:2000").value()));
  ASSERT_FALSE(subnet);
  EXPECT_EQ(subnet.error().fact, "tables of 16272 switches for 18272 LIDs have more than 268435456 entries");
}

TEST(Tables, BringEveryLidToItsHost) {
  for (const char* tree : {"6-ary-2-tree:30", "3-ary-3-tree", "2-ary-4-tree", "4-ary-2-tree,links=2",
                           "4-ary-2-tree,hosts=8,uplinks=2", "4-ary-3-tree:50,links=2"})
    expect_all_arrive(testing::subnet_of(tree), tree);
}

TEST(Tables, BringEveryLidToItsHostAroundFailures) {
  expect_all_arrive(testing::subnet_of("6-ary-2-tree:30", {}, "leaf0-root1,root3,host7,leaf2-root0"), "two levels");
  expect_all_arrive(testing::subnet_of("3-ary-3-tree", {}, "leaf0-middle1,middle5-root8,root0,middle9"),
                    "three levels");
  expect_all_arrive(testing::subnet_of("4-ary-2-tree,links=2", {}, "leaf0-root1:2,leaf3-root0,leaf3-root0"),
                    "parallel");
  expect_all_arrive(testing::subnet_of("6-ary-2-tree:30", 1, "leaf0-root1,root3"), "few LIDs");
}

TEST(Tables, TakeTheRootThatTheLidNames) {
  for (const LidRule& rule : kLidRules) {
    const Subnet subnet = testing::subnet_of("4-ary-3-tree", {}, "", rule);
    for (HostIndex to : {0U, 77U})
      for (std::uint32_t offset = 0; offset < subnet.lids.offsets(); ++offset) {
        SwitchIndex top = 0;
        follow(subnet, 127, to, subnet.lids.lid(to, offset), [&](SwitchIndex at, Port) { top = std::max(top, at); });
        if (subnet.fabric.hosts[to].leaf / 4 != subnet.fabric.hosts[127].leaf / 4) {
          EXPECT_EQ(top, subnet.up_paths.root(subnet.lids.up_path(to, offset)));
        }
      }
  }
}

using Hops = std::vector<std::pair<SwitchIndex, Port>>;

Hops hops(const Subnet& subnet, HostIndex from, HostIndex to, std::uint32_t offset) {
  Hops passed;
  EXPECT_TRUE(follow(subnet, from, to, subnet.lids.lid(to, offset),
                     [&](SwitchIndex at, Port port) { passed.emplace_back(at, port); }));
  return passed;
}

// What a subnet without several LIDs does today: the tables of lmc 0, and the conventional choice among the report's LIDs.
TEST(Tables, SendBaseLidsAsTablesOfOneLidPerHostDo) {
  struct Case {
    const char* tree;
    const char* failed;
  };
  for (const Case& one : {Case{"6-ary-2-tree:30", ""}, Case{"4-ary-2-tree,links=2", ""},
                          Case{"4-ary-2-tree,hosts=8,uplinks=2", ""}, Case{"3-ary-3-tree:40", ""},
                          Case{"2-ary-4-tree", ""}, Case{"6-ary-2-tree:30", "leaf0-root1,root3,host7,leaf2-root0"},
                          Case{"3-ary-3-tree", "leaf0-middle1,middle5-root8,root0,middle9"},
                          Case{"2-ary-4-tree", "leaf0-middle1,middle9-middle25,root3"},
                          Case{"4-ary-2-tree,links=2", "leaf0-root1:2,leaf3-root0,leaf3-root0"}}) {
    SCOPED_TRACE(one.tree + std::string(" without ") + one.failed);
    const Subnet subnet = testing::subnet_of(one.tree, {}, one.failed);
    const Subnet single = testing::subnet_of(one.tree, 0, one.failed);
    const Subnet reports = testing::subnet_of(one.tree, {}, one.failed, kReportLids);
    ASSERT_GT(subnet.lids.lmc, 0U);
    const JobHosts all = whole_job(subnet.fabric);
    for (const HostIndex from : all.hosts)
      for (const HostIndex to : all.hosts) {
        const Hops base = hops(subnet, from, to, 0);
        ASSERT_EQ(base, hops(single, from, to, 0)) << from << " to " << to;
        ASSERT_EQ(base, hops(reports, from, to, reports.lids.offset(to, to % reports.lids.up_paths).value()));
      }
  }
}

// The same from the definition: on its way up, a packet to host i takes the uplink that the next digit of i, base K, names.
TEST(Tables, SendBaseLidsUpByTheDigitsOfTheHost) {
  for (const auto& [k, levels] : {std::pair(6U, 2U), std::pair(3U, 3U), std::pair(2U, 4U)}) {
    const Subnet subnet = testing::subnet_of(std::to_string(k) + "-ary-" + std::to_string(levels) + "-tree");
    const JobHosts all = whole_job(subnet.fabric);
    for (const HostIndex from : all.hosts)
      for (const HostIndex to : all.hosts) {
        HostIndex digits = to;
        for (const auto& [at, port] : hops(subnet, from, to, 0)) {
          const Switch& here = subnet.fabric.switches[at];
          if (!subnet.fabric.is_up(here.level, here.ports[port])) break;
          ASSERT_EQ(port, 1 + k + digits % k) << from << " to " << to << " at " << here.name;
          digits /= k;
        }
      }
  }
}

TEST(Tables, SayWhichHostsCannotReachEachOther) {
  const auto reachable = [](const char* failed) {
    const auto checked = check_reachable(testing::subnet_of("2-ary-2-tree", {}, failed));
    return checked ? "" : checked.error().message();
  };
  EXPECT_EQ(reachable(""), "");
  EXPECT_EQ(reachable("root0,leaf1-root1,leaf1"), "") << "hosts of a failed leaf are not asked for";
  EXPECT_EQ(reachable("root0,root1"),
            "unreachable: packets from host0 to host2 do not arrive: no path up and down the tree is left");
  EXPECT_EQ(reachable("leaf3-root0,leaf3-root1").substr(0, 50), "unreachable: packets from host0 to host6 do not ar");
  EXPECT_EQ(reachable("root0,leaf1-root1").substr(0, 50), "unreachable: packets from host0 to host2 do not ar");
  EXPECT_EQ(reachable("leaf0,leaf1,leaf2,leaf3"), "bad_argument: no host is left");
  EXPECT_EQ(reachable("leaf0,leaf1,leaf2,root0,root1"), "") << "one leaf needs no root";
}

TEST(Tables, ReachSwitchesToo) {
  const Subnet subnet = testing::subnet_of("3-ary-3-tree:20");
  for (SwitchIndex from = 0; from < subnet.fabric.switches.size(); ++from)
    for (SwitchIndex to = 0; to < subnet.fabric.switches.size(); ++to) {
      SwitchIndex at = from;
      for (int hop = 0; hop < 8 && at != to; ++hop)
        at = subnet.fabric.switches[at].ports[subnet.tables.port(at, subnet.lids.switch_lid(to))].index;
      EXPECT_EQ(at, to);
      EXPECT_EQ(subnet.tables.port(to, subnet.lids.switch_lid(to)), 0);
    }
}

TEST(Tables, NoticeLoopsAndDrops) {
  Subnet subnet = testing::subnet_of("3-ary-2-tree");
  const Lid lid = subnet.lids.lid(17, 0);
  const SwitchIndex root = subnet.up_paths.root(subnet.lids.up_path(17, 0));
  subnet.tables.set(root, lid, 1); // back down to leaf 0
  EXPECT_FALSE(follow(subnet, 0, 17, lid, [](SwitchIndex, Port) {}));
  subnet.tables.set(root, lid, kUnset);
  EXPECT_FALSE(follow(subnet, 0, 17, lid, [](SwitchIndex, Port) {}));
}

} // namespace
} // namespace heddle::routing
