#include "sim/infiniband.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/diary_for_tests.hpp"

namespace heddle::sim {
namespace {

Result<Fabric> fabric_of(std::string_view text, const InfinibandParameters& parameters = {}) {
  const auto subnet = routing::parse_subnet(text);
  if (!subnet) return std::unexpected(subnet.error());
  return infiniband(*subnet, parameters);
}

// Startup, adapters, five metres of cable and a switch per hop, and the packets of the slowest part one after the other.
Picoseconds closed_form(const InfinibandParameters& given, std::uint64_t bytes, int switches) {
  const Picoseconds cable{5000 * given.cable_metres};
  const std::uint64_t full = bytes / given.mtu;
  const auto rest = static_cast<std::uint32_t>(bytes % given.mtu);
  Picoseconds wire = given.rate.time(given.mtu + given.header_bytes) * static_cast<std::int64_t>(full);
  if (rest > 0) wire += given.rate.time(rest + given.header_bytes);
  return given.startup + given.send_latency + given.receive_latency + cable * (switches + 1) +
         given.switch_delay * switches + wire;
}

TEST(Infiniband, GivesTheClosedFormForOneFlowAtAnyDistance) {
  const InfinibandParameters parameters;
  struct Case {
    std::uint32_t target;
    int switches;
  };
  for (const Case& each : {Case{1, 1}, Case{4, 3}, Case{50, 5}}) {
    // Below a packet the interface reads no faster than the link sends; whole packets follow each other without a gap.
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{2048}, std::uint64_t{4 << 20}}) {
      PacketNetwork network = std::move(*PacketNetwork::make(*fabric_of("3-ary-3-tree")));
      Diary diary(network);
      ASSERT_TRUE(network.submit({.source = 0, .target = each.target, .bytes = bytes, .cookie = 1}));
      ASSERT_TRUE(network.run());
      EXPECT_EQ(diary.arrived_[1], closed_form(parameters, bytes, each.switches)) << bytes << " to " << each.target;
    }
  }
}

TEST(Infiniband, HasTheHostsSwitchesAndNamesOfItsSubnet) {
  EXPECT_EQ(fabric_of("4-ary-3-tree")->nodes, 128U);
  const auto fabric = fabric_of("6-ary-2-tree:30");
  EXPECT_EQ(fabric->nodes, 30U);
  EXPECT_EQ(fabric->switches.size(), 5U + 6U) << "no leaves without hosts";
  EXPECT_EQ(fabric->name_of_node(7), "node host7");
  EXPECT_EQ(fabric->name_of(switch_end(5, 1)), "switch root0 port 1");
}

TEST(Infiniband, ReachesEveryNodeFromEveryNodeByTheShortestWay) {
  struct Tree {
    std::uint32_t arity;
    std::uint32_t levels;
  };
  for (const Tree& tree : {Tree{2, 1}, Tree{3, 2}, Tree{2, 3}, Tree{2, 5}}) {
    const Fabric fabric = *fabric_of(std::to_string(tree.arity) + "-ary-" + std::to_string(tree.levels) + "-tree");
    const Wiring wiring = *wire(fabric);
    ASSERT_TRUE(check_tables(fabric, wiring));
    for (std::uint32_t source = 0; source < fabric.nodes; ++source) {
      for (std::uint32_t target = 0; target < fabric.nodes; ++target) {
        const auto way = path(fabric, wiring, node_end(source), {.node = target, .lid = fabric.tables.base[target]});
        ASSERT_TRUE(way) << way.error().message();
        // Two links per level up to the lowest switch above both; at the roots two of the halves meet.
        std::uint32_t levels = 1;
        std::uint32_t span = tree.levels == 1 ? 2 * tree.arity : tree.arity;
        while (levels < tree.levels && source / span != target / span) {
          ++levels;
          span *= tree.arity;
        }
        EXPECT_EQ(way->size(), 2 * levels) << source << " to " << target;
      }
    }
  }
}

// The report's example: destination i goes through root i mod K.
TEST(Infiniband, SendsDestinationsThroughRootsInTurn) {
  const Fabric fabric = *fabric_of("6-ary-2-tree:30");
  const Wiring wiring = *wire(fabric);
  for (std::uint32_t target = 6; target < 30; ++target) {
    const auto way = path(fabric, wiring, node_end(0), {.node = target, .lid = fabric.tables.base[target]});
    EXPECT_EQ(fabric.links[(*way)[1]].to.index, 5 + target % 6);
  }
}

