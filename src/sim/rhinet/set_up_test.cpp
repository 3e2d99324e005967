// Tables that set themselves up, and traffic while cables are cut and plugged. Every random case prints its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "sim/rhinet/network.hpp"

namespace heddle::sim {
namespace {

// Switches joined at random, some with several cables between them, each with a few nodes. The first switches - 1 cables make a
// tree; the nodes' come last.
Topology random_topology(std::mt19937_64& random) {
  Topology topology;
  const auto switches = static_cast<std::uint32_t>(1 + random() % 10);
  std::vector<std::uint32_t> used(switches, 0);
  const auto port = [&](std::uint32_t at) { return switch_end(at, used[at]++); };
  for (std::uint32_t at = 0; at < switches; ++at) {
    topology.switches.push_back(std::to_string(at));
    topology.ports.push_back(kRhinetPorts);
  }
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    if (a == b || used[a] > 5 || used[b] > 5) return;
    topology.cables.push_back({port(a), port(b), static_cast<std::uint32_t>(random() % 100), {}});
  };
  for (std::uint32_t at = 1; at < switches; ++at) {
    std::uint32_t to = static_cast<std::uint32_t>(random() % at);
    while (used[to] > 4) to = (to + 1) % at;
    join(at, to);
  }
  for (std::uint64_t i = random() % (2 * switches); i > 0; --i) {
    join(static_cast<std::uint32_t>(random() % switches), static_cast<std::uint32_t>(random() % switches));
  }
  for (std::uint32_t at = 0; at < switches; ++at) {
    for (std::uint64_t i = 1 + random() % 2; i > 0; --i) {
      const auto node = static_cast<std::uint32_t>(topology.nodes.size());
      topology.nodes.push_back(std::to_string(node));
      topology.cables.push_back({node_end(node), port(at), kNone, {}});
    }
  }
  return topology;
}

// The channels that a packet may hold while it waits for another form no cycle, and every node is reached.
void expect_good_tables(const RhinetNetwork& network) {
  const Fabric& fabric = network.fabric();
  const auto wiring = wire(fabric);
  std::map<std::uint32_t, std::set<std::uint32_t>> behind; // link -> links wanted while it is held
  for (std::uint32_t source = 0; source < fabric.nodes; ++source) {
    for (std::uint32_t target = 0; target < fabric.nodes; ++target) {
      std::uint32_t link = wiring->inject[source];
      for (std::uint32_t hops = 0; fabric.links[link].to.kind == End::Kind::switch_; ++hops) {
        ASSERT_LE(hops, fabric.switches.size()) << "a loop";
        const std::uint32_t at = fabric.links[link].to.index;
        const std::uint16_t port = network.map_of(at).port(PhysicalId{at + 1}, PhysicalId{target + 1});
        ASSERT_NE(port, kNoPort);
        const std::uint32_t next = wiring->link_at(at, port);
        behind[link].insert(next);
        link = next;
      }
      ASSERT_EQ(fabric.links[link].to.index, target);
    }
  }
  std::map<std::uint32_t, int> state; // 1 = on the trail, 2 = done
  const auto visit = [&](auto& self, std::uint32_t link) -> bool {
    if (state[link] != 0) return state[link] == 2;
    state[link] = 1;
    for (const std::uint32_t next : behind[link]) {
      if (!self(self, next)) return false;
    }
    state[link] = 2;
    return true;
  };
  for (const auto& [link, unused] : std::map(behind)) EXPECT_TRUE(visit(visit, link)) << "a cycle of buffers";
}

TEST(RhinetSetUp, GivesEverySwitchTheSameMapAndTablesWithoutCircles) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto fabric = rhinet({}, random_topology(random));
    ASSERT_TRUE(fabric) << fabric.error().message();
    const auto network = std::move(*RhinetNetwork::make(*fabric));
    EXPECT_TRUE(network->settled());
    for (std::uint32_t at = 0; at < fabric->switches.size(); ++at) {
      EXPECT_EQ(network->map_of(at).epoch, network->map_of(0).epoch);
      EXPECT_EQ(network->map_of(at).switches.size(), fabric->switches.size());
      EXPECT_EQ(network->map_of(at).nodes.size(), fabric->nodes);
    }
    expect_good_tables(*network);
  }
}

