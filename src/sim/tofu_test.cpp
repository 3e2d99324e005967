#include "sim/tofu.hpp"

#include <gtest/gtest.h>

#include "sim/diary_for_tests.hpp"

namespace heddle::sim {
namespace {

using std::chrono::nanoseconds;

PacketNetwork make(const TofuParameters& parameters) {
  return std::move(*PacketNetwork::make(*tofu(parameters)));
}

TEST(Tofu, HasTwelveNodesAGroupAndTenLinksANode) {
  const Fabric fabric = *tofu({.x = 3, .y = 3, .z = 3});
  EXPECT_EQ(fabric.nodes, 27U * 12);
  std::vector<std::uint32_t> links(fabric.nodes);
  for (const Link& link : fabric.links) {
    if (link.from.kind == End::Kind::switch_ && link.to.kind == End::Kind::switch_) ++links[link.from.index];
  }
  for (const std::uint32_t count : links) EXPECT_EQ(count, 10U);
}

TEST(Tofu, NumbersPlacesBackAndForth) {
  const TofuShape shape{{4, 3, 5, 2, 3, 2}};
  for (std::uint32_t node = 0; node < shape.nodes(); ++node) EXPECT_EQ(shape.node(shape.place(node)), node);
}

// The shorter way round in each ring, in the order X Y Z A C B.
TEST(Tofu, GoesDimensionAfterDimensionTheShorterWay) {
  const TofuShape shape{{5, 4, 3, 2, 3, 2}};
  const Fabric fabric = *tofu({.x = 5, .y = 4, .z = 3});
  const Wiring wiring = *wire(fabric);
  const auto way = path(fabric, wiring, node_end(shape.node({4, 0, 1, 0, 0, 0})),
                        {.node = shape.node({1, 3, 0, 1, 2, 1}), .port = 2});
  ASSERT_TRUE(way);
  std::vector<std::string> steps;
  for (const std::uint32_t link : *way) {
    const End& from = fabric.links[link].from;
    if (from.kind == End::Kind::node) continue;
    const char* const names[] = {"X+", "X-", "Y+", "Y-", "Z+", "Z-", "A+", "A-", "B+", "B-", "C+", "C-"};
    steps.push_back(from.port < 12 ? names[from.port] : "engine " + std::to_string(from.port - 12));
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"X+", "X+", "Y-", "Z-", "A+", "C+", "B-", "engine 2"}));
}

TEST(Tofu, ReachesEveryNodeFromEveryNode) {
  const Fabric fabric = *tofu({.x = 4, .y = 2, .z = 1});
  const Wiring wiring = *wire(fabric);
  for (std::uint32_t source = 0; source < fabric.nodes; ++source) {
    for (std::uint32_t target = 0; target < fabric.nodes; ++target) {
      EXPECT_TRUE(path(fabric, wiring, node_end(source), {.node = target}));
    }
  }
}

// Half way round an X ring of 6: three hops between the routers, four routers passed.
TEST(Tofu, GivesTheClosedFormForOneFlow) {
  const TofuParameters given{.x = 6};
  for (const std::uint64_t packets : {1U, 2U, 100U}) {
    PacketNetwork network = make(given);
    Diary diary(network);
    const std::uint64_t bytes = packets * given.mtu;
    ASSERT_TRUE(network.submit({.source = 0, .target = 36, .bytes = bytes, .cookie = 1}));
    ASSERT_TRUE(network.run());
    // The engine reads the packets one after the other; the link, faster, sends each so that it ends with its last byte. The header
    // comes on top once, because the link's start waits for neither more nor less. The receive engine then works as long on the
    // last packet as the send engine did.
    const Picoseconds read = given.engine_rate.time(given.mtu) * static_cast<std::int64_t>(packets);
    const Picoseconds head = read - given.rate.time(given.mtu + given.header_bytes);
    const Picoseconds written = given.engine_rate.time(given.mtu);
    EXPECT_EQ(diary.arrived_[1],
              given.startup + given.send_latency + head + given.hop * 4 + written + given.receive_latency);
  }
}

double gigabytes_per_second(std::uint64_t bytes, Picoseconds time) {
  return static_cast<double>(bytes) * 1000 / static_cast<double>(time.count());
}

// What the measurements on the K computer say about one engine, one link and one node.
TEST(Tofu, LimitsEngineLinkAndNodeAsMeasured) {
  const std::uint64_t bytes = 4 << 20;
  const auto total_rate = [&](std::uint32_t engines, bool one_target) {
    PacketNetwork network = make({.x = 3, .y = 3});
    Diary diary(network);
    const std::uint32_t targets[] = {36, 72, 12, 24}; // X+, X-, Y+, Y-
    for (std::uint16_t engine = 0; engine < engines; ++engine) {
      EXPECT_TRUE(network.submit({.source = 0,
                                  .target = one_target ? 36 : targets[engine],
                                  .bytes = bytes,
                                  .cookie = engine,
                                  .send_engine = engine}));
    }
    EXPECT_TRUE(network.run());
    return gigabytes_per_second(engines * bytes, network.now());
  };
  EXPECT_NEAR(total_rate(1, true), 4.0, 0.1);
  EXPECT_NEAR(total_rate(2, true), 4.9, 0.1) << "two engines share one link";
  EXPECT_NEAR(total_rate(2, false), 8.0, 0.1);
  EXPECT_NEAR(total_rate(4, false), 14.0, 0.2) << "memory binds: 3.5 each";
}

TEST(Tofu, SharesAReceiveEngineUnlessTheSendersChooseTwo) {
  const auto time = [](std::uint16_t second) {
    PacketNetwork network = make({.x = 3});
    Diary diary(network);
    EXPECT_TRUE(network.submit({.source = 12, .target = 0, .bytes = 1 << 20, .receive_engine = 0}));
    EXPECT_TRUE(network.submit({.source = 24, .target = 0, .bytes = 1 << 20, .receive_engine = second}));
    EXPECT_TRUE(network.run());
    return static_cast<double>(network.now().count());
  };
  EXPECT_NEAR(time(0) / time(1), 2.0, 0.02);
}

TEST(Tofu, NeverDeadlocksOnFullRings) {
  PacketNetwork network = make({.x = 5, .buffer_bytes = 2100});
  Saturation traffic(network, 3);
  const auto done = network.run_until(std::chrono::microseconds(300));
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_GT(traffic.arrived_, 1000U);
  EXPECT_EQ(network.find_deadlock(), "");
}

TEST(Tofu, TakesAboutEightyNanosecondsMoreAHopInItsLaterGeneration) {
  TofuParameters parameters = tofu_d();
  parameters.x = 6;
  const auto latency = [&](std::uint32_t target) {
    PacketNetwork network = make(parameters);
    Diary diary(network);
    EXPECT_TRUE(network.submit({.source = 0, .target = target, .bytes = 8, .cookie = 1}));
    EXPECT_TRUE(network.run());
    return diary.arrived_[1];
  };
  EXPECT_EQ(latency(24) - latency(12), nanoseconds(80));
  EXPECT_NEAR(static_cast<double>(latency(12).count()), 490e3, 15e3) << "0.49 us for an 8-byte put by hardware";
}

} // namespace
} // namespace heddle::sim
