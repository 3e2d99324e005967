// Rings whose links everybody can tell: processes next to each other, apart, and through one another.
#include "pattern/shared_links.hpp"

#include "pattern/grid.hpp"

#include <gtest/gtest.h>

namespace heddle::pattern {
namespace {

// A ring of nodes with a link each way, each two bytes per nanosecond; packets take the shorter way.
class RingOf final : public ir::Paths {
 public:
  // Rank r sits on node (r * stride) mod nodes.
  RingOf(std::uint32_t nodes, std::uint32_t stride) : nodes_(nodes), stride_(stride) {}

  [[nodiscard]] ir::Resources resources() const override { return {}; }
  [[nodiscard]] std::uint32_t paths_to(ir::Peer) const override { return 1; }
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer, std::uint32_t) const override { return {}; }
  [[nodiscard]] std::uint64_t location() const override { return 0; }
  void choose_path(ir::Peer, std::uint32_t) override {}
  [[nodiscard]] std::optional<std::vector<ir::PathLink>> route_between(ir::Peer from, ir::Peer to) const override {
    std::uint32_t at = static_cast<std::uint32_t>(from) * stride_ % nodes_;
    const std::uint32_t end = static_cast<std::uint32_t>(to) * stride_ % nodes_;
    const bool up = (end + nodes_ - at) % nodes_ <= nodes_ / 2;
    std::vector<ir::PathLink> links;
    for (; at != end; at = (at + (up ? 1 : nodes_ - 1)) % nodes_) links.push_back({2 * at + (up ? 0 : 1), 2.0});
    return links;
  }

 private:
  std::uint32_t nodes_;
  std::uint32_t stride_;
};

class Silent final : public ir::Paths {
 public:
  [[nodiscard]] ir::Resources resources() const override { return {}; }
  [[nodiscard]] std::uint32_t paths_to(ir::Peer) const override { return 1; }
  [[nodiscard]] std::vector<ir::PathLink> route(ir::Peer, std::uint32_t) const override { return {}; }
  [[nodiscard]] std::uint64_t location() const override { return 0; }
  void choose_path(ir::Peer, std::uint32_t) override {}
};

// To both sides of a closed row, twice to the first.
std::vector<Hint> both_ways(std::uint32_t processes) {
  std::vector<NeighbourExchange> exchanges;
  for (const int side : {1, -1, 1}) exchanges.push_back({.offset = {side}, .out = {}, .in = {}});
  const Grid grid{.size = {processes}, .periodic = {true}, .ranks = {}};
  std::vector<Hint> hints;
  const auto items = *neighbour_requests(grid, {.own = 0, .size = processes}, exchanges, true);
  for (const Declared& item : items)
    if (item.hint.given) hints.push_back(item.hint);
  return hints;
}

using Links = std::vector<std::uint32_t>;

TEST(SharedLinks, AreOnesOwnWhereNeighboursAreOneHopAway) {
  const auto hints = both_ways(6);
  ASSERT_EQ(hints.size(), 3U);
  const RingOf ring(6, 1);
  const auto shared = SharedLinks::of(hints, &ring);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->rates(), (std::vector{2.0, 2.0})) << "a link each way stands for all";
  EXPECT_EQ(shared->links(hints[0].direction).size(), 1U);
  EXPECT_NE(shared->links(hints[0].direction), shared->links(hints[1].direction));
}

TEST(SharedLinks, AreAsFewWhereNobodySitsBetweenNeighbours) {
  const RingOf ring(18, 3);
  const auto hints = both_ways(6);
  const auto shared = SharedLinks::of(hints, &ring);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->rates().size(), 2U);
  EXPECT_EQ(shared->links(hints[0].direction).size(), 1U) << "three hops, and nobody else on them";
  EXPECT_TRUE(shared->keep_apart());
}

// Eight on a ring of eight, each three hops from the next: three pass every link at once.
TEST(SharedLinks, AreTakenAsOftenAsOthersPassThem) {
  const RingOf ring(8, 3);
  const auto hints = both_ways(8);
  const auto shared = SharedLinks::of(hints, &ring);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->rates().size(), 2U);
  const Links there = shared->links(hints[0].direction);
  ASSERT_EQ(there.size(), 3U);
  EXPECT_EQ(there, Links(3, there.front()));
  EXPECT_EQ(shared->links(hints[1].direction).size(), 3U);
  EXPECT_FALSE(shared->keep_apart());
}

// To both sides is the same neighbour, by the same way.
TEST(SharedLinks, AreSharedByDirectionsThatGoTheSameWay) {
  const RingOf ring(8, 3);
  const auto hints = both_ways(2);
  const auto shared = SharedLinks::of(hints, &ring);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->rates().size(), 1U);
  EXPECT_EQ(shared->links(hints[0].direction), Links{0});
  EXPECT_EQ(shared->links(hints[1].direction), Links{0});
}

TEST(SharedLinks, AreUnknownWhereTheNetworkCannotTellOrTooManyWouldAsk) {
  const Silent silent;
  const RingOf ring(2000, 1);
  EXPECT_FALSE(SharedLinks::of(both_ways(6), &silent));
  EXPECT_FALSE(SharedLinks::of(both_ways(6), nullptr));
  EXPECT_FALSE(SharedLinks::of(std::vector<Hint>{}, &ring)) << "no grid";
  EXPECT_TRUE(SharedLinks::of(both_ways(1024), &ring));
  EXPECT_FALSE(SharedLinks::of(both_ways(1025), &ring));
}

} // namespace
} // namespace heddle::pattern
