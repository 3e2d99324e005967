#include "sim/infiniband.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/diary_for_tests.hpp"

namespace heddle::sim {
namespace {

using std::chrono::nanoseconds;

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
  const InfinibandParameters parameters{.tree = {.arity = 3, .levels = 3}};
  struct Case {
    std::uint32_t target;
    int switches;
  };
  for (const Case& each : {Case{1, 1}, Case{4, 3}, Case{50, 5}}) {
    // Below a packet the interface reads no faster than the link sends; whole packets follow each other without a gap.
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{2048}, std::uint64_t{4 << 20}}) {
      PacketNetwork network = std::move(*PacketNetwork::make(*infiniband(parameters)));
      Diary diary(network);
      ASSERT_TRUE(network.submit({.source = 0, .target = each.target, .bytes = bytes, .cookie = 1}));
      ASSERT_TRUE(network.run());
      EXPECT_EQ(diary.arrived_[1], closed_form(parameters, bytes, each.switches)) << bytes << " to " << each.target;
    }
  }
}

TEST(Infiniband, HasTwiceArityToTheLevelsPlaces) {
  EXPECT_EQ((Tree{6, 2}.places()), 72U);
  EXPECT_EQ(infiniband({.tree = {.arity = 4, .levels = 3}})->nodes, 128U);
  const auto fabric = infiniband({.tree = {.arity = 6, .levels = 2}, .nodes = 30});
  EXPECT_EQ(fabric->nodes, 30U);
  EXPECT_EQ(fabric->switches.size(), 12U + 6U);
}

TEST(Infiniband, ReachesEveryNodeFromEveryNodeByTheShortestWay) {
  for (const Tree& tree : {Tree{2, 1}, Tree{3, 2}, Tree{2, 3}, Tree{2, 4}}) {
    const Fabric fabric = *infiniband({.tree = tree});
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
  const Fabric fabric = *infiniband({.tree = {.arity = 6, .levels = 2}, .nodes = 30});
  const Wiring wiring = *wire(fabric);
  for (std::uint32_t target = 6; target < 30; ++target) {
    const auto way = path(fabric, wiring, node_end(0), {.node = target, .lid = fabric.tables.base[target]});
    EXPECT_EQ(fabric.links[(*way)[1]].to.index, 12 + target % 6);
  }
}

TEST(Infiniband, GivesEachLidOfANodeItsOwnRoot) {
  for (const routing::LidRule& rule : routing::kLidRules) {
    const Fabric fabric = *infiniband({.tree = {.arity = 6, .levels = 2}, .nodes = 30, .lmc = 3, .lids = rule});
    const Wiring wiring = *wire(fabric);
    EXPECT_EQ(fabric.tables.base[7], 64U);
    for (std::uint32_t offset = 0; offset < 6; ++offset) {
      const auto way = path(fabric, wiring, node_end(0), {.node = 7, .lid = 64 + offset});
      ASSERT_TRUE(way);
      const std::uint32_t first = rule.spread ? 7 % 6 : 0;
      EXPECT_EQ(fabric.links[(*way)[1]].to.index, 12 + (first + offset) % 6) << rule.name;
    }
    EXPECT_FALSE(path(fabric, wiring, node_end(0), {.node = 7, .lid = 64 + 6})) << "there is no root for it";
  }
}

TEST(Infiniband, CollidesWhereTwoDestinationsShareARootAndNotWhereLidsKeepThemApart) {
  const auto time = [](std::uint32_t second_root) {
    PacketNetwork network =
        std::move(*PacketNetwork::make(*infiniband({.tree = {.arity = 6, .levels = 2}, .nodes = 30, .lmc = 3})));
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
  const auto fact = [](const InfinibandParameters& parameters) {
    const auto fabric = infiniband(parameters);
    return fabric ? std::string("built") : fabric.error().fact;
  };
  EXPECT_EQ(fact({.tree = {.arity = 6, .levels = 2}, .nodes = 73}),
            "a 6-ary-2-tree has places for 72 nodes, not for 73");
  EXPECT_EQ(fact({.tree = {.arity = 6, .levels = 2}, .lmc = 8}), "lmc 8 is out of range: 0 to 7");
  EXPECT_EQ(fact({.tree = {.arity = 6, .levels = 2}, .lmc = 2, .lids = routing::kReportLids}),
            "lids=report needs a LID for every root of a 6-ary-2-tree, and lmc 2 gives a node 4 for 6");
  EXPECT_EQ(fact({.tree = {.arity = 18, .levels = 3}, .lmc = 3}),
            "11664 nodes with lmc 3 need 93320 LIDs, and there are 49151");
  EXPECT_EQ(fact({.tree = {.arity = 1000, .levels = 9}}),
            "a 1000-ary-9-tree has more places than there are LIDs (49151)");
  EXPECT_EQ(fact({.tree = {.arity = 2, .levels = 14}}).substr(0, 40), "the tables of a 2-ary-14-tree with 32768");
}

TEST(Infiniband, RefusesTablesThatLoop) {
  Fabric fabric = *infiniband({.tree = {.arity = 2, .levels = 2}});
  // Leaf 0 sends LID 5 (node 4) up to root 0, which is switch 4; that sends it back down.
  ASSERT_EQ(fabric.tables.port(0, 5), 2);
  fabric.tables.ports[4 * fabric.tables.lids + 5] = 0;
  const auto network = PacketNetwork::make(fabric);
  ASSERT_FALSE(network);
  EXPECT_EQ(network.error().fact, "the tables send LID 5 round in a loop: switch 0 -> switch 4 -> switch 0");
}

} // namespace
} // namespace heddle::sim
