// The tables of `heddle route tables` on a real OpenSM: loaded by its file engine, read back from the switches entry for entry,
// and followed packet by packet. The 648-host tree runs only with LONG_TESTS=1.
#include "routing/ibnetdiscover.hpp"
#include "routing/load.hpp"
#include "routing/methods.hpp"
#include "routing/tree.hpp"
#include "tests/opensm/simulated_subnet.hpp"
#include "tests/tools/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace heddle::tests {
namespace {

using routing::HostIndex;
using routing::Subnet;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Opensm : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = SimulatedSubnet::missing(); !why.empty())
      GTEST_SKIP() << why << "; checks/setup installs it";
  }

  // Has the program write the files, and the same subnet planned here to compare with.
  Subnet prepare(const std::string& tree, const std::string& failed = "",
                 const routing::LidRule& rule = routing::kConventionalLids) {
    std::vector<std::string> arguments{"route", "tables", "--tree", tree, "--out", simulated_.folder().string()};
    if (!rule.spread) arguments.insert(arguments.end(), {"--lids", std::string(rule.name)});
    routing::Fabric fabric = routing::build_tree(routing::parse_tree(tree).value());
    if (!failed.empty()) {
      arguments.insert(arguments.end(), {"--failed", failed});
      EXPECT_TRUE(routing::fail(fabric, failed));
    }
    const Outcome outcome = heddle(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return std::move(routing::make_subnet(std::move(fabric), {}, rule).value());
  }

  void start() {
    std::string trouble;
    ASSERT_TRUE(simulated_.start(trouble)) << trouble;
  }

  // Every LID offset of `to`, from `from`: the switches that ibtracert passes are those that our tables name.
  void expect_traced(const Subnet& planned, HostIndex from, HostIndex to) {
    for (std::uint32_t offset = 0; offset < planned.lids.offsets(); ++offset) {
      std::vector<std::string> expected;
      const routing::Lid lid = planned.lids.lid(to, offset);
      ASSERT_TRUE(routing::follow(planned, from, to, lid, [&](routing::SwitchIndex at, routing::Port) {
        expected.push_back(planned.fabric.switches[at].name);
      }));
      EXPECT_EQ(simulated_.trace(planned.lids.lid(from, 0), lid), expected)
          << from << " to " << to << " offset " << offset;
    }
  }

  SimulatedSubnet simulated_;
};

TEST_F(Opensm, TakesTheTablesOfThirtyHosts) {
  const Subnet planned = prepare("6-ary-2-tree:30");
  start();
  EXPECT_THAT(simulated_.load_tables(planned.lids.lmc, 60), IsEmpty());
  for (const HostIndex to : {7U, 18U, 29U}) expect_traced(planned, 0, to);
  expect_traced(planned, 16, 3);
  EXPECT_THAT(simulated_.trace(8, 240), ElementsAre("leaf0", "root5", "leaf4")) << "host 29's base LID: root 29 mod 6";
  EXPECT_THAT(simulated_.trace(8, 244), ElementsAre("leaf0", "root3", "leaf4")) << "the fourth up-path from there";
}

TEST_F(Opensm, TakesTablesOfTheReportsRule) {
  const Subnet planned = prepare("6-ary-2-tree:30", "", routing::kReportLids);
  start();
  EXPECT_THAT(simulated_.load_tables(planned.lids.lmc, 60), IsEmpty());
  expect_traced(planned, 0, 29);
  EXPECT_THAT(simulated_.trace(8, 240), ElementsAre("leaf0", "root0", "leaf4"));
  EXPECT_THAT(simulated_.trace(8, 244), ElementsAre("leaf0", "root4", "leaf4")) << "root 244 mod 2^lmc";
}

TEST_F(Opensm, TakesTablesOfThreeLevels) {
  const Subnet planned = prepare("3-ary-3-tree:40");
  start();
  EXPECT_THAT(simulated_.load_tables(planned.lids.lmc, 60), IsEmpty());
  expect_traced(planned, 0, 39);
  expect_traced(planned, 20, 4);
}

TEST_F(Opensm, TakesTablesWithParallelCablesAndAroundFailures) {
  const Subnet planned = prepare("4-ary-2-tree:14,links=2", "leaf0-root1:2,host5,leaf2-root0");
  start();
  EXPECT_THAT(simulated_.load_tables(planned.lids.lmc, 60), IsEmpty());
  for (const HostIndex to : {9U, 13U}) expect_traced(planned, 0, to);
}

