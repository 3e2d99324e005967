// What plans do on simulated networks: for a grid on the torus, where each process plans for all of them; with the paths of
// InfiniBand; and with nothing to send.
#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace heddle::simulation {
namespace {

constexpr std::uint32_t kColumns = 8;
using Ring = std::vector<std::array<std::uint32_t, 2>>;
const Ring kOfEight{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {2, 1}, {1, 1}, {0, 1}};
const Ring kOfSix{{0, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 1}, {1, 0}};

std::uint32_t node(std::uint32_t x, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return ((x * 2 + a) * 3 + b) * 2 + c;
}
// Packets go along X, A, C, B. Columns in X and A, rows in C and B: all diagonals along their column first.
std::vector<std::uint32_t> in_order(const Ring& rows = kOfSix) {
  std::vector<std::uint32_t> nodes;
  for (const auto& [c, b] : rows)
    for (const auto& [x, a] : kOfEight) nodes.push_back(node(x, a, b, c));
  return nodes;
}
// Columns in X and C, rows in A and B: where a column's step is in C and a row's in A, along the row first.
std::vector<std::uint32_t> out_of_order() {
  std::vector<std::uint32_t> nodes;
  for (const auto& [a, b] : kOfSix)
    for (const auto& [x, c] : kOfEight) nodes.push_back(node(x, a, b, c));
  return nodes;
}

Task exchange(Peer& peer, std::uint32_t rows, std::string algorithm) {
  struct Block {
    std::vector<int> offset;
    std::size_t bytes;
    int count;
  };
  // As a weather model has it: the east and west in one piece, the others in two.
  const std::vector<Block> blocks{{{0, 1}, 84'736, 1}, {{0, -1}, 84'736, 1}, {{1, 0}, 42'368, 2}, {{-1, 0}, 42'368, 2},
                                  {{1, 1}, 5'296, 2},  {{1, -1}, 5'296, 2},  {{-1, 1}, 5'296, 2}, {{-1, -1}, 5'296, 2}};
  std::vector<std::vector<std::byte>> memory;
  std::vector<NeighbourExchange> exchanges;
  for (const Block& block : blocks)
    for (int i = 0; i < block.count; ++i) {
      const std::vector<std::byte>& out = memory.emplace_back(block.bytes);
      const ConstLayout from(out);
      exchanges.push_back({.offset = block.offset, .out = from, .in = Layout(memory.emplace_back(block.bytes))});
    }
  const Grid grid{.size = {rows, kColumns}, .periodic = {true, true}, .ranks = {}};
  auto pattern = Pattern::neighbour_alltoall(peer.context(), grid, exchanges,
                                             {.barriers = true, .algorithm = std::move(algorithm)});
  if (!pattern) throw std::runtime_error(pattern.error().message());
  const Completion compiled = co_await peer.wait(*pattern->start_compile());
  if (compiled.code != ErrorCode::ok) throw std::runtime_error(pattern->error()->message());
  for (int round = 0; round < 4; ++round) {
    const Completion ended = co_await peer.wait(*pattern->start());
    if (ended.code != ErrorCode::ok) throw std::runtime_error("start");
  }
}

double us_for(const std::vector<std::uint32_t>& nodes, const std::string& algorithm,
              const std::string& fabric = "tofu:4x1x1") {
  const auto peers = static_cast<std::uint32_t>(nodes.size());
  auto world = World::create({.fabric = fabric, .peers = peers, .nodes = nodes});
  if (!world) throw std::runtime_error(world.error().message());
  const auto outcome = world->run([&](Peer& peer) { return exchange(peer, peers / kColumns, algorithm); });
  if (!outcome) throw std::runtime_error(outcome.error().message());
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
  return static_cast<double>(outcome->time.count()) / 1e6;
}

TEST(PlansForAll, EndSoonerThanBottomLeftWhereDiagonalsGoInOneOrder) {
  EXPECT_LT(us_for(in_order(), "sharing"), 0.99 * us_for(in_order(), "bottom-left-4"));
}

// One process whose routes go the other way is enough: two puts of one direction meet on some link, and everybody's routes tell.
TEST(PlansForAll, AreNotTrustedWhereDiagonalsMeetThoseOfOthers) {
  EXPECT_EQ(us_for(out_of_order(), "sharing"), us_for(out_of_order(), "bottom-left-4"));
}

// To the north and to the south is the same neighbour, and over the same cable: one link for both.
TEST(PlansForAll, KnowWhereTwoDirectionsShareACable) {
  const auto nodes = in_order({{0, 0}, {1, 0}});
  EXPECT_LE(us_for(nodes, "sharing"), us_for(nodes, "bottom-left-4"));
}

// Columns that many hops apart along X, on a torus that has room for them.
std::vector<std::uint32_t> columns_apart(std::uint32_t hops, std::uint32_t around) {
  std::vector<std::uint32_t> nodes;
  for (const auto& [c, b] : kOfSix)
    for (std::uint32_t column = 0; column < kColumns; ++column) nodes.push_back(node(hops * column % around, 0, b, c));
  return nodes;
}

TEST(PlansForAll, KnowTheLinksOfNeighboursSeveralHopsAway) {
  for (const std::uint32_t hops : {2U, 3U}) {
    const std::string fabric = "tofu:" + std::to_string(hops * kColumns) + "x1x1";
    const auto nodes = columns_apart(hops, hops * kColumns);
    EXPECT_LT(us_for(nodes, "sharing", fabric), 0.99 * us_for(nodes, "bottom-left-4", fabric)) << hops;
  }
}

// Eight columns on a ring of eight, three hops from each to the next, through nodes of the others.
TEST(PlansForAll, AreNotTrustedWhereNeighboursSendThroughOneAnother) {
  const auto nodes = columns_apart(3, kColumns);
  EXPECT_EQ(us_for(nodes, "sharing", "tofu:8x1x1"), us_for(nodes, "bottom-left-4", "tofu:8x1x1"));
}

// Ranks 0 and 1 sit at one switch with four links up and send to targets whose first LIDs all lead over the same one.
Task send_over_few_links(Peer& peer, std::string algorithm) {
  constexpr std::size_t kBytes = 100'000;
  const auto rank = std::to_underlying(peer.rank());
  std::vector<std::byte> out(2 * kBytes);
  std::vector<std::vector<std::byte>> in;
  auto pattern = Pattern::create(peer.context(), {.algorithm = std::move(algorithm)});
  const auto transfer = [&](std::uint32_t from, std::uint32_t to, Tag tag, std::size_t bytes) {
    if (rank == from && !pattern->send(Rank{to}, tag, ConstLayout(out.data(), bytes))) throw std::runtime_error("send");
    if (rank == to && !pattern->receive(Rank{from}, tag, Layout(in.emplace_back(bytes))))
      throw std::runtime_error("receive");
  };
  transfer(0, 4, Tag{1}, kBytes + 3);
  transfer(0, 8, Tag{1}, kBytes + 2);
  transfer(0, 12, Tag{1}, kBytes + 1);
  transfer(0, 4, Tag{2}, kBytes);
  transfer(1, 12, Tag{1}, 2 * kBytes);
  transfer(1, 12, Tag{2}, 2 * kBytes);
  const Completion compiled = co_await peer.wait(*pattern->start_compile());
  if (compiled.code != ErrorCode::ok) throw std::runtime_error(pattern->error()->message());
  const Completion ended = co_await peer.wait(*pattern->start());
  if (ended.code != ErrorCode::ok) throw std::runtime_error("start");
}

double us_on_a_tree(const std::string& algorithm) {
  auto world = World::create({.fabric = "infiniband:4-ary-2-tree,lmc=2", .peers = 16});
  if (!world) throw std::runtime_error(world.error().message());
  const auto outcome = world->run([&](Peer& peer) { return send_over_few_links(peer, algorithm); });
  if (!outcome) throw std::runtime_error(outcome.error().message());
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
  return static_cast<double>(outcome->time.count()) / 1e6;
}

TEST(PlannedPaths, KeepApartWhatTheFirstLidsOfTargetsBringTogether) {
  EXPECT_LT(us_on_a_tree("sharing"), 0.9 * us_on_a_tree("immediate"));
}

Task exchange_nothing(Peer& peer) {
  std::vector<NeighbourExchange> exchanges;
  for (const int side : {-1, 1}) exchanges.push_back({.offset = {side}, .out = ConstLayout(), .in = Layout()});
  const Grid grid{.size = {4}, .periodic = {true}, .ranks = {}};
  auto pattern = Pattern::neighbour_alltoall(peer.context(), grid, exchanges, {.barriers = true});
  if (!pattern) throw std::runtime_error(pattern.error().message());
  const Completion compiled = co_await peer.wait(*pattern->start_compile());
  if (compiled.code != ErrorCode::ok) throw std::runtime_error(pattern->error()->message());
  const Completion ended = co_await peer.wait(*pattern->start());
  if (ended.code != ErrorCode::ok) throw std::runtime_error("start");
}

TEST(PutsOfNothing, IntoNoMemoryArriveOnEveryNetwork) {
  for (const char* fabric : {"tofu:1x1x1", "infiniband:2-ary-2-tree", "rhinet:ring:6"}) {
    auto world = World::create({.fabric = fabric, .peers = 4});
    ASSERT_TRUE(world) << world.error().message();
    const auto outcome = world->run(exchange_nothing);
    ASSERT_TRUE(outcome) << fabric << ": " << outcome.error().message();
    EXPECT_EQ(outcome->errors, std::vector<std::string>{}) << fabric;
  }
}

TEST(Grids, AreRefusedWithTooManyAxesOrOtherSizesThanTheJobs) {
  const auto refusal = [](const std::vector<std::uint32_t>& size) {
    std::string message;
    auto world = World::create({.fabric = "tofu:1x1x1", .peers = 4});
    const auto outcome = world->run([&](Peer& peer) -> Task {
      const auto pattern = Pattern::neighbour_alltoall(peer.context(), {.size = size, .periodic = {}, .ranks = {}}, {});
      message = pattern ? "none" : pattern.error().message();
      co_return;
    });
    EXPECT_TRUE(outcome);
    return message;
  };
  EXPECT_EQ(refusal({2, 2, 1, 1, 1, 1, 1, 1}), "none");
  EXPECT_NE(refusal({2, 2, 1, 1, 1, 1, 1, 1, 1}).find("a grid of 9 axes, expected 1 to 8"), std::string::npos);
  EXPECT_NE(refusal({}).find("a grid of 0 axes"), std::string::npos);
  EXPECT_NE(refusal({3}).find("a grid of 3 places for a job of 4"), std::string::npos);
  // Their product is 4 more than what 64 bits hold.
  EXPECT_NE(refusal({4, 5, 5581, 8681, 49477, 384773}).find("a grid of more than 4 places"), std::string::npos);
}

} // namespace
} // namespace heddle::simulation
