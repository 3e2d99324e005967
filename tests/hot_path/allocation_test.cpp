// The hot path allocates nothing: operator new is counted while small messages go back and forth.
#include "tests/engine/cluster.hpp"
#include "tests/traffic/counted_new.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::tests {
namespace {

struct Round {
  std::uint64_t bytes = 8;
  bool early = false; // the message comes before the receive
  bool by_event = false;
  bool any_source = false;
  SendMode mode = SendMode::standard;
};

void exchange(Cluster& cluster, std::array<std::byte, 65536>& memory, const Round& round) {
  for (std::uint32_t from = 0; from < 2; ++from) {
    const std::uint32_t to = 1 - from;
    const Notify notify = round.by_event ? Notify::event(1) : Notify::request();
    const Match match{.source = round.any_source ? kAnySource : Rank{from}, .tag = Tag{42}};
    Request received;
    if (!round.early) received = *cluster[to].receive(match, Layout(memory.data(), round.bytes), notify);
    const Request sent = *cluster[from].send({.to = Rank{to}, .tag = Tag{42}, .mode = round.mode, .notify = notify},
                                             ConstLayout(memory.data() + 32768, round.bytes));
    if (round.early) {
      cluster[to].progress();
      received = *cluster[to].receive(match, Layout(memory.data(), round.bytes), notify);
    }
    for (int i = 0; i < 4; ++i) cluster[to].progress(), cluster[from].progress();
    if (round.by_event) {
      std::array<Event, 4> events;
      ASSERT_EQ(cluster[to].take_events(events), 1U);
      ASSERT_EQ(cluster[from].take_events(events), 1U);
    } else {
      ASSERT_EQ(cluster[to].take_completion(received)->code, ErrorCode::ok);
      ASSERT_EQ(cluster[from].take_completion(sent)->code, ErrorCode::ok);
    }
  }
}

class HotPath : public testing::TestWithParam<Round> {};

TEST_P(HotPath, AllocatesNothingOnceWarm) {
  Cluster cluster(2, usual_limits());
  static std::array<std::byte, 65536> memory;
  for (std::uint32_t from = 0; from < 2; ++from) { // connects
    static_cast<void>(cluster[from].send({.to = Rank{1 - from}, .notify = Notify::event(0)}, ConstLayout()));
    static_cast<void>(cluster[1 - from].receive({.source = Rank{from}}, Layout(), Notify::event(0)));
  }
  cluster.settle();
  std::array<Event, 8> events;
  for (std::uint32_t at = 0; at < 2; ++at) ASSERT_EQ(cluster[at].take_events(events), 2U);
  for (int i = 0; i < 200; ++i) exchange(cluster, memory, GetParam());
  const std::size_t before = allocations;
  for (int i = 0; i < 10'000; ++i) exchange(cluster, memory, GetParam());
  EXPECT_EQ(allocations - before, 0U);
}

INSTANTIATE_TEST_SUITE_P(Ways, HotPath,
                         testing::Values(Round{}, Round{.bytes = 0}, Round{.bytes = 4096}, Round{.early = true},
                                         Round{.by_event = true}, Round{.any_source = true},
                                         Round{.bytes = 100, .mode = SendMode::synchronous}));

TEST(HotPathCounter, CountsAtAll) {
  const std::size_t before = allocations;
  const auto memory = std::make_unique<std::vector<int>>(100);
  EXPECT_EQ(allocations - before, 2U);
}

} // namespace
} // namespace heddle::tests