TEST_F(Opensm, ShowsTheTopologyThatTheProgramPlansOn) {
  const Subnet planned = prepare("3-ary-2-tree:16");
  start();
  ASSERT_THAT(simulated_.load_tables(planned.lids.lmc, 60), IsEmpty());
  simulated_.write("topology", simulated_.discover());
  const auto found = routing::parse_ibnetdiscover(simulated_.read("topology"));
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->levels, 2U);
  for (HostIndex host = 0; host < 16; ++host) EXPECT_EQ(found->hosts[host].name, planned.fabric.hosts[host].name);

  const std::string topology = (simulated_.folder() / "topology").string();
  const Outcome outcome =
      heddle({"route", "load", "--topology", topology, "--nodes", "3,5,6,9", "--json", "--method", "conventional"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr(R"({"shift":2,"link":"leaf1->root0","load":2})"));

  SimulatedSubnet again; // tables made from what was discovered, on a subnet of their own
  ASSERT_EQ(heddle({"route", "tables", "--topology", topology, "--out", again.folder().string()}).status, 0);
  std::string trouble;
  ASSERT_TRUE(again.start(trouble)) << trouble;
  EXPECT_THAT(again.load_tables(planned.lids.lmc, 60), IsEmpty());
}

// The up-paths in which OpenSM goes wrong without saying so: the check must see each.
TEST_F(Opensm, IsNotTrustedWithoutLooking) {
  const Subnet planned = prepare("3-ary-2-tree:9");
  const std::string lfts = simulated_.read("lfts");
  start();

  simulated_.write("lfts",
                   lfts + "Unicast lids [0-9] of switch Lid 1 guid 0x0002c90100000099 ('ghost'):\n0x0004 001\n");
  EXPECT_THAT(simulated_.load_tables(planned.lids.lmc, 60), Not(IsEmpty())) << "a table for a switch that is not there";
}

TEST_F(Opensm, IsSeenToGiveOutOtherLids) {
  const Subnet planned = prepare("3-ary-2-tree:9");
  std::string guid2lid = simulated_.read("guid2lid");
  for (std::size_t at = 0; (at = guid2lid.find("0x0002c9", at)) != std::string::npos;) guid2lid.replace(at, 8, "0x2c9");
  simulated_.write("guid2lid", guid2lid);
  start();
  EXPECT_THAT(simulated_.load_tables(planned.lids.lmc, 60), ::testing::Contains(HasSubstr("other LIDs than planned")));
}

TEST_F(Opensm, IsSeenToLeaveOutASwitch) {
  const Subnet planned = prepare("3-ary-2-tree:9");
  const std::string lfts = simulated_.read("lfts");
  const std::size_t second = lfts.find("Unicast lids", 1);
  start();
  simulated_.write("lfts", lfts.substr(second)); // without leaf0
  simulated_.load_tables(planned.lids.lmc, 60);
  const auto found = simulated_.tables();
  ASSERT_TRUE(found);
  EXPECT_LT(found->size(), routing::parse_lfts(lfts)->size());
}

// Who knows only base LIDs is routed as OpenSM's own engine would route one LID per host: entry for entry.
TEST_F(Opensm, RoutesByFtreeAsOurTablesRouteBaseLids) {
  const Subnet planned = prepare("6-ary-2-tree:30");
  const auto single = routing::make_subnet(planned.fabric, 0); // ftree knows no LMC
  ASSERT_TRUE(single);
  simulated_.write("guid2lid", routing::guid2lid_file(*single));
  start();
  EXPECT_THAT(simulated_.route_by_ftree(60), IsEmpty());
  const auto found = simulated_.tables();
  ASSERT_TRUE(found);
  std::size_t compared = 0;
  for (const auto& entry : *found) {
    if (entry.lid > planned.fabric.hosts.size()) continue; // a switch's
    const HostIndex host = entry.lid - 1U;
    const auto at = std::ranges::find(planned.fabric.switches, entry.guid, &routing::Switch::guid);
    ASSERT_NE(at, planned.fabric.switches.end());
    const auto index = static_cast<routing::SwitchIndex>(at - planned.fabric.switches.begin());
    EXPECT_EQ(entry.port, planned.tables.port(index, planned.lids.lid(host, 0))) << at->name << " to host " << host;
    ++compared;
  }
  EXPECT_EQ(compared, 11U * 30U);
}

TEST_F(Opensm, LongTakesTheTablesOf648Hosts) {
  if (std::getenv("LONG_TESTS") == nullptr) GTEST_SKIP() << "takes half a minute: set LONG_TESTS=1";
  const Subnet planned = prepare("18-ary-2-tree");
  EXPECT_EQ(planned.lids.lmc, 5U);
  start();
  EXPECT_THAT(simulated_.load_tables(planned.lids.lmc, 300), IsEmpty());
  for (const HostIndex to : {18U, 333U, 647U}) expect_traced(planned, 0, to);
}

} // namespace
} // namespace heddle::tests