// Random traffic of pushes and multicasts, each known by its cookie; checks that each target gets what was sent to it once
// and in order.
class Traffic : public Listener {
 public:
  Traffic(RhinetNetwork& network, std::uint64_t seed) : network_(network), random_(seed) { network.listen(this); }

  void send(std::uint32_t count) {
    const std::uint32_t nodes = network_.fabric().nodes;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto source = static_cast<std::uint32_t>(random_() % nodes);
      const auto lane = static_cast<std::uint16_t>(random_() % 2);
      std::vector<std::uint32_t> targets{static_cast<std::uint32_t>(random_() % nodes)};
      Flow flow{.source = source,
                .target = targets[0],
                .bytes = random_() % 3 == 0 ? random_() % 20'000 : random_() % 200,
                .cookie = ++sent_,
                .lane = lane,
                .payload = random_() % 4 == 0 ? Payload::immediate : Payload::memory};
      if (random_() % 4 == 0) {
        for (std::uint64_t more = random_() % 6; more > 0; --more) {
          targets.push_back(static_cast<std::uint32_t>(random_() % nodes));
        }
        std::ranges::sort(targets);
        targets.erase(std::ranges::unique(targets).begin(), targets.end());
        flow.group = *network_.add_group(targets);
      }
      ASSERT_TRUE(network_.submit(flow));
      for (const std::uint32_t target : targets) expected_[{source, target, lane}].push_back(sent_);
    }
  }
  void departed(const Flow& flow) override { EXPECT_TRUE(departed_.insert(flow.cookie).second); }
  void arrived(const Flow& flow) override {
    arrived_[{flow.source, flow.target, flow.lane}].push_back(flow.cookie);
    ++arrivals_;
  }
  void timer(std::uint64_t) override {}

  void expect_whole() const {
    EXPECT_EQ(departed_.size(), sent_);
    for (const auto& [stream, cookies] : expected_) {
      const auto found = arrived_.find(stream);
      ASSERT_NE(found, arrived_.end());
      EXPECT_EQ(found->second, cookies);
    }
  }
  std::uint64_t arrivals_ = 0;

 private:
  struct Stream {
    std::uint32_t source, target, lane;
    auto operator<=>(const Stream&) const = default;
  };
  RhinetNetwork& network_;
  std::mt19937_64 random_;
  std::uint64_t sent_ = 0;
  std::map<Stream, std::vector<std::uint64_t>> expected_;
  std::map<Stream, std::vector<std::uint64_t>> arrived_;
  std::set<std::uint64_t> departed_;
};

TEST(RhinetCuts, GoRoundACutCable) {
  auto network = std::move(*RhinetNetwork::make(*rhinet({}, ring(6))));
  Traffic traffic(*network, 1);
  traffic.send(200);
  network->run_until(std::chrono::microseconds(300));
  EXPECT_GT(traffic.arrivals_, 0U);
  network->cut(3); // between switches 1 and 2
  ASSERT_TRUE(network->run());
  traffic.expect_whole();
  EXPECT_GT(network->dropped(), 0U);
  EXPECT_GT(network->resent(), 0U);
  EXPECT_TRUE(network->settled());
}

TEST(RhinetCuts, KeepWhatIsForANodeUntilItIsThere) {
  auto network = std::move(*RhinetNetwork::make(*rhinet({}, star(5)), {3}));
  Traffic traffic(*network, 2);
  traffic.send(100);
  const auto done = network->run();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().fact.find("cannot be reached"), std::string::npos) << done.error().fact;
  EXPECT_EQ(network->map_of(0).nodes.size(), 4U);
  network->plug(3);
  EXPECT_FALSE(network->settled());
  ASSERT_TRUE(network->run());
  EXPECT_EQ(network->map_of(0).nodes.size(), 5U);
  traffic.expect_whole();
}

TEST(RhinetCuts, AreNoticedEvenIfTheCableIsBackAtOnce) {
  auto network = std::move(*RhinetNetwork::make(*rhinet({}, star(9))));
  Traffic traffic(*network, 3);
  traffic.send(200);
  network->run_until(std::chrono::microseconds(200));
  network->cut(0);
  network->run_until(std::chrono::microseconds(210));
  network->plug(0);
  ASSERT_TRUE(network->run());
  traffic.expect_whole();
}

