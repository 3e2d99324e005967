#include "pattern/grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace heddle::pattern {
namespace {

using testing::HasSubstr;

TEST(GridPlaces, EndAtTheEdgeOfAnOpenGridAndGoOnInAPeriodicOne) {
  const auto places = *GridPlaces::of({.size = {2, 3}, .periodic = {false, true}}, 6);
  EXPECT_EQ(places.neighbour(1, {0, 1}), 2U);
  EXPECT_EQ(places.neighbour(2, {0, 1}), 0U);
  EXPECT_EQ(places.neighbour(0, {0, -1}), 2U);
  EXPECT_EQ(places.neighbour(0, {1, -1}), 5U);
  EXPECT_EQ(places.neighbour(0, {-1, 0}), std::nullopt);
  EXPECT_EQ(places.neighbour(4, {1, 0}), std::nullopt);
}

TEST(GridPlaces, AreThoseOfTheRanksGiven) {
  const auto places = *GridPlaces::of({.size = {3}, .ranks = {Rank{2}, Rank{0}, Rank{1}}}, 3);
  EXPECT_EQ(places.neighbour(2, {1}), 0U);
  EXPECT_EQ(places.neighbour(0, {1}), 1U);
  EXPECT_EQ(places.neighbour(1, {1}), std::nullopt);
}

TEST(GridPlaces, AreRefusedWhereTheyAreNotTheJobs) {
  const auto fact = [](const Grid& grid, std::uint32_t size) {
    const auto places = GridPlaces::of(grid, size);
    return places ? std::string() : places.error().fact;
  };
  EXPECT_THAT(fact({}, 1), HasSubstr("a grid of 0 axes, expected 1 to 8"));
  EXPECT_THAT(fact({.size = {2, 2}}, 6), HasSubstr("a grid of 4 places for a job of 6"));
  // The product of all would be 0.
  EXPECT_THAT(fact({.size = {1U << 31U, 1U << 31U, 4}}, 6), HasSubstr("more than 6 places"));
  EXPECT_THAT(fact({.size = {2}, .periodic = {true, true}}, 2), HasSubstr("says of 2 whether they are periodic"));
  for (const auto& ranks : {std::vector{Rank{0}, Rank{0}}, std::vector{Rank{0}, Rank{2}}, std::vector{Rank{0}},
                            std::vector{Rank{0}, Rank{1}, Rank{2}}})
    EXPECT_THAT(fact({.size = {2}, .ranks = ranks}, 2), HasSubstr("are not 0 to 1, each once"));
}

// What rank 0 sends under a name, its neighbour expects under it.
TEST(NeighbourRequests, PairUpBetweenNeighbours) {
  const Grid ring{.size = {2}, .periodic = {true}};
  std::vector<NeighbourExchange> exchanges;
  for (const int offset : {1, -1, 1, -1}) exchanges.push_back({.offset = {offset}, .out = {}, .in = {}});
  const auto first = *neighbour_requests(ring, {.own = 0, .size = 2}, exchanges, false);
  const auto second = *neighbour_requests(ring, {.own = 1, .size = 2}, exchanges, false);
  ASSERT_EQ(first.size(), 8U);
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> expected;
  for (const Declared& item : first)
    if (item.kind == Declared::Kind::send) sent.push_back(item.tag);
  for (const Declared& item : second)
    if (item.kind == Declared::Kind::receive) expected.push_back(item.tag);
  EXPECT_THAT(sent, testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(std::ranges::count(sent, sent[0]), 1) << "two exchanges with one neighbour are told apart";
}

TEST(NeighbourRequests, ArePutsBetweenBarriersAndNoneBeyondTheEdge) {
  const std::array<NeighbourExchange, 2> exchanges{NeighbourExchange{.offset = {1, 1}, .out = {}, .in = {}},
                                                   NeighbourExchange{.offset = {-1, 0}, .out = {}, .in = {}}};
  const auto items = *neighbour_requests({.size = {2, 2}}, {.own = 0, .size = 4}, exchanges, true);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].kind, Declared::Kind::put);
  EXPECT_EQ(items[0].rank, 3U);
  EXPECT_EQ(items[1].kind, Declared::Kind::expose);
  ASSERT_TRUE(items[0].hint.diagonal());
  EXPECT_EQ(items[0].hint.steps[0].neighbour, 2U);
  EXPECT_EQ(items[0].hint.steps[1].neighbour, 1U);
}

TEST(NeighbourRequests, AreRefusedForOffsetsThatAreNotTheGrids) {
  for (const std::vector<int>& offset : {std::vector{1}, std::vector{1, 2}, std::vector{-2, 0}}) {
    const std::array<NeighbourExchange, 1> exchanges{NeighbourExchange{.offset = offset, .out = {}, .in = {}}};
    const auto items = neighbour_requests({.size = {2, 2}}, {.own = 0, .size = 4}, exchanges, false);
    ASSERT_FALSE(items);
    EXPECT_THAT(items.error().fact, HasSubstr("for each of the grid's 2 axes"));
  }
}

} // namespace
} // namespace heddle::pattern
