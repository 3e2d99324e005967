// mcast in an open world on a network that would hand it on from receiver to receiver: ranks mean something in one process alone,
// so that each receiver gets a push of its own, and what is handed on is refused.
#include "tests/onesided/engines.hpp"

#include <cstring>
#include <vector>

namespace heddle::tests {
namespace {

class OpenMcast : public Engines {
 protected:
  static constexpr std::uint32_t kSize = 8;
  static constexpr std::size_t kBytes = 16 << 10;

  // All but the first `closed` enter an open world, once they are connected.
  void build_open(std::uint32_t closed) {
    build(kSize);
    for (std::uint32_t rank = 1; rank < kSize; ++rank) {
      memories_.push_back(*at(rank).allocate(kArea, kBytes, Access::all()));
      receivers_.push_back(Rank{rank});
      const auto first = pattern(8, rank);
      EXPECT_EQ(push(0, {.peer = Rank{rank}, .area = kArea, .offset = 0}, first), ErrorCode::ok); // so its key is known
    }
    for (std::uint32_t rank = closed; rank < kSize; ++rank) (*cluster)[rank].enter_open_world();
  }
  void mcast(Tracker& tracker) {
    at(0).mcast(receivers_, {.place = {.peer = {}, .area = kArea, .offset = 0}, .local = unconst(data_)}, tracker);
  }

  std::vector<std::span<std::byte>> memories_;
  std::vector<Rank> receivers_;
  const std::vector<std::byte> data_ = pattern(kBytes, 3);
};

INSTANTIATE_TEST_SUITE_P(Manners, OpenMcast,
                         testing::Values(Manner{"Network", {.processor_copies = false, .inline_bytes = 64}}),
                         [](const auto& given) { return std::string(given.param.name); });

TEST_P(OpenMcast, NeedsNoReceiverToHandItOn) {
  build_open(0);
  Tracker tracker;
  mcast(tracker);
  for (int i = 0; i < 10'000 && !tracker.ended(); ++i) (*cluster)[0].progress(); // and nobody else's
  ASSERT_TRUE(tracker.ended()) << (*cluster)[0].waiting_for();
  EXPECT_EQ(tracker.code(), ErrorCode::ok);
  for (const auto memory : memories_) EXPECT_EQ(std::memcmp(memory.data(), data_.data(), kBytes), 0);
}

TEST_P(OpenMcast, TurnsDownWhatIsToBeHandedOn) {
  build_open(1);
  Tracker tracker;
  mcast(tracker); // as in a job
  EXPECT_EQ(finish(tracker), ErrorCode::connection_lost);
}

} // namespace
} // namespace heddle::tests
