#include "sim/packet_network.hpp"

#include <gtest/gtest.h>

#include "sim/diary_for_tests.hpp"
#include "sim/infiniband.hpp"

namespace heddle::sim {
namespace {

using std::chrono::nanoseconds;

// One switch, everything round: 1 GB/s, 1,000-byte packets without header, 10 ns of cable, 100 ns of switch.
InfinibandParameters round_numbers() {
  return {.rate = {1'000'000'000},
          .mtu = 1000,
          .header_bytes = 0,
          .buffer_bytes = 8000,
          .send_engines = 2,
          .cable_metres = 2,
          .switch_delay = nanoseconds(100),
          .startup = nanoseconds(300),
          .send_latency = nanoseconds(0),
          .receive_latency = nanoseconds(0)};
}

PacketNetwork make(const InfinibandParameters& parameters, std::string_view tree = "4-ary-1-tree") {
  return std::move(*PacketNetwork::make(*infiniband(*routing::parse_subnet(tree), parameters)));
}

Picoseconds alone(const InfinibandParameters& parameters, std::uint64_t bytes) {
  PacketNetwork network = make(parameters);
  Diary diary(network);
  EXPECT_TRUE(network.submit({.source = 0, .target = 1, .bytes = bytes, .cookie = 1}));
  EXPECT_TRUE(network.run());
  return diary.arrived_[1];
}

TEST(PacketNetwork, TakesStartUpSwitchCablesAndOneTransmissionForAPacketThatCutsThrough) {
  EXPECT_EQ(alone(round_numbers(), 1000), nanoseconds(300 + 10 + 100 + 10 + 1000));
}

TEST(PacketNetwork, TakesATransmissionPerLinkWhenSwitchesStoreAndForward) {
  InfinibandParameters parameters = round_numbers();
  parameters.switching = Switching::store_and_forward;
  EXPECT_EQ(alone(parameters, 1000), nanoseconds(300 + 1000 + 10 + 100 + 1000 + 10));
}

TEST(PacketNetwork, PipelinesThePacketsOfALargeFlow) {
  EXPECT_EQ(alone(round_numbers(), 1'000'000), nanoseconds(300 + 10 + 100 + 10 + 1'000'000));
}

TEST(PacketNetwork, AddsAHeaderToEveryPacket) {
  InfinibandParameters parameters = round_numbers();
  parameters.header_bytes = 100;
  EXPECT_EQ(alone(parameters, 10'000), nanoseconds(300 + 10 + 100 + 10 + 10 * 1100));
}

TEST(PacketNetwork, SendsAHeaderForNoBytesAtAll) {
  InfinibandParameters parameters = round_numbers();
  parameters.header_bytes = 50;
  EXPECT_EQ(alone(parameters, 0), nanoseconds(300 + 10 + 100 + 10 + 50));
}

TEST(PacketNetwork, IsHeldBackByTheHostBus) {
  InfinibandParameters parameters = round_numbers();
  parameters.bus = {500'000'000};
  EXPECT_EQ(alone(parameters, 100'000), nanoseconds(300 + 120 + 200'000 + 2'000 - 1'000))
      << "the last packet is read in 2 us, leaves while its second half is read, and is written in 2 us";
}

TEST(PacketNetwork, HalvesALinkBetweenTwoFlows) {
  PacketNetwork network = make(round_numbers());
  Diary diary(network);
  ASSERT_TRUE(network.submit({.source = 0, .target = 2, .bytes = 1'000'000, .cookie = 1}));
  ASSERT_TRUE(network.submit({.source = 1, .target = 2, .bytes = 1'000'000, .cookie = 2}));
  ASSERT_TRUE(network.run());
  const Picoseconds both = nanoseconds(300 + 120 + 2'000'000);
  EXPECT_EQ(diary.arrived_[2], both);
  EXPECT_EQ(diary.arrived_[1], both - nanoseconds(1000)) << "the two take turns to the end";
}

TEST(PacketNetwork, ServesInputsInTurnSoThatAShortFlowNeedNotWaitForALongOne) {
  PacketNetwork network = make(round_numbers());
  Diary diary(network);
  ASSERT_TRUE(network.submit({.source = 0, .target = 2, .bytes = 1'000'000, .cookie = 1}));
  ASSERT_TRUE(network.submit({.source = 1, .target = 2, .bytes = 10'000, .cookie = 2}));
  ASSERT_TRUE(network.run());
  EXPECT_EQ(diary.arrived_[2], nanoseconds(300 + 120 + 20'000));
  EXPECT_EQ(diary.arrived_[1], nanoseconds(300 + 120 + 1'010'000));
}

TEST(PacketNetwork, TellsTheSourceWhenItsMemoryMayBeUsedAgain) {
  PacketNetwork network = make(round_numbers());
  Diary diary(network);
  ASSERT_TRUE(network.submit({.source = 0, .target = 1, .bytes = 1000, .cookie = 1}));
  ASSERT_TRUE(network.run());
  EXPECT_EQ(diary.departed_[1], nanoseconds(300 + 1000));
}

TEST(PacketNetwork, KeepsTheOrderOfOneEngine) {
  PacketNetwork network = make(round_numbers());
  Diary diary(network);
  std::vector<std::uint64_t> sent;
  for (std::uint64_t cookie = 0; cookie < 50; ++cookie) {
    ASSERT_TRUE(network.submit({.source = 0, .target = 3, .bytes = cookie % 7 * 700, .cookie = cookie}));
    sent.push_back(cookie);
  }
  ASSERT_TRUE(network.run());
  EXPECT_EQ(diary.order_, sent);
}

TEST(PacketNetwork, StepsTimeOnlyAsFarAsAsked) {
  PacketNetwork network = make(round_numbers());
  Diary diary(network);
  network.at(nanoseconds(50), 5);
  network.at(nanoseconds(20), 2);
  ASSERT_TRUE(network.run_until(nanoseconds(30)));
  EXPECT_EQ(network.now(), nanoseconds(30));
  EXPECT_EQ(diary.timers_, std::vector<std::uint64_t>{2});
  ASSERT_TRUE(network.submit({.source = 0, .target = 1, .bytes = 1000, .cookie = 1}));
  ASSERT_TRUE(network.run());
  EXPECT_EQ(diary.arrived_[1], nanoseconds(30 + 300 + 120 + 1000));
  EXPECT_TRUE(network.idle());
  EXPECT_FALSE(network.step());
}

TEST(PacketNetwork, CountsWhatLinksCarry) {
  PacketNetwork network = make(round_numbers());
  ASSERT_TRUE(network.submit({.source = 0, .target = 2, .bytes = 3'500}));
  ASSERT_TRUE(network.submit({.source = 1, .target = 2, .bytes = 3'500}));
  ASSERT_TRUE(network.run());
  const LinkCounters into = network.counters(network.wiring().eject[2]);
  EXPECT_EQ(into.bytes, 7'000U);
  EXPECT_EQ(into.packets, 8U);
  EXPECT_EQ(into.busy, nanoseconds(7'000));
  EXPECT_EQ(network.packet_hops(), 16U);
  EXPECT_GE(network.counters(network.wiring().inject[1]).largest_queue, 1'000U) << "packets met at the switch";
}

TEST(PacketNetwork, FollowsARouteGivenWithTheFlow) {
  PacketNetwork network = make(round_numbers(), "2-ary-2-tree");
  Diary diary(network);
  // Node 0 is on leaf 0 (ports 3, 4 lead to the roots 0, 1), node 2 on leaf 1; the table would take root 0.
  const auto route = network.add_route(0, 2, {4, 2, 1});
  ASSERT_TRUE(route);
  ASSERT_TRUE(network.submit({.source = 0, .target = 2, .bytes = 1000, .route = *route}));
  ASSERT_TRUE(network.run());
  const std::uint32_t to_root_1 = network.wiring().link_at(0, 4);
  EXPECT_EQ(network.counters(to_root_1).packets, 1U);
  const auto wrong = network.add_route(0, 2, {4, 2, 2});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().fact, "node host2 cannot be reached from node host0: the route ends at node host3");
}

TEST(PacketNetwork, RefusesFlowsThatNameWhatIsNotThere) {
  PacketNetwork network = make(round_numbers());
  const auto fact = [&](const Flow& flow) {
    const auto sent = network.submit(flow);
    return sent ? std::string("taken") : sent.error().fact;
  };
  EXPECT_EQ(fact({.source = 8, .target = 1}), "there is no source node 8 of 8");
  EXPECT_EQ(fact({.source = 0, .target = 9}), "there is no target node 9 of 8");
  EXPECT_EQ(fact({.source = 0, .target = 1, .send_engine = 2}), "there is no send engine 2 of 2");
  EXPECT_EQ(fact({.source = 0, .target = 1, .receive_engine = 1}), "there is no receive engine 1 of 1");
  EXPECT_EQ(fact({.source = 0, .target = 1, .lane = 1}), "there is no lane 1 of 1");
  EXPECT_EQ(fact({.source = 0, .target = 1, .lid = 3}), "LID 3 is not one of node host1");
  EXPECT_EQ(fact({.source = 0, .target = 1, .route = 0}), "there is no route 0 of 0");
  EXPECT_TRUE(network.idle());
}

class Spans : public Recorder {
 public:
  explicit Spans(const PacketNetwork& network) : network_(network) {}
  void span(const Span& span) override {
    const auto ns = [](Picoseconds time) { return std::to_string(time.count() / 1000); };
    lines_.push_back(network_.name_of(span.part, span.index) + " " + ns(span.start) + ".." + ns(span.end) + " " +
                     std::to_string(span.bytes));
  }
  std::vector<std::string> lines_;

 private:
  const PacketNetwork& network_;
};

TEST(PacketNetwork, RecordsWhatEnginesAndLinksDo) {
  PacketNetwork network = make(round_numbers());
  Spans spans(network);
  network.record(&spans);
  ASSERT_TRUE(network.submit({.source = 0, .target = 3, .bytes = 1000, .send_engine = 1}));
  ASSERT_TRUE(network.run());
  EXPECT_EQ(spans.lines_,
            (std::vector<std::string>{
                "node host0 send engine 1 300..1300 1000", "node host0 -> switch leaf0 port 1 300..1300 1000",
                "switch leaf0 port 4 -> node host3 410..1410 1000", "node host3 receive engine 0 420..1420 1000"}));
}

// Unit packets on one large switch, all inputs always full.
double throughput(std::uint32_t arity, std::uint32_t lanes, std::uint32_t buffer_packets) {
  PacketNetwork network = make({.rate = {1'000'000'000},
                                .mtu = 100,
                                .header_bytes = 0,
                                .lanes = lanes,
                                .buffer_bytes = 100 * buffer_packets,
                                .send_engines = 1,
                                .cable_metres = 0,
                                .switch_delay = nanoseconds(0),
                                .startup = nanoseconds(0),
                                .send_latency = nanoseconds(0),
                                .receive_latency = nanoseconds(0)},
                               std::to_string(arity) + "-ary-1-tree");
  Saturation traffic(network, 42);
  const std::int64_t warm_up = 500;
  const std::int64_t slots = 2000;
  EXPECT_TRUE(network.run_until(nanoseconds(100 * warm_up)));
  const std::uint64_t before = traffic.arrived_;
  EXPECT_TRUE(network.run_until(nanoseconds(100 * (warm_up + slots))));
  return static_cast<double>(traffic.arrived_ - before) / static_cast<double>(slots) / network.fabric().nodes;
}

// Karol, Hluchyj and Morgan 1987: 2 - sqrt(2) = 0.586 in the limit of many ports; a little more with 128.
TEST(PacketNetwork, LosesWhatTheTextbookSaysToHeadOfLineBlocking) {
  EXPECT_NEAR(throughput(64, 1, 4), 0.586, 0.012);
}

TEST(PacketNetwork, LosesNothingToHeadOfLineBlockingWithALanePerOutput) {
  EXPECT_GT(throughput(32, 64, 64), 0.97);
}

TEST(PacketNetwork, LosesLessWithEachLane) {
  const double two = throughput(32, 2, 16);
  const double eight = throughput(32, 8, 16);
  EXPECT_GT(two, 0.62);
  EXPECT_GT(eight, two + 0.1);
}

TEST(PacketNetwork, RepeatsItselfToThePicosecond) {
  const auto run = [](std::uint64_t seed) {
    PacketNetwork network = make({.lanes = 2}, "4-ary-2-tree");
    Saturation traffic(network, seed);
    EXPECT_TRUE(network.run_until(std::chrono::microseconds(500)));
    return std::pair(network.history(), network.events());
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
  // Every compiler must come to the same history; it changes only when the model does.
  EXPECT_EQ(run(1).first, 18115977060800421267U);
}

} // namespace
} // namespace heddle::sim
