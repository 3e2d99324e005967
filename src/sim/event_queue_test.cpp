#include "sim/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace heddle::sim {
namespace {

TEST(EventQueue, ServesEqualTimesInTheOrderOfPushing) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < 100; ++i) queue.push(Picoseconds{i % 3}, i);
  std::vector<std::uint32_t> seen;
  while (!queue.empty()) seen.push_back(queue.pop().subject);
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t time = 0; time < 3; ++time) {
    for (std::uint32_t i = time; i < 100; i += 3) wanted.push_back(i);
  }
  EXPECT_EQ(seen, wanted);
}

// As a simulation does: pushes lie at or after the last pop, near and far.
TEST(EventQueue, AgreesWithASortedListWhilePushesAndPopsAlternate) {
  const std::uint64_t seed = 7;
  std::mt19937_64 random(seed);
  EventQueue queue;
  std::vector<std::pair<std::int64_t, std::uint32_t>> list;
  std::int64_t now = 0;
  std::uint32_t pushed = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t pushes = random() % 4;
    for (std::uint64_t i = 0; i < pushes; ++i) {
      const std::int64_t time = now + static_cast<std::int64_t>(random() % (random() % 10 == 0 ? 50'000'000 : 3'000));
      queue.push(Picoseconds{time}, pushed);
      list.emplace_back(time, pushed++);
    }
    if (random() % 3 != 0 || list.empty()) continue;
    const auto next = std::min_element(list.begin(), list.end());
    ASSERT_EQ(queue.next_time().count(), next->first);
    const Event event = queue.pop();
    ASSERT_EQ(event.time.count(), next->first);
    ASSERT_EQ(event.subject, next->second);
    now = next->first;
    list.erase(next);
  }
}

TEST(EventQueue, FindsALonelyEventFarAhead) {
  EventQueue queue;
  queue.expect(Picoseconds{1'000'000});
  queue.push(Picoseconds{5}, 1);
  queue.push(Picoseconds{7'000'000'000'000}, 2);
  EXPECT_EQ(queue.pop().subject, 1U);
  EXPECT_EQ(queue.next_time(), Picoseconds{7'000'000'000'000});
  queue.push(Picoseconds{6}, 3); // the queue has looked ahead, time has not moved
  EXPECT_EQ(queue.pop().subject, 3U);
  EXPECT_EQ(queue.pop().subject, 2U);
  EXPECT_TRUE(queue.empty());
}

} // namespace
} // namespace heddle::sim
