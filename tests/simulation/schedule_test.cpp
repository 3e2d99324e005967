// What plans for a grid do on the simulated torus, where each process plans for all of them.
#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::simulation {
namespace {

constexpr std::uint32_t kRows = 6;
constexpr std::uint32_t kColumns = 8;
using Ring = std::vector<std::array<std::uint32_t, 2>>;
const Ring kOfEight{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {2, 1}, {1, 1}, {0, 1}};
const Ring kOfSix{{0, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 1}, {1, 0}};

std::uint32_t node(std::uint32_t x, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return ((x * 2 + a) * 3 + b) * 2 + c;
}
// Packets go along X, A, C, B. Columns in X and A, rows in C and B: all diagonals along their column first.
std::vector<std::uint32_t> in_order() {
  std::vector<std::uint32_t> nodes;
  for (const auto& [c, b] : kOfSix)
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

Task exchange(Peer& peer, std::string algorithm) {
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
  const Grid grid{.size = {kRows, kColumns}, .periodic = {true, true}, .ranks = {}};
  auto pattern = Pattern::neighbour_alltoall(peer.context(), grid, exchanges,
                                             {.barriers = true, .algorithm = std::move(algorithm)});
  if (!pattern) throw std::runtime_error(pattern.error().message());
  if ((co_await peer.wait(*pattern->start_compile())).code != ErrorCode::ok)
    throw std::runtime_error(pattern->error()->message());
  for (int round = 0; round < 4; ++round)
    if ((co_await peer.wait(*pattern->start())).code != ErrorCode::ok) throw std::runtime_error("start");
}

double us_for(const std::vector<std::uint32_t>& nodes, const std::string& algorithm) {
  auto world = World::create({.fabric = "tofu:4x1x1", .peers = kRows * kColumns, .nodes = nodes});
  if (!world) throw std::runtime_error(world.error().message());
  const auto outcome = world->run([&](Peer& peer) { return exchange(peer, algorithm); });
  if (!outcome) throw std::runtime_error(outcome.error().message());
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
  return static_cast<double>(outcome->time.count()) / 1e6;
}

TEST(PlansForAll, EndSoonerThanBottomLeftWhereDiagonalsGoInOneOrder) {
  EXPECT_LT(us_for(in_order(), "sharing"), 0.99 * us_for(in_order(), "bottom-left-4"));
}

// One process whose routes go the other way is enough, and the others hear of it.
TEST(PlansForAll, AreNotTrustedWhereDiagonalsMeetOthersThanPlanned) {
  EXPECT_EQ(us_for(out_of_order(), "sharing"), us_for(out_of_order(), "bottom-left-4"));
}

} // namespace
} // namespace heddle::simulation
