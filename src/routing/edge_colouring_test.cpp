#include "routing/edge_colouring.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "routing/list_colouring.hpp"

namespace heddle::routing {
namespace {

std::uint32_t below(std::uint32_t limit, std::mt19937& dice) {
  return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(dice);
}

// A random bipartite multigraph in which no vertex has more than `most` edges.
std::vector<Edge> random_graph(std::uint32_t vertices, std::uint32_t most, std::mt19937& dice) {
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> right;
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex)
    for (std::uint32_t i = 0; i < most; ++i) {
      left.push_back(vertex);
      right.push_back(vertex);
    }
  std::shuffle(left.begin(), left.end(), dice);
  std::shuffle(right.begin(), right.end(), dice);
  const std::size_t count = std::uniform_int_distribution<std::size_t>(1, left.size())(dice);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < count; ++i) edges.push_back({left[i], right[i]});
  return edges;
}

void expect_proper(const std::vector<Edge>& edges, const std::vector<std::uint32_t>& colours) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> left;
  std::set<std::pair<std::uint32_t, std::uint32_t>> right;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (colours[e] == kNoColour) continue;
    EXPECT_TRUE(left.insert({edges[e].left, colours[e]}).second) << "edge " << e;
    EXPECT_TRUE(right.insert({edges[e].right, colours[e]}).second) << "edge " << e;
  }
}

TEST(EdgeColouring, NeedsNoMoreColoursThanTheDegree) {
  std::mt19937 dice(1);
  EdgeColouring colouring;
  for (int round = 0; round < 400; ++round) {
    const std::uint32_t vertices = 1 + below(12, dice);
    const auto edges = random_graph(vertices, 1 + below(round % 10 == 0 ? 150 : 20, dice), dice);
    const std::uint32_t colours = degree(edges, vertices);
    std::vector<std::uint32_t> wanted;
    for (std::size_t e = 0; e < edges.size() && round % 2 == 0; ++e) wanted.push_back(below(2 * colours, dice));
    const auto& result = colouring.colour(edges, vertices, colours, wanted);
    ASSERT_EQ(result.size(), edges.size());
    for (const std::uint32_t colour : result) EXPECT_LT(colour, colours);
    expect_proper(edges, result);
  }
}

// Galvin's theorem, with lists that are as different as can be.
TEST(ListColouring, ColoursEveryEdgeFromListsAsLongAsTheDegree) {
  std::mt19937 dice(2);
  EdgeColouring colouring;
  ListColouring from_lists;
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t vertices = 1 + below(10, dice);
    const auto edges = random_graph(vertices, 1 + below(10, dice), dice);
    const std::uint32_t size = degree(edges, vertices);
    const std::uint32_t colours = size + below(8, dice);
    std::vector<std::set<std::uint32_t>> lists(edges.size());
    for (auto& list : lists)
      while (list.size() < size) list.insert(below(colours, dice));
    const auto ranks = colouring.colour(edges, vertices, size, {});
    const auto& result = from_lists.colour(edges, vertices, ranks, colours,
                                           [&](std::uint32_t e, std::uint32_t c) { return lists[e].contains(c); });
    for (std::size_t e = 0; e < edges.size(); ++e) {
      ASSERT_NE(result[e], kNoColour) << "round " << round;
      EXPECT_TRUE(lists[e].contains(result[e]));
    }
    expect_proper(edges, result);
  }
}

TEST(ListColouring, LeavesEdgesWithoutColoursAlone) {
  EdgeColouring colouring;
  ListColouring from_lists;
  const std::vector<Edge> edges{{0, 0}, {0, 1}};
  const auto ranks = colouring.colour(edges, 2, 2, {});
  const auto& result = from_lists.colour(edges, 2, ranks, 2, [](std::uint32_t e, std::uint32_t) { return e == 0; });
  EXPECT_NE(result[0], kNoColour);
  EXPECT_EQ(result[1], kNoColour);
}

} // namespace
} // namespace heddle::routing