TEST(RhinetCuts, SplitANetworkAndJoinItAgain) {
  auto network = std::move(*RhinetNetwork::make(*rhinet({}, ring(6))));
  Traffic traffic(*network, 4);
  traffic.send(100);
  network->cut(1);
  network->cut(7);
  network->run_until(std::chrono::milliseconds(20));
  EXPECT_NE(network->map_of(1).epoch, network->map_of(5).epoch);
  EXPECT_LT(network->map_of(1).nodes.size(), 6U);
  traffic.send(100);
  network->run_until(std::chrono::milliseconds(40));
  network->plug(7);
  ASSERT_TRUE(network->run());
  traffic.expect_whole();
  EXPECT_EQ(network->map_of(1).epoch, network->map_of(5).epoch);
}

// Cables go and come while everybody sends; in the end all are plugged and everything has arrived.
TEST(RhinetCuts, LoseAndDoubleNothingWhateverTheSeed) {
  const char* const asked = std::getenv("TEST_SEED");
  const std::uint64_t first = asked != nullptr ? std::strtoull(asked, nullptr, 0) : 1;
  const std::uint64_t last = asked != nullptr ? first : 80;
  std::uint64_t dropped = 0;
  for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    auto network = std::move(*RhinetNetwork::make(*rhinet({.mtu = 1024}, random_topology(random))));
    Traffic traffic(*network, seed);
    traffic.send(60);
    for (std::uint64_t i = 4 + random() % 8; i > 0; --i) {
      const auto cable = static_cast<std::uint32_t>(random() % network->cables());
      if (random() % 2 == 0) {
        network->cut(cable);
      } else {
        network->plug(cable);
      }
      const std::uint64_t longest = random() % 2 == 0 ? 3000 : 100; // also while tables are being set up
      network->run_until(network->now() + std::chrono::microseconds(random() % longest));
      traffic.send(static_cast<std::uint32_t>(random() % 20));
    }
    for (std::uint32_t cable = 0; cable < network->cables(); ++cable) network->plug(cable);
    const auto done = network->run();
    ASSERT_TRUE(done) << done.error().message();
    traffic.expect_whole();
    EXPECT_TRUE(network->settled());
    expect_good_tables(*network);
    dropped += network->dropped();
  }
  if (asked == nullptr) {
    EXPECT_GT(dropped, 500U) << "the cuts hit nothing";
  }
}

TEST(RhinetSetUp, TellsTheManagementNodeWhatHasChanged) {
  auto network = std::move(*RhinetNetwork::make(*rhinet({}, ring(6))));
  const auto between = [&](std::uint32_t cable) {
    const Link& link = network->fabric().links[std::size_t{2} * cable];
    return network->fabric().name_of(link.from) + " - " + network->fabric().name_of(link.to);
  };
  ASSERT_TRUE(network->run());
  EXPECT_TRUE(network->reports().empty()) << "nothing has changed";
  constexpr std::uint32_t kCable = 5; // between switches 2 and 3
  const Picoseconds cut_at = network->now();
  network->cut(kCable);
  ASSERT_TRUE(network->run());
  ASSERT_EQ(network->reports().size(), 1U) << "both ends start a round, and only one of them has news";
  EXPECT_EQ(network->reports()[0].gone, std::vector<std::string>{between(kCable)});
  EXPECT_TRUE(network->reports()[0].come.empty());
  EXPECT_GT(network->reports()[0].time, cut_at);
  network->plug(kCable);
  ASSERT_TRUE(network->run());
  ASSERT_EQ(network->reports().size(), 2U);
  EXPECT_EQ(network->reports()[1].come, std::vector<std::string>{between(kCable)});
}

// As far as it can be told: what is behind a second cut is gone, too.
TEST(RhinetSetUp, TellsTheManagementNodeOfAPartThatIsCutOff) {
  auto network = std::move(*RhinetNetwork::make(*rhinet({}, ring(6))));
  network->cut(5);
  ASSERT_TRUE(network->run());
  network->cut(9); // between switches 4 and 5: 3 and 4 are by themselves now
  ASSERT_TRUE(network->run());
  ASSERT_EQ(network->reports().size(), 2U);
  EXPECT_EQ(network->reports()[1].gone.size(), 4U) << "that cable, the one between 3 and 4, and their nodes'";
}

} // namespace
} // namespace heddle::sim
