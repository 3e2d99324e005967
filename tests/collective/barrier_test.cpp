// Barriers between engines in one thread, of any radix.
#include "collective/barrier.hpp"
#include "tests/engine/cluster.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <set>
#include <vector>

namespace heddle::tests {
namespace {

class BarrierOfCosts : public testing::TestWithParam<collective::Costs> {
 protected:
  void populate(std::uint32_t size) {
    barriers_.clear();
    left_.clear();
    cluster_.emplace(size, usual_limits());
    for (std::uint32_t rank = 0; rank < size; ++rank)
      barriers_.emplace_back((*cluster_)[rank]).choose_radix(GetParam());
  }
  Cluster& cluster() { return *cluster_; }
  Request start(std::uint32_t rank) { return barriers_[rank].start({}); }
  collective::Barriers& barriers(std::uint32_t rank) { return barriers_[rank]; }
  std::size_t progress(std::uint32_t rank) {
    return cluster().alive(rank) && !left_.contains(rank) ? cluster().progress(rank) + barriers_[rank].progress() : 0;
  }
  std::size_t progress() {
    std::size_t done = 0;
    for (std::uint32_t rank = 0; rank < cluster().size(); ++rank) done += progress(rank);
    return done;
  }
  void settle() {
    for (int quiet = 0; quiet < 300;) quiet = progress() == 0 ? quiet + 1 : 0;
  }
  void settle(std::uint32_t rank) {
    for (int quiet = 0; quiet < 300;) quiet = progress(rank) == 0 ? quiet + 1 : 0;
  }
  // It does nothing any more.
  void leave(std::uint32_t rank) { left_.insert(rank); }

 private:
  std::set<std::uint32_t> left_;
  std::optional<Cluster> cluster_;
  std::deque<collective::Barriers> barriers_;
};

TEST_P(BarrierOfCosts, LetsNobodyPassBeforeTheLastHasCome) {
  for (std::uint32_t size = 1; size <= 40; size += size < 20 ? 1 : 5) {
    SCOPED_TRACE(size);
    populate(size);
    for (std::uint32_t late = 0; late < size; late += 1 + size / 4) {
      std::vector<Request> requests(size);
      for (std::uint32_t rank = 0; rank < size; ++rank)
        if (rank != late) requests[rank] = start(rank);
      settle();
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        EXPECT_TRUE(rank == late || !cluster()[rank].ended(requests[rank])) << "rank " << rank << " before " << late;
      }
      requests[late] = start(late);
      settle();
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        const auto ended = cluster()[rank].take_completion(requests[rank]);
        ASSERT_TRUE(ended) << "rank " << rank << " still waits";
        EXPECT_EQ(ended->code, ErrorCode::ok);
      }
    }
  }
}

TEST_P(BarrierOfCosts, EndsForAllWhereOneDies) {
  for (const std::uint32_t size : {2U, 5U, 16U}) {
    SCOPED_TRACE(size);
    populate(size);
    std::vector<Request> requests(size);
    for (std::uint32_t rank = 1; rank < size; ++rank) requests[rank] = start(rank);
    settle();
    cluster().kill(0);
    for (std::uint32_t rank = 1; rank < size; ++rank) cluster()[rank].peer_failed(0);
    settle();
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      const auto ended = cluster()[rank].take_completion(requests[rank]);
      ASSERT_TRUE(ended) << "rank " << rank << " still waits";
      EXPECT_EQ(ended->code, ErrorCode::peer_failed);
    }
  }
}

// Who has heard of a death gives its barrier up and leaves. Others hear of that departure before they hear of the death, wherever in this
// barrier or the next that finds them.
TEST_P(BarrierOfCosts, EndsWithTheDeathAlsoWhereADepartureIsKnownFirst) {
  for (const std::uint32_t size : {3U, 4U, 5U, 16U, 23U})
    for (std::uint32_t told = 1; told < size; told += 1 + size / 6)
      for (const int steps : {0, 1, 2, 3, 5, 8, 50}) {
        SCOPED_TRACE(testing::Message() << size << " processes, " << told << " is told after " << steps << " steps");
        populate(size);
        for (std::uint32_t rank = 0; rank < size; ++rank) start(rank);
        settle();
        std::vector<std::array<Request, 2>> requests(size);
        for (std::uint32_t rank = 1; rank < size; ++rank) {
          requests[rank][0] = start(rank);
          if (rank != told) requests[rank][1] = start(rank);
        }
        if (steps % 2 == 1) start(0); // then the first of the two may end in good order
        for (int i = 0; i < steps; ++i) progress();
        cluster().kill(0);
        cluster()[told].peer_failed(0);
        settle(told);
        EXPECT_FALSE(barriers(told).owes_words());
        const auto others = [&](const auto& visit) {
          for (std::uint32_t rank = 1; rank < size; ++rank)
            if (rank != told) visit(rank);
        };
        others([&](std::uint32_t rank) { cluster()[rank].peer_left(told); });
        leave(told);
        settle();
        others([&](std::uint32_t rank) { cluster()[rank].peer_failed(0); });
        settle();
        others([&](std::uint32_t rank) {
          const auto first = cluster()[rank].take_completion(requests[rank][0]);
          const auto second = cluster()[rank].take_completion(requests[rank][1]);
          ASSERT_TRUE(first && second) << "rank " << rank << " still waits";
          EXPECT_TRUE(first->code == ErrorCode::peer_failed || (steps % 2 == 1 && first->code == ErrorCode::ok))
              << "rank " << rank << ": " << static_cast<int>(first->code);
          EXPECT_EQ(second->code, ErrorCode::peer_failed) << "rank " << rank;
        });
      }
}

INSTANTIATE_TEST_SUITE_P(Costs, BarrierOfCosts,
                         testing::Values(collective::Costs{.posting_ns = 1, .way_ns = 0}, // two at a time
                                         collective::Costs::inside_a_machine(1), collective::Costs::inside_a_machine(8),
                                         collective::Costs{.posting_ns = 1, .way_ns = 1e9}), // all at once
                         [](const auto& costs) { return "Case" + std::to_string(costs.index); });

} // namespace
} // namespace heddle::tests
