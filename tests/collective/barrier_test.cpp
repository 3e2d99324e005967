// Barriers between engines in one thread, of any radix.
#include "collective/barrier.hpp"
#include "tests/engine/cluster.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace heddle::tests {
namespace {

class BarrierOfCosts : public testing::TestWithParam<collective::Costs> {
 protected:
  void populate(std::uint32_t size) {
    barriers_.clear();
    cluster_.emplace(size, usual_limits());
    for (std::uint32_t rank = 0; rank < size; ++rank)
      barriers_.emplace_back((*cluster_)[rank]).choose_radix(GetParam());
  }
  Cluster& cluster() { return *cluster_; }
  Request start(std::uint32_t rank) { return barriers_[rank].start({}); }
  void settle() {
    for (int quiet = 0; quiet < 300;) {
      std::size_t done = cluster().progress();
      for (std::uint32_t rank = 0; rank < cluster().size(); ++rank)
        if (cluster().alive(rank)) done += barriers_[rank].progress();
      quiet = done == 0 ? quiet + 1 : 0;
    }
  }

 private:
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

INSTANTIATE_TEST_SUITE_P(Costs, BarrierOfCosts,
                         testing::Values(collective::Costs{.posting_ns = 1, .way_ns = 0}, // two at a time
                                         collective::Costs::inside_a_machine(1), collective::Costs::inside_a_machine(8),
                                         collective::Costs{.posting_ns = 1, .way_ns = 1e9}), // all at once
                         [](const auto& costs) { return "Case" + std::to_string(costs.index); });

} // namespace
} // namespace heddle::tests
