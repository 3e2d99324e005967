#include <gtest/gtest.h>

#include "sim/diary_for_tests.hpp"
#include "sim/rhinet.hpp"

namespace heddle::sim {
namespace {

// Four switches in a ring, one node each, every way two steps onward: the tables make a cycle of buffers.
Fabric cycle(std::uint32_t lanes) {
  RhinetParameters parameters{.lanes = lanes, .buffer_bytes = 4200};
  Fabric fabric = *rhinet(parameters, ring(4));
  for (std::uint32_t at = 0; at < 4; ++at) {
    for (std::uint32_t node = 0; node < 4; ++node) {
      if (node != at) fabric.tables.ports[at * fabric.tables.lids + node + 1] = 1;
    }
  }
  return fabric;
}

void send_all_two_steps(PacketNetwork& network, bool change_lane) {
  for (std::uint32_t node = 0; node < 4; ++node) {
    const auto lane = static_cast<std::uint16_t>(change_lane && node >= 2 ? 1 : 0);
    ASSERT_TRUE(network.submit({.source = node, .target = (node + 2) % 4, .bytes = 64 << 10, .lane = lane}));
  }
}

TEST(Deadlock, IsFoundOnACircleWithOneLaneAndItsCircleIsNamed) {
  PacketNetwork network = std::move(*PacketNetwork::make(cycle(1)));
  send_all_two_steps(network, false);
  const auto done = network.run();
  ASSERT_FALSE(done);
  const std::string& fact = done.error().fact;
  EXPECT_TRUE(fact.starts_with("the fabric is deadlocked with ")) << fact;
  for (int at = 0; at < 4; ++at) {
    const std::string buffer =
        "switch " + std::to_string((at + 1) % 4) + " port 2 lane 0 (from switch " + std::to_string(at) + " port 1)";
    EXPECT_NE(fact.find(buffer), std::string::npos) << fact;
  }
  EXPECT_TRUE(fact.ends_with("waits for the first")) << fact;
}

// Two senders on a lane of their own leave a gap in each cycle.
TEST(Deadlock, IsGoneWhenTheCircleIsCutByASecondLane) {
  PacketNetwork network = std::move(*PacketNetwork::make(cycle(2)));
  Diary diary(network);
  send_all_two_steps(network, true);
  EXPECT_TRUE(network.run());
  EXPECT_EQ(diary.order_.size(), 4U);
}

TEST(Deadlock, CannotAriseFromWaysThatGoUpAndThenDown) {
  for (const std::uint32_t size : {3U, 4U, 7U}) {
    PacketNetwork network = std::move(*PacketNetwork::make(*rhinet({.lanes = 1, .buffer_bytes = 4200}, ring(size))));
    Diary diary(network);
    for (std::uint32_t node = 0; node < size; ++node) {
      for (std::uint32_t far = 1; far < size; ++far) {
        ASSERT_TRUE(network.submit({.source = node, .target = (node + far) % size, .bytes = 64 << 10}));
      }
    }
    const auto done = network.run();
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_EQ(diary.order_.size(), std::size_t{size} * (size - 1));
  }
}

TEST(Deadlock, IsNotSeenWherePacketsOnlyWait) {
  PacketNetwork network = std::move(*PacketNetwork::make(cycle(1)));
  ASSERT_TRUE(network.submit({.source = 0, .target = 2, .bytes = 64 << 10}));
  for (int i = 0; i < 200; ++i) {
    network.step();
    EXPECT_EQ(network.find_deadlock(), "");
  }
}

} // namespace
} // namespace heddle::sim
