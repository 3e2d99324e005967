#include "sim/fluid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "sim/description.hpp"
#include "sim/packet_network.hpp"

namespace heddle::sim {
namespace {

using Pattern = std::vector<Flow>;

// When each flow arrives, by its place in the pattern; and everything is submitted at the start.
template <typename Model>
class Outcome : public Listener {
 public:
  Outcome(std::string_view fabric, const Pattern& pattern) : model_(std::move(*Model::make(*parse_fabric(fabric)))) {
    model_.listen(this);
    arrived_.resize(pattern.size());
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      Flow flow = pattern[i];
      flow.cookie = i;
      EXPECT_TRUE(model_.submit(flow));
    }
    EXPECT_TRUE(model_.run());
  }
  void departed(const Flow&) override {}
  void arrived(const Flow& flow) override { arrived_[flow.cookie] = static_cast<double>(model_.now().count()); }
  void timer(std::uint64_t) override {}

  Model model_;
  std::vector<double> arrived_;
};

// The largest |fluid / packets - 1| of any flow's arrival.
double disagreement(std::string_view fabric, const Pattern& pattern) {
  const Outcome<PacketNetwork> packets(fabric, pattern);
  const Outcome<FluidNetwork> fluid(fabric, pattern);
  double largest = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    EXPECT_GT(packets.arrived_[i], 0) << i;
    largest = std::max(largest, std::abs(fluid.arrived_[i] / packets.arrived_[i] - 1));
  }
  return largest;
}
// The same of the last arrival.
double disagreement_at_the_end(std::string_view fabric, const Pattern& pattern) {
  const Outcome<PacketNetwork> packets(fabric, pattern);
  const Outcome<FluidNetwork> fluid(fabric, pattern);
  const double last = *std::max_element(packets.arrived_.begin(), packets.arrived_.end());
  return std::abs(*std::max_element(fluid.arrived_.begin(), fluid.arrived_.end()) / last - 1);
}

constexpr std::uint64_t kLarge = 4 << 20;
constexpr const char* kTree = "infiniband:6-ary-2-tree:30";

TEST(Fluid, AgreesWithPacketsOnOneFlowOfEachFabric) {
  EXPECT_LT(disagreement(kTree, {{.source = 0, .target = 20, .bytes = kLarge}}), 0.005);
  EXPECT_LT(disagreement("tofu:3x3x3", {{.source = 0, .target = 200, .bytes = kLarge}}), 0.005);
  EXPECT_LT(disagreement("rhinet:star:20", {{.source = 0, .target = 19, .bytes = kLarge}}), 0.02)
      << "where the receiver's 2.5 us of set-up are counted per packet";
}

TEST(Fluid, AgreesWithPacketsWhereFlowsShareALink) {
  Pattern pattern;
  for (std::uint32_t i = 0; i < 3; ++i) pattern.push_back({.source = i, .target = 6 * (i + 1), .bytes = kLarge});
  EXPECT_LT(disagreement(kTree, pattern), 0.01) << "all three through root 0";
  Pattern into_one;
  for (std::uint32_t i = 1; i < 6; ++i) into_one.push_back({.source = i, .target = 0, .bytes = kLarge * i});
  EXPECT_LT(disagreement(kTree, into_one), 0.01) << "and as the short ones end, the long ones go faster";
}

TEST(Fluid, AgreesWithPacketsOnEnginesLinksAndMemoryOfTofu) {
  Pattern pattern;
  const std::uint32_t targets[] = {108, 216, 36, 72};
  for (std::uint16_t engine = 0; engine < 4; ++engine) {
    pattern.push_back({.source = 0, .target = targets[engine], .bytes = kLarge, .send_engine = engine});
  }
  EXPECT_LT(disagreement("tofu:3x3x3", pattern), 0.01);
  for (Flow& each : pattern) each.target = 108;
  EXPECT_LT(disagreement("tofu:3x3x3", pattern), 0.01);
}

// One after the other at one engine, as a program that sends to everybody does.
TEST(Fluid, AgreesWithPacketsOnAPermutationAndOnShiftsInALeaf) {
  Pattern shift;
  for (std::uint32_t i = 0; i < 30; ++i) shift.push_back({.source = i, .target = (i + 6) % 30, .bytes = kLarge});
  EXPECT_LT(disagreement(kTree, shift), 0.01) << "free of hot spots";
  Pattern all;
  for (std::uint32_t far = 1; far < 12; ++far) {
    for (std::uint32_t i = 0; i < 12; ++i) all.push_back({.source = i, .target = (i + far) % 12, .bytes = 1 << 20});
  }
  EXPECT_LT(disagreement_at_the_end("infiniband:6-ary-2-tree:12", all), 0.05);
}

TEST(Fluid, AgreesWithPacketsOnPermutationsThatCollide) {
  std::mt19937_64 random(5);
  std::vector<std::uint32_t> target(30);
  for (std::uint32_t i = 0; i < 30; ++i) target[i] = i;
  for (int round = 0; round < 5; ++round) {
    std::shuffle(target.begin(), target.end(), random);
    Pattern pattern;
    for (std::uint32_t i = 0; i < 30; ++i) pattern.push_back({.source = i, .target = target[i], .bytes = kLarge});
    EXPECT_LT(disagreement(kTree, pattern), 0.05);
  }
}

