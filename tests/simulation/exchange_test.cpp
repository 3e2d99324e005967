// All-to-all between simulated processes: the same plans, on every network.
#include "tests/traffic/exchange.hpp"
#include "tests/traffic/slowdown.hpp"

#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

namespace heddle::tests {
namespace {

using simulation::Peer;
using simulation::Task;

class SimulatedExchange : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, SimulatedExchange,
                         testing::Values("infiniband:4-ary-2-tree", "infiniband:2-ary-3-tree,lmc=2", "tofu:2x1x1",
                                         "rhinet:star:16"));

Task exchange(Peer& peer, ExchangeModel model, std::uint64_t rounds) {
  for (std::uint64_t number = 0; number < rounds; ++number) {
    ExchangeRound round(model, number, std::to_underlying(peer.rank()));
    const auto request = round.start(peer.context());
    if (!request) throw std::runtime_error(request.error().message());
    const Completion completion = co_await peer.wait(*request);
    if (completion.code != ErrorCode::ok) throw std::runtime_error(std::string(to_string(completion.code)));
    if (!round.verdict().empty()) throw std::runtime_error(round.verdict());
  }
}

void expect_good(const simulation::Setup& setup, const ExchangeModel& model, std::uint64_t rounds) {
  SCOPED_TRACE(setup.fabric + ", " + std::to_string(setup.peers) + " peers");
  auto world = simulation::World::create(setup);
  ASSERT_TRUE(world) << world.error().message();
  const auto outcome = world->run([&](Peer& peer) { return exchange(peer, model, rounds); });
  ASSERT_TRUE(outcome) << outcome.error().message();
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
}

TEST_P(SimulatedExchange, BringsEveryBlockToItsPlaceHoweverManyProcesses) {
  for (std::uint32_t peers = 1; peers <= 16; peers += 3)
    expect_good({.fabric = GetParam(), .peers = peers}, {.seed = peers, .size = peers, .largest = 9000},
                4 / kSlowdown + 1);
}

// As many and as small as Bruck's algorithm is for.
TEST_P(SimulatedExchange, BringsSmallBlocksOfManyProcessesToTheirPlaces) {
  expect_good({.fabric = GetParam(), .peers = 36, .peers_per_node = 5}, {.seed = 9, .size = 36, .largest = 16}, 3);
}

TEST_P(SimulatedExchange, BringsEveryBlockToItsPlaceOnUnevenNodes) {
  expect_good({.fabric = GetParam(), .peers = 11, .peers_per_node = 4}, {.seed = 5, .size = 11, .largest = 30'000}, 3);
}

TEST_P(SimulatedExchange, EndsWithAnErrorWhenAProcessDies) {
  for (std::uint64_t moment = 1; moment <= 8; ++moment) {
    SCOPED_TRACE(moment);
    const ExchangeModel model{.seed = moment, .size = 7, .largest = 200'000};
    auto world = simulation::World::create({.fabric = GetParam(),
                                            .peers = 7,
                                            .deaths = {{.rank = Rank{static_cast<std::uint32_t>(moment % 7)},
                                                        .at = std::chrono::microseconds(moment * moment * 10)}}});
    ASSERT_TRUE(world);
    std::uint32_t told = 0;
    const auto outcome = world->run([&](Peer& peer) -> Task {
      for (std::uint64_t number = 0;; ++number) {
        ExchangeRound round(model, number, std::to_underlying(peer.rank()));
        const Completion completion = co_await peer.wait(*round.start(peer.context()));
        if (completion.code == ErrorCode::peer_failed) break;
        if (completion.code != ErrorCode::ok) throw std::runtime_error(std::string(to_string(completion.code)));
        if (!round.verdict().empty()) throw std::runtime_error(round.verdict());
      }
      ++told;
    });
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_EQ(outcome->errors, std::vector<std::string>{});
    EXPECT_EQ(told, 6U);
  }
}

// Who knows which rings were written to looks at no others; what it sees, and when, is the same.
TEST(SimulatedExchange, TakesTheSameTimeTwice) {
  std::array<std::uint64_t, 2> histories{};
  for (std::uint64_t& history : histories) {
    auto world = simulation::World::create({.fabric = "infiniband:4-ary-2-tree", .peers = 16});
    const auto outcome =
        world->run([](Peer& peer) { return exchange(peer, {.seed = 9, .size = 16, .largest = 3000}, 2); });
    ASSERT_TRUE(outcome) << outcome.error().message();
    history = outcome->history;
  }
  EXPECT_EQ(histories[0], histories[1]);
}

} // namespace
} // namespace heddle::tests