TEST(Infiniband, GivesEachLidOfANodeItsOwnRoot) {
  for (const routing::LidRule& rule : routing::kLidRules) {
    const Fabric fabric = *fabric_of("6-ary-2-tree:30,lmc=3,lids=" + std::string(rule.name));
    const Wiring wiring = *wire(fabric);
    EXPECT_EQ(fabric.tables.base[7], 64U);
    for (std::uint32_t offset = 0; offset < 6; ++offset) {
      const auto way = path(fabric, wiring, node_end(0), {.node = 7, .lid = 64 + offset});
      ASSERT_TRUE(way);
      const std::uint32_t first = rule.spread ? 7 % 6 : 0;
      EXPECT_EQ(fabric.links[(*way)[1]].to.index, 5 + (first + offset) % 6) << rule.name;
    }
    EXPECT_FALSE(path(fabric, wiring, node_end(0), {.node = 7, .lid = 64 + 6})) << "there is no root for it";
  }
}

TEST(Infiniband, GivesLidsForAllPathsWhereAsked) {
  EXPECT_EQ(fabric_of("6-ary-2-tree:30")->tables.base[0], 1U);
  EXPECT_EQ(fabric_of("6-ary-2-tree:30,lmc=all")->tables.base[0], 8U);
  EXPECT_EQ(fabric_of("18-ary-3-tree,lmc=all")->tables.base[0], 1U) << "as many as tables have room for";
}

TEST(Infiniband, LeavesOutWhatHasFailed) {
  const auto fabric = fabric_of("6-ary-2-tree:30,lmc=3,failed=host7,failed=leaf0-root1");
  ASSERT_TRUE(fabric) << fabric.error().message();
  EXPECT_EQ(fabric->nodes, 30U) << "the others keep their numbers";
  auto network = PacketNetwork::make(*fabric);
  ASSERT_TRUE(network) << network.error().message();
  const auto refused = network->submit({.source = 0, .target = 7, .bytes = 8});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fact, "node host7 is out of order");
  for (std::uint32_t offset = 0; offset < 6; ++offset)
    EXPECT_TRUE(network->submit({.source = 0, .target = 8, .bytes = 8, .lid = 72 + offset})) << offset;
  EXPECT_TRUE(network->run());
}

TEST(Infiniband, SaysWhereNoPathIsLeft) {
  std::string text = "2-ary-2-tree,failed=leaf0-root0,failed=leaf0-root1";
  const auto network = PacketNetwork::make(*fabric_of(text));
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().fact, "node host0 cannot be reached from node host2: the tables have no path to LID 1");
}

TEST(Infiniband, CollidesWhereTwoDestinationsShareARootAndNotWhereLidsKeepThemApart) {
  const auto time = [](std::uint32_t second_root) {
    PacketNetwork network = std::move(*PacketNetwork::make(*fabric_of("6-ary-2-tree:30,lmc=3")));
    Diary diary(network);
    const Tables& tables = network.fabric().tables;
    EXPECT_TRUE(network.submit({.source = 0, .target = 6, .bytes = 1 << 20, .cookie = 1, .lid = tables.base[6]}));
    EXPECT_TRUE(network.submit(
        {.source = 1, .target = 12, .bytes = 1 << 20, .cookie = 2, .lid = tables.base[12] + second_root}));
    EXPECT_TRUE(network.run());
    return diary.arrived_[2];
  };
  const double shared = static_cast<double>(time(0).count());
  const double apart = static_cast<double>(time(1).count());
  EXPECT_NEAR(shared / apart, 2.0, 0.01);
}

TEST(Infiniband, SaysWhatBinds) {
  const auto fact = [](std::string_view text) {
    const auto fabric = fabric_of(text);
    return fabric ? std::string("built") : fabric.error().fact;
  };
  EXPECT_EQ(fact("6-ary-2-tree:73"), "tree '6-ary-2-tree:73': such a tree has at most 72 hosts");
  EXPECT_EQ(fact("6-ary-2-tree,lmc=8"), "lmc cannot be '8': expected 0 to 7, or all");
  EXPECT_EQ(
      fact("6-ary-2-tree,lmc=2,lids=report"),
      "the report's rule needs a LID for every up-path, but lmc 2 gives each host 4 LIDs for 6 up-paths, as asked");
  EXPECT_EQ(fact("18-ary-3-tree,lmc=3").substr(0, 37), "11664 hosts with lmc 3 and 1620 switc");
  EXPECT_EQ(fact("2-ary-10-tree").substr(0, 42), "tables of 9728 switches for 2048 hosts wit");
}

TEST(Infiniband, RefusesTablesThatLoop) {
  Fabric fabric = *fabric_of("2-ary-2-tree");
  // Leaf 0 sends LID 5 (host 4) up to root 0, which is switch 4; that sends it back down.
  ASSERT_EQ(fabric.tables.port(0, 5), 3);
  fabric.tables.ports[4 * fabric.tables.lids + 5] = 1;
  const auto network = PacketNetwork::make(fabric);
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().fact,
            "the tables send LID 5 round in a loop: switch leaf0 -> switch root0 -> switch leaf0");
}

} // namespace
} // namespace heddle::sim
