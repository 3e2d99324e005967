// All-to-alls in rounds: that everything arrives where it belongs, and in which order partners come.
#include "tools/heddle/ring_exchange.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "sim/description.hpp"

namespace heddle::tool {
namespace {

struct Traffic {
  double us = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> bytes; // [from, to]
};

// What the network has seen on the links out of nodes.
class Watch : public sim::Recorder {
 public:
  Watch(const sim::NetworkModel& network, Traffic& traffic) : network_(network), traffic_(traffic) {}
  void span(const sim::Span& span) override {
    if (span.part != sim::Span::Part::link || network_.fabric().links[span.index].from.kind != sim::End::Kind::node)
      return;
    constexpr std::uint64_t kHeader = 30;
    traffic_.bytes[{span.flow.source, span.flow.target}] += span.bytes - kHeader;
    auto& last = last_[span.flow.source];
    const bool changed = !last.empty() && last.back() != span.flow.target;
    if (last.empty() || changed) last.push_back(span.flow.target);
  }
  // How often a node turns from one target to another.
  [[nodiscard]] std::size_t turns(std::uint32_t node) const { return last_.at(node).size() - 1; }

 private:
  const sim::NetworkModel& network_;
  Traffic& traffic_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> last_;
};

constexpr std::uint32_t kNodes = 6;
constexpr std::uint32_t kProcesses = 4;
constexpr std::uint64_t kBytes = 20'000;

// On one switch; the second value: how often node 0 turned from one target to another.
std::pair<Traffic, std::size_t> run(RingOrder order, std::uint32_t parts = 1, bool lanes = false) {
  auto network = std::move(*sim::make_network(
      *sim::parse_fabric("infiniband:6-ary-1-tree,lmc=1,engines=8" + std::string(lanes ? ",lanes=6" : ""))));
  Traffic traffic;
  Watch watch(*network, traffic);
  network->record(&watch);
  RingExchange exchange{.nodes = {}, .processes = kProcesses, .bytes = kBytes, .order = order, .lids = {}};
  exchange.nodes.resize(kNodes);
  std::iota(exchange.nodes.begin(), exchange.nodes.end(), 0U);
  exchange.lane_for_each_target = lanes;
  exchange.lids = [&](std::uint32_t, std::uint32_t to) {
    std::vector<std::uint32_t> lids(parts, network->fabric().tables.base[to]);
    return lids;
  };
  const auto us = run_ring_exchange(*network, exchange);
  EXPECT_TRUE(us) << us.error().message();
  traffic.us = us.value_or(0);
  return {traffic, watch.turns(0)};
}

TEST(RingExchange, SendsEverythingOnceInEitherOrder) {
  for (const RingOrder order : {RingOrder::plain, RingOrder::two_level})
    for (const std::uint32_t parts : {1U, 2U}) {
      const Traffic traffic = run(order, parts).first;
      EXPECT_EQ(traffic.bytes.size(), kNodes * (kNodes - 1)) << "nothing within a node";
      for (const auto& [pair, bytes] : traffic.bytes) EXPECT_EQ(bytes, kBytes * kProcesses * kProcesses);
    }
}

TEST(RingExchange, TurnsToOneNodeAtATimeOnTwoLevels) {
  EXPECT_EQ(run(RingOrder::two_level).second, kNodes - 2);
  EXPECT_GT(run(RingOrder::plain).second, 10U * kNodes) << "packets to two nodes mix";
}

TEST(RingExchange, IsSlowedDownByBlockingOnlyInThePlainOrder) {
  const double two_level = run(RingOrder::two_level).first.us;
  const double plain = run(RingOrder::plain).first.us;
  const double freed = run(RingOrder::plain, 1, true).first.us;
  const double least = kBytes * kProcesses * kProcesses * (kNodes - 1) / 2000.0; // us at 2,000 MB/s
  EXPECT_LT(two_level, 1.1 * least);
  EXPECT_GT(plain, 1.1 * two_level);
  EXPECT_LT(freed, plain - (plain - two_level) / 2) << "a buffer for each target takes most of it away";
}

} // namespace
} // namespace heddle::tool