// Five flows into node 5 get a fifth of its link each. Node 0 has one more, elsewhere: fair rates give it the other four fifths
// of node 0's own link. Packets do so too if it has a lane of its own; on the same lane they stand behind the blocked ones.
TEST(Fluid, IsOptimisticForAFlowBehindABlockedOne) {
  const auto other_flow = [](std::uint16_t lane) {
    Pattern pattern;
    for (std::uint32_t i = 0; i < 5; ++i) pattern.push_back({.source = i, .target = 5, .bytes = kLarge});
    pattern.push_back({.source = 0, .target = 12, .bytes = kLarge, .send_engine = 1, .lane = lane});
    std::string fabric = kTree;
    fabric += ",lanes=2";
    return Outcome<PacketNetwork>(fabric, pattern).arrived_.back() /
           Outcome<FluidNetwork>(fabric, pattern).arrived_.back();
  };
  EXPECT_NEAR(other_flow(1), 1, 0.05);
  EXPECT_GT(other_flow(0), 2);
}

// Three flows meet on the way down a line of switches. Each switch takes turns between its inputs, so the flow that joins last gets
// half; fair rates give each a third. They end together all the same, when the shared link has carried everything.
TEST(Fluid, IsFairerThanSwitchesThatTakeTurnsBetweenInputs) {
  Pattern pattern;
  for (std::uint32_t i = 1; i < 4; ++i) pattern.push_back({.source = 12 * i, .target = 0, .bytes = kLarge});
  const char* const fabric = "tofu:9x1x1,engine_rate=50GB/s,node_rate=100GB/s";
  const Outcome<PacketNetwork> packets(fabric, pattern);
  const Outcome<FluidNetwork> fluid(fabric, pattern);
  EXPECT_NEAR(packets.arrived_[0] / fluid.arrived_[0], 2.0 / 3, 0.03);
  EXPECT_LT(disagreement_at_the_end(fabric, pattern), 0.01);
}

// Every node to every other, the next one first, each as soon as the one before has left its memory.
template <typename Model>
class AllToAll : public Listener {
 public:
  AllToAll(const std::string& fabric, std::uint64_t bytes)
      : model_(std::move(*Model::make(*parse_fabric(fabric)))), nodes_(model_.fabric().nodes), bytes_(bytes) {
    model_.listen(this);
    for (std::uint32_t node = 0; node < nodes_; ++node) send(node, 1);
    EXPECT_TRUE(model_.run());
    EXPECT_EQ(arrived_, nodes_ * (nodes_ - 1));
  }
  void departed(const Flow& flow) override {
    if (flow.cookie + 1 < nodes_) send(flow.source, flow.cookie + 1);
  }
  void arrived(const Flow&) override { ++arrived_; }
  void timer(std::uint64_t) override {}
  [[nodiscard]] double time() const { return static_cast<double>(model_.now().count()); }

 private:
  void send(std::uint32_t source, std::uint64_t distance) {
    const auto target = static_cast<std::uint32_t>((source + distance) % nodes_);
    EXPECT_TRUE(model_.submit({.source = source, .target = target, .bytes = bytes_, .cookie = distance}));
  }
  Model model_;
  std::uint32_t nodes_;
  std::uint64_t bytes_;
  std::uint32_t arrived_ = 0;
};
double packets_over_fluid(const std::string& fabric, std::uint64_t bytes) {
  return AllToAll<PacketNetwork>(fabric, bytes).time() / AllToAll<FluidNetwork>(fabric, bytes).time();
}

// On a full tree every step is a shift that its ways carry without meeting, so nobody falls out of step.
TEST(Fluid, AgreesWithPacketsOnAnAllToAllInStep) {
  constexpr const char* kNoLatency = ",startup=0ns,send_latency=0ns,receive_latency=0ns,switch_delay=0ns,metres=0";
  const std::string tree = "infiniband:4-ary-2-tree:32";
  EXPECT_DOUBLE_EQ(packets_over_fluid(tree + kNoLatency, 64 << 10), 1);
  EXPECT_NEAR(packets_over_fluid(tree, 64 << 10), 1, 0.01); // packets overlap the latencies of one node's flows
  EXPECT_NEAR(packets_over_fluid("tofu:2x1x1", 256 << 10), 1, 0.01);
}

// Where ways meet, some wait and the steps of the nodes drift apart. Then flows much larger than a buffer block others behind
// them, all the way back to their sources, which fair rates know nothing of; and those as small as a buffer go on being
// sent while they wait, where fair rates would slow their sources down.
TEST(Fluid, DiffersFromPacketsOnAnAllToAllThatFallsOutOfStep) {
  EXPECT_NEAR(packets_over_fluid("infiniband:8-ary-2-tree:100", 256 << 10), 1.35, 0.1);
  EXPECT_NEAR(packets_over_fluid("infiniband:4-ary-2-tree:25", 1 << 20), 1.2, 0.1);
  EXPECT_NEAR(packets_over_fluid("infiniband:8-ary-2-tree:100", 4 << 10), 0.57, 0.05);
}

TEST(Fluid, StepsTimeLikeTheOtherModel) {
  auto model = FluidNetwork::make(*parse_fabric(kTree));
  ASSERT_TRUE(model);
  ASSERT_TRUE(model->submit({.source = 0, .target = 1, .bytes = kLarge}));
  model->run_until(std::chrono::microseconds(5));
  EXPECT_EQ(model->now(), std::chrono::microseconds(5));
  EXPECT_TRUE(model->run());
  EXPECT_FALSE(model->step());
  EXPECT_FALSE(model->submit({.source = 0, .target = 99}));
  EXPECT_FALSE(model->submit({.source = 0, .target = 1, .route = 0}));
}

} // namespace
} // namespace heddle::sim
