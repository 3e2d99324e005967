// Paths in the library: planned at join from what processes publish, taken by packets because of the LID they carry.
#include "context/paths.hpp"
#include "routing/load.hpp"
#include "routing/methods.hpp"
#include "routing/tree.hpp"
#include "sim/description.hpp"
#include "world/workloads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace heddle::tests {
namespace {

using routing::Method;

routing::Network network_of(const char* tree, std::uint32_t lmc) {
  return *routing::make_network(routing::build_tree(*routing::parse_tree(tree)), lmc);
}

// Switches of one level and in one position have different indices in the two graphs; what counts is which hosts' packets meet
// on a link. Here: the root that a packet passes, as its number within the level.
std::uint32_t root_in_simulation(const sim::Fabric& fabric, std::uint32_t from, std::uint32_t lid,
                                 std::uint32_t roots) {
  const auto neighbour = [&](sim::End of) {
    for (const sim::Link& link : fabric.links)
      if (link.from == of) return link.to;
    return sim::End{};
  };
  const auto total = static_cast<std::uint32_t>(fabric.switches.size());
  sim::End at = neighbour(sim::node_end(from));
  for (int hop = 0; hop < 10 && at.kind == sim::End::Kind::switch_; ++hop) {
    if (at.index >= total - roots) return at.index - (total - roots);
    at = neighbour(sim::switch_end(at.index, fabric.tables.port(at.index, lid)));
  }
  return ~0U;
}

// Tables of the simulated fabric are those that the plan was made for.
TEST(Paths, LeadThroughTheRootsThatTheyWerePlannedFor) {
  struct Case {
    const char* tree;
    std::uint32_t lmc;
  };
  for (const Case& one : {Case{"6-ary-2-tree:30", 3}, Case{"6-ary-2-tree:30", 0}, Case{"4-ary-2-tree", 1},
                          Case{"2-ary-3-tree", 2}, Case{"3-ary-3-tree", 2}}) {
    SCOPED_TRACE(one.tree + std::string(" lmc ") + std::to_string(one.lmc));
    const routing::Network network = network_of(one.tree, one.lmc);
    const auto fabric = sim::parse_fabric(std::string("infiniband:") + one.tree + ",lmc=" + std::to_string(one.lmc));
    ASSERT_TRUE(fabric);
    const std::uint32_t roots = network.fabric.roots();
    const auto hosts = static_cast<std::uint32_t>(network.fabric.hosts.size());
    for (std::uint32_t from = 0; from < hosts; from += 5)
      for (std::uint32_t to = 0; to < hosts; ++to)
        for (std::uint32_t offset = 0; offset < network.lids.offsets(); ++offset) {
          std::uint32_t root = ~0U;
          routing::follow(network, from, to, network.lids.lid(to, offset), [&](routing::SwitchIndex at, routing::Port) {
            if (at >= network.fabric.first_root()) root = at - network.fabric.first_root();
          });
          ASSERT_EQ(root_in_simulation(*fabric, from, network.lids.lid(to, offset), roots), root)
              << from << " to " << to << " offset " << offset;
        }
  }
}

std::vector<ir::Location> locations_of(const std::vector<std::uint32_t>& hosts, std::uint32_t lmc) {
  std::vector<ir::Location> locations;
  for (const std::uint32_t host : hosts) locations.push_back({.base_lid = (host + 1) << lmc, .lmc = lmc});
  return locations;
}

TEST(Paths, AreTheSelectionOfTheMethodForTheJobsNodes) {
  // Two processes on each node, in an order that is not the network's.
  const std::vector<std::uint32_t> host_of{17, 3, 3, 29, 5, 17, 5, 29, 8, 8};
  const routing::Network network = network_of("6-ary-2-tree:30", 3);
  const auto job = *routing::make_job(network.fabric, {3, 5, 8, 17, 29});
  for (const Method method : routing::kMethods) {
    const auto paths =
        context::Paths::plan("6-ary-2-tree:30", std::string(to_string(method)), locations_of(host_of, 3));
    ASSERT_TRUE(paths) << paths.error().message();
    const auto selection = *routing::select(network, job, method, routing::Pattern::shift(5));
    for (std::uint32_t from = 0; from < host_of.size(); ++from)
      for (std::uint32_t to = 0; to < host_of.size(); ++to) {
        const auto node = [&](std::uint32_t rank) {
          return static_cast<std::uint32_t>(std::ranges::find(job.hosts, host_of[rank]) - job.hosts.begin());
        };
        EXPECT_EQ(paths->offset(from, to), selection.offset(node(from), node(to)));
      }
  }
}

TEST(Paths, AreRefusedWhereTheTopologyIsNotTheFabric) {
  const auto refusal = [](const char* topology, const char* method, std::uint32_t host, std::uint32_t lmc) {
    const auto paths = context::Paths::plan(topology, method, locations_of({0, host}, lmc));
    return paths ? std::string() : paths.error().message();
  };
  EXPECT_EQ(refusal("6-ary-2-tree:30", "colouring", 29, 3), "");
  EXPECT_NE(refusal("6-ary-2-tree:30", "colouring", 30, 3).find("rank 1 has LID 248"), std::string::npos);
  EXPECT_NE(refusal("6-ary-2-tree:30", "colourin", 29, 3).find("option paths"), std::string::npos);
  EXPECT_NE(refusal("6-ary-2-tre", "colouring", 29, 3).find("option topology"), std::string::npos);
  EXPECT_NE(refusal("no/such/file", "colouring", 29, 3).find("option topology"), std::string::npos);
  EXPECT_NE(refusal("6-ary-2-tree:30", "pair", 29, 1).find("option paths"), std::string::npos) << "too few LIDs";
}

// Time of an all-to-all on these nodes; paths empty: none are planned.
double measured_us(const std::vector<std::uint32_t>& nodes, const std::string& paths) {
  simulation::Setup setup{.fabric = "infiniband:6-ary-2-tree:30,lmc=3", .nodes = nodes};
  if (!paths.empty()) {
    setup.options.topology = "6-ary-2-tree:30";
    setup.options.paths = paths;
  }
  auto world = simulation::World::create(setup);
  EXPECT_TRUE(world) << world.error().message();
  const auto measured =
      simulation::run_job(*world, {.workload = simulation::Workload::all_to_all, .bytes = 128 << 10, .rounds = 1});
  EXPECT_TRUE(measured) << measured.error().message();
  return static_cast<double>(measured->time.count()) / 1e6;
}

TEST(Paths, OfColouringTakeAsLongOnRandomNodesAsOnWholeLeaves) {
  std::vector<std::uint32_t> random(30);
  for (std::uint32_t i = 0; i < 30; ++i) random[i] = i;
  std::mt19937_64 dice(5);
  std::ranges::shuffle(random, dice);
  random.resize(12);
  std::ranges::sort(random);
  std::vector<std::uint32_t> leaves(12);
  for (std::uint32_t i = 0; i < 12; ++i) leaves[i] = i;
  const double undisturbed = measured_us(leaves, "colouring");
  const double planned = measured_us(random, "colouring");
  const double conventional = measured_us(random, "conventional");
  const double one_lid = measured_us(random, "");
  EXPECT_LT(planned, 1.08 * undisturbed);
  EXPECT_GT(conventional, 1.15 * planned);
  EXPECT_GT(one_lid, 1.5 * planned) << "all through one root";
}

TEST(Paths, AreRefusedOnAFabricWithoutAny) {
  simulation::Setup setup{.fabric = "tofu:1x1x1"};
  setup.options.topology = "6-ary-2-tree:30";
  EXPECT_FALSE(simulation::World::create(setup));
  EXPECT_FALSE(simulation::World::create({.fabric = "infiniband:2-ary-2-tree", .nodes = {0, 9}}));
  EXPECT_FALSE(simulation::World::create({.fabric = "infiniband:2-ary-2-tree", .nodes = {1, 1}}));
}

} // namespace
} // namespace heddle::tests
