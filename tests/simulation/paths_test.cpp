// Paths in the library: planned at join from what processes publish, taken by packets because of the LID they carry.
#include "job/path_plan.hpp"
#include "routing/load.hpp"
#include "routing/methods.hpp"
#include "routing/subnet_text.hpp"
#include "routing/tree.hpp"
#include "sim/description.hpp"
#include "tools/heddle/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace heddle::tests {
namespace {

using routing::Method;

routing::Subnet subnet_of(const char* tree, std::uint32_t lmc,
                          const routing::LidRule& rule = routing::kConventionalLids) {
  return *routing::make_subnet(routing::build_tree(*routing::parse_tree(tree)), lmc, rule);
}

using Passed = std::vector<std::string>; // names of switches

Passed passed_in_simulation(const sim::Fabric& fabric, const sim::Wiring& wiring, std::uint32_t from, std::uint32_t to,
                            std::uint32_t lid) {
  Passed passed;
  const auto links = sim::path(fabric, wiring, sim::node_end(from), {.node = to, .lid = lid});
  EXPECT_TRUE(links) << links.error().message();
  for (const std::uint32_t link : *links) {
    const sim::End& end = fabric.links[link].to;
    if (end.kind == sim::End::Kind::switch_) passed.push_back(fabric.switch_names[end.index]);
  }
  return passed;
}

Passed passed_by_tables(const routing::Subnet& subnet, std::uint32_t from, std::uint32_t to, routing::Lid lid) {
  Passed passed;
  EXPECT_TRUE(routing::follow(subnet, from, to, lid, [&](routing::SwitchIndex at, routing::Port) {
    passed.push_back(subnet.fabric.switches[at].name);
  }));
  return passed;
}

// Every LID of every host, switch by switch, on trees of all kinds, with cables, switches and hosts that have failed.
TEST(Paths, LeadThroughTheSwitchesThatTheyWerePlannedFor) {
  for (const char* text :
       {"6-ary-2-tree:30,lmc=3", "6-ary-2-tree:30,lmc=0", "4-ary-2-tree,lmc=1", "2-ary-3-tree,lmc=2",
        "3-ary-3-tree,lmc=2", "3-ary-3-tree:40,lmc=4", "2-ary-4-tree,lmc=3", "2-ary-5-tree,lmc=0", "4-ary-1-tree,lmc=0",
        "6-ary-2-tree:30,lmc=3,lids=report", "3-ary-3-tree,lmc=4,lids=report",
        "4-ary-2-tree,lmc=3,hosts=6,uplinks=4,links=2", "6-ary-2-tree:30,lmc=3,failed=leaf0-root1,failed=host7",
        "6-ary-2-tree:30,lmc=3,failed=root2,failed=leaf4-root5", "3-ary-3-tree,lmc=3,failed=leaf1-middle1"}) {
    SCOPED_TRACE(text);
    const auto subnet = routing::open_subnet(*routing::parse_subnet(text));
    ASSERT_TRUE(subnet) << subnet.error().message();
    const auto fabric = sim::parse_fabric(std::string("infiniband:") + text);
    ASSERT_TRUE(fabric) << fabric.error().message();
    const auto wiring = sim::wire(*fabric);
    ASSERT_TRUE(wiring);
    ASSERT_TRUE(sim::check_tables(*fabric, *wiring));
    const auto hosts = routing::whole_job(subnet->fabric).hosts;
    for (std::size_t i = 0; i < hosts.size(); i += 5)
      for (const std::uint32_t to : hosts)
        for (std::uint32_t offset = 0; hosts[i] != to && offset < subnet->lids.offsets(); ++offset) {
          const routing::Lid lid = subnet->lids.lid(to, offset);
          ASSERT_EQ(passed_in_simulation(*fabric, *wiring, hosts[i], to, lid),
                    passed_by_tables(*subnet, hosts[i], to, lid))
              << hosts[i] << " to " << to << " offset " << offset;
        }
  }
}

std::vector<routing::Location> locations_of(const std::vector<std::uint32_t>& hosts, std::uint32_t lmc) {
  std::vector<routing::Location> locations;
  for (const std::uint32_t host : hosts) locations.push_back({.base_lid = (host + 1) << lmc, .lmc = lmc});
  return locations;
}

TEST(Paths, AreTheSelectionOfTheMethodForTheJobsNodes) {
  // Two processes on each node, in an order that is not the fabric's.
  const std::vector<std::uint32_t> host_of{17, 3, 3, 29, 5, 17, 5, 29, 8, 8};
  const routing::Subnet subnet = subnet_of("6-ary-2-tree:30", 3);
  const auto job = *routing::make_job(subnet.fabric, {3, 5, 8, 17, 29});
  const auto node = [&](std::uint32_t rank) {
    return static_cast<std::uint32_t>(std::ranges::find(job.hosts, host_of[rank]) - job.hosts.begin());
  };
  for (const routing::LidRule& rule : routing::kLidRules) {
    const routing::Subnet of_rule = subnet_of("6-ary-2-tree:30", 3, rule);
    for (const Method method : routing::kMethods) {
      const auto paths = job::PathPlan::plan("6-ary-2-tree:30,lids=" + std::string(rule.name),
                                             std::string(to_string(method)), locations_of(host_of, 3));
      ASSERT_TRUE(paths) << paths.error().message();
      const auto selection = *routing::select(of_rule, job, method, routing::Pattern::shift(5));
      for (std::uint32_t from = 0; from < host_of.size(); ++from)
        for (std::uint32_t to = 0; to < host_of.size(); ++to)
          EXPECT_EQ((*paths)->offset(from, to), selection.offset(node(from), node(to)));
    }
  }
}

TEST(Paths, AreRefusedWhereTheTopologyIsNotTheFabric) {
  const auto refusal = [](const char* topology, const char* method, std::uint32_t host, std::uint32_t lmc) {
    const auto paths = job::PathPlan::plan(topology, method, locations_of({0, host}, lmc));
    return paths ? std::string() : paths.error().message();
  };
  EXPECT_EQ(refusal("6-ary-2-tree:30", "colouring", 29, 3), "");
  EXPECT_NE(refusal("6-ary-2-tree:30", "colouring", 30, 3).find("rank 1 has LID 248"), std::string::npos);
  EXPECT_NE(refusal("6-ary-2-tree:30", "colourin", 29, 3).find("option paths"), std::string::npos);
  EXPECT_EQ(refusal("6-ary-2-tree:30,lids=report", "colouring", 29, 3), "");
  EXPECT_EQ(refusal("6-ary-2-tree:30,lids=zz", "colouring", 29, 3),
            "bad_option: option topology: no LID rule is called 'zz' (remedy: expected conventional or report)");
  EXPECT_NE(refusal("6-ary-2-tree:30,lids=report", "colouring", 29, 1).find("needs a LID for every up-path"),
            std::string::npos);
  EXPECT_NE(refusal("6-ary-2-tre", "colouring", 29, 3).find("option topology"), std::string::npos);
  EXPECT_NE(refusal("no/such/file", "colouring", 29, 3).find("option topology"), std::string::npos);
  EXPECT_NE(refusal("6-ary-2-tree:30", "pair", 29, 1).find("option paths"), std::string::npos) << "too few LIDs";
}

// Time of an all-to-all on these nodes of infiniband:TREE,PARAMETERS; paths empty: none are planned.
double measured_us(const std::string& tree, const std::string& parameters, const std::vector<std::uint32_t>& nodes,
                   const std::string& paths) {
  simulation::Setup setup{.fabric = "infiniband:" + tree + parameters, .nodes = nodes};
  if (!paths.empty()) setup.options.paths = paths;
  auto world = simulation::World::create(setup);
  EXPECT_TRUE(world) << world.error().message();
  const auto measured =
      tool::run_workload(*world, {.workload = tool::Workload::all_to_all, .bytes = 128 << 10, .rounds = 1});
  EXPECT_TRUE(measured) << measured.error().message();
  return static_cast<double>(measured->time.count()) / 1e6;
}

std::vector<std::uint32_t> random_nodes(std::uint32_t of, std::size_t count) {
  std::vector<std::uint32_t> nodes(of);
  std::iota(nodes.begin(), nodes.end(), 0U);
  std::mt19937_64 dice(5);
  std::ranges::shuffle(nodes, dice);
  nodes.resize(count);
  std::ranges::sort(nodes);
  return nodes;
}

TEST(Paths, OfColouringTakeAsLongOnRandomNodesAsOnWholeLeaves) {
  const auto measured = [](const std::vector<std::uint32_t>& nodes, const std::string& paths) {
    return measured_us("6-ary-2-tree:30", ",lmc=3", nodes, paths);
  };
  const std::vector<std::uint32_t> random = random_nodes(30, 12);
  std::vector<std::uint32_t> leaves(12);
  std::iota(leaves.begin(), leaves.end(), 0U);
  const double undisturbed = measured(leaves, "colouring");
  const double planned = measured(random, "colouring");
  const double conventional = measured(random, "conventional");
  EXPECT_LT(planned, 1.08 * undisturbed);
  EXPECT_GT(conventional, 1.15 * planned);
}

// To the picosecond: several LIDs change nothing for those who know only the first.
TEST(Paths, ThatNobodyPlannedTakeAsLongAsConventionalOnes) {
  const auto compare = [](const std::string& tree, const std::string& lmc, const std::vector<std::uint32_t>& nodes) {
    const double one_lid = measured_us(tree, "", nodes, "");
    EXPECT_EQ(measured_us(tree, lmc, nodes, ""), one_lid) << tree;
    EXPECT_EQ(measured_us(tree, lmc, nodes, "conventional"), one_lid) << tree;
    return one_lid;
  };
  const std::vector<std::uint32_t> of_two_levels = random_nodes(30, 12);
  const double conventional = compare("6-ary-2-tree:30", ",lmc=3", of_two_levels);
  compare("6-ary-2-tree:30", ",lmc=1", of_two_levels);
  compare("3-ary-3-tree", ",lmc=4", random_nodes(54, 20));
  compare("2-ary-4-tree", ",lmc=3", random_nodes(32, 16));
  EXPECT_GT(measured_us("6-ary-2-tree:30", ",lmc=3,lids=report", of_two_levels, ""), 1.5 * conventional)
      << "by the report's rule all share one root";
}

TEST(Paths, OfColouringAreNoSlowerOnThreeLevelsThanThoseOfOneLid) {
  std::vector<std::uint32_t> all(54);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_LT(measured_us("3-ary-3-tree", ",lmc=4", all, "colouring"), 1.05 * measured_us("3-ary-3-tree", "", all, ""));
}

// A cable fails that one of the conventional paths needs: what is planned on the fabric as it is goes round it, and packets do.
TEST(Paths, GoRoundACableThatHasFailed) {
  const std::vector<std::uint32_t> nodes = random_nodes(30, 12);
  const std::string failed = ",failed=leaf" + std::to_string(nodes[0] / 6) + "-root0";
  EXPECT_LT(measured_us("6-ary-2-tree:30", failed, nodes, "colouring"),
            0.95 * measured_us("6-ary-2-tree:30", failed, nodes, ""));
}

TEST(Paths, AreRefusedOnAFabricWithoutAny) {
  simulation::Setup setup{.fabric = "tofu:1x1x1"};
  setup.options.topology = "6-ary-2-tree:30";
  EXPECT_FALSE(simulation::World::create(setup));
  setup.options = {.paths = "colouring"};
  EXPECT_FALSE(simulation::World::create(setup));
  EXPECT_FALSE(simulation::World::create({.fabric = "infiniband:2-ary-2-tree,failed=host1", .nodes = {0, 1}}));
  EXPECT_FALSE(simulation::World::create({.fabric = "infiniband:2-ary-2-tree", .nodes = {0, 9}}));
  EXPECT_FALSE(simulation::World::create({.fabric = "infiniband:2-ary-2-tree", .nodes = {1, 1}}));
}

} // namespace
} // namespace heddle::tests
