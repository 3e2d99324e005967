#include "sim/fabric.hpp"

#include <gtest/gtest.h>

namespace heddle::sim {
namespace {

// Two nodes on one switch.
Fabric pair() {
  Fabric fabric;
  fabric.nodes = 2;
  fabric.switches = {{4, Picoseconds{0}}};
  fabric.connect(node_end(0), switch_end(0, 0), {1'000}, Picoseconds{0});
  fabric.connect(node_end(1), switch_end(0, 1), {1'000}, Picoseconds{0});
  fabric.tables = {.lids = 3, .ports = {kNoPort, 0, 1}, .owner = {kNone, 0, 1}, .base = {1, 2}};
  return fabric;
}

std::string fact_of(const Fabric& fabric) {
  const auto wiring = wire(fabric);
  if (!wiring) return wiring.error().fact;
  const auto good = check_tables(fabric, *wiring);
  return good ? "sound" : good.error().fact;
}

TEST(Fabric, IsSoundWhenEverythingIsConnected) {
  EXPECT_EQ(fact_of(pair()), "sound");
}

TEST(Fabric, SaysWhichEndIsWrong) {
  Fabric twice = pair();
  twice.connect(switch_end(0, 2), switch_end(0, 1), {1'000}, Picoseconds{0});
  EXPECT_EQ(fact_of(twice), "switch 0 port 1 is used twice");
  Fabric outside = pair();
  outside.connect(switch_end(0, 2), switch_end(0, 4), {1'000}, Picoseconds{0});
  EXPECT_EQ(fact_of(outside), "a link ends at switch 0 port 4, but there are only 4 ports");
  Fabric nowhere = pair();
  nowhere.connect(switch_end(0, 2), switch_end(1, 0), {1'000}, Picoseconds{0});
  EXPECT_EQ(fact_of(nowhere), "a link ends at switch 1 port 0, which does not exist");
  Fabric loose = pair();
  loose.nodes = 3;
  EXPECT_EQ(fact_of(loose), "node 2 has no link");
  Fabric still = pair();
  still.links[0].rate = {0};
  EXPECT_EQ(fact_of(still), "the link from node 0 to switch 0 port 0 has a rate of zero");
}

TEST(Fabric, SaysWhichRuleCannotWork) {
  Fabric narrow = pair();
  narrow.packets.buffer_bytes = 100;
  EXPECT_EQ(fact_of(narrow), "a buffer of 100 bytes holds no packet of 2048");
  Fabric laneless = pair();
  laneless.packets.lanes = 0;
  EXPECT_EQ(fact_of(laneless), "0 lanes: expected 1 to 64");
  Fabric empty = pair();
  empty.packets.mtu = 0;
  EXPECT_EQ(fact_of(empty), "the mtu is 0");
}

TEST(Fabric, SaysWhichTableEntryIsWrong) {
  Fabric astray = pair();
  astray.tables.ports[2] = 0;
  EXPECT_EQ(fact_of(astray), "the table of switch 0 sends LID 2 to node 0, which does not have it");
  Fabric unconnected = pair();
  unconnected.tables.ports[2] = 3;
  EXPECT_EQ(fact_of(unconnected), "the table of switch 0 sends LID 2 to port 3, where no link is");
  Fabric unknown = pair();
  unknown.tables.ports[2] = kNoPort;
  EXPECT_EQ(fact_of(unknown), "node 1 cannot be reached from node 0: the tables have no path to LID 2");
  Fabric small = pair();
  small.tables.ports.pop_back();
  EXPECT_EQ(fact_of(small), "the tables do not fit the fabric: 2 entries for 1 switches and 3 LIDs");
}

TEST(Stage, AddsWhatItConsistsOf) {
  const Stage stage{
      .fixed = Picoseconds{7}, .rate = {kPicosecondsPerSecond}, .block_bytes = 64, .per_block = Picoseconds{100}};
  EXPECT_EQ(stage.time(65), Picoseconds{7 + 65 + 200});
  EXPECT_EQ(Stage{}.time(1000), Picoseconds{0});
  EXPECT_EQ(Stage{}.rate_at(1000), 0);
}

} // namespace
} // namespace heddle::sim
