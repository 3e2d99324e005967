// One-sided operations on the three simulated fabrics, by the calls that programs use.
#include "tests/onesided_simulated/simulated.hpp"

#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace heddle::simulation {
namespace {

constexpr AreaId kLock{9};

class OneSidedFabric : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, OneSidedFabric,
                         testing::Values("infiniband:2-ary-2-tree", "tofu:1x1x1", "rhinet:star:8"));

std::uint64_t word_at(std::span<const std::byte> memory, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, memory.data() + offset, sizeof word);
  return word;
}

Task everything(Peer& peer) {
  OneSided& one_sided = peer.context().one_sided();
  constexpr std::size_t kBytes = 100'000;
  const auto memory = *one_sided.allocate(kArea, 3 * kBytes);
  co_await peer.barrier();
  const Rank next{(std::to_underlying(peer.rank()) + 1) % peer.size()};
  std::vector<std::byte> data(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) data[i] = static_cast<std::byte>(i * 7 + std::to_underlying(peer.rank()));
  Tracker tracker;
  one_sided.push({next, kArea, 16}, data, tracker, {}, Signal::event(Tag{5}));
  demand(co_await peer.wait(tracker) == ErrorCode::ok, "push");
  std::array<Event, 2> events;
  demand(co_await peer.wait_events(events) == 1 && events[0].kind == Event::Kind::pushed, "no event");
  const auto before = static_cast<std::uint32_t>(events[0].completion.peer);
  demand((before + 1) % peer.size() == std::to_underlying(peer.rank()), "an event of another");
  for (std::size_t i = 0; i < kBytes; ++i)
    demand(memory[16 + i] == static_cast<std::byte>(i * 7 + before), "the event came before the data");

  std::vector<std::byte> back(kBytes);
  one_sided.pull({next, kArea, 16}, back, tracker);
  demand(co_await peer.wait(tracker) == ErrorCode::ok && back == data, "pull");
  one_sided.push({next, kArea, 3 * kBytes - 1}, data, tracker);
  demand(co_await peer.wait(tracker) == ErrorCode::out_of_range, "a push past the end");
  tracker.reset();
  one_sided.push({next, AreaId{8}, 0}, data, tracker);
  demand(co_await peer.wait(tracker) == ErrorCode::unknown_area, "a push to nowhere");
  tracker.reset();
  demand(one_sided.push({next, kArea, 0}, data) == ErrorCode::would_block, "a simulated process has waited");

  // Everybody adds to a word of rank 0's, in two widths, and sets bits.
  const std::uint64_t counter = 2 * kBytes;
  for (int i = 0; i < 5; ++i) {
    one_sided.atomic({Rank{0}, kArea, counter}, Atomic::add(3), tracker);
    one_sided.atomic({Rank{0}, kArea, counter + 8}, Atomic::add(1, 4), tracker);
    one_sided.atomic({Rank{0}, kArea, counter + 12}, Atomic::bit_or(1ULL << std::to_underlying(peer.rank()), 4),
                     tracker);
    demand(co_await peer.wait(tracker) == ErrorCode::ok, "atomic");
  }
  co_await peer.barrier();
  if (peer.rank() == Rank{0}) {
    demand(word_at(memory, counter) == 15ULL * peer.size(), "additions were lost");
    const std::uint64_t bits = (1ULL << peer.size()) - 1;
    demand(word_at(memory, counter + 8) == (bits << 32U | (5ULL * peer.size())), "atomics of 4 bytes were lost");
  }
  // One tells all.
  if (peer.rank() == Rank{1}) {
    std::vector<Rank> all;
    for (std::uint32_t rank = 0; rank < peer.size(); ++rank) all.push_back(Rank{rank});
    one_sided.mcast(all, kArea, kBytes + 64, std::span(data).first(1000), tracker);
    demand(co_await peer.wait(tracker) == ErrorCode::ok, "mcast");
  }
  co_await peer.barrier();
  demand(memory[kBytes + 64 + 999] == static_cast<std::byte>((999 * 7 + 1) & 0xff), "mcast did not arrive");
  // A revoked area.
  if (peer.rank() == Rank{2}) demand(one_sided.close(kArea).has_value(), "close");
  co_await peer.barrier();
  if (peer.rank() != Rank{2}) {
    one_sided.push({Rank{2}, kArea, 0}, data, tracker);
    const ErrorCode code = co_await peer.wait(tracker);
    demand(code == ErrorCode::revoked_area || code == ErrorCode::unknown_area, "a push to a closed area");
  }
  co_await peer.barrier();
}

TEST_P(OneSidedFabric, DoesAllThatThereIs) {
  expect_well({.fabric = GetParam(), .peers = 4}, everything);
}

TEST_P(OneSidedFabric, DoesSoUnderDelays) {
  for (const std::uint64_t seed : {1U, 2U, 3U})
    expect_well({.fabric = GetParam(),
                 .peers = 4,
                 .faults = {.seed = seed, .short_count = 0.1, .delay_command = 0.2, .delay_event = 0.2}},
                everything);
}

TEST_P(OneSidedFabric, LocksExcludeAndAreFair) {
  int inside = 0;
  std::vector<int> order;
  expect_well({.fabric = GetParam(), .peers = 6}, [&](Peer& peer) -> Task {
    OneSided& one_sided = peer.context().one_sided();
    if (peer.rank() == Rank{2}) demand(one_sided.create_lock(kLock).has_value(), "create");
    co_await peer.barrier();
    Tracker tracker;
    for (int round = 0; round < 10; ++round) {
      one_sided.lock(Rank{2}, kLock, tracker);
      demand(co_await peer.wait(tracker) == ErrorCode::ok, "lock");
      demand(++inside == 1, "two hold it");
      order.push_back(static_cast<int>(peer.rank()));
      co_await peer.sleep(std::chrono::microseconds(300));
      --inside;
      one_sided.unlock(Rank{2}, kLock, tracker);
      demand(co_await peer.wait(tracker) == ErrorCode::ok, "unlock");
    }
  });
  ASSERT_EQ(order.size(), 60U);
  // Held long enough for all others to queue up: after a start nobody gets it twice while another waits.
  for (std::size_t i = 12; i + 12 < order.size(); i += 6) {
    std::vector<int> turn(order.begin() + static_cast<std::ptrdiff_t>(i),
                          order.begin() + static_cast<std::ptrdiff_t>(i) + 6);
    std::sort(turn.begin(), turn.end());
    EXPECT_EQ(turn, (std::vector<int>{0, 1, 2, 3, 4, 5})) << i;
  }
}

// Five processes take a lock again and again, two of them die; those who live get it as often as they want.
void outlive_the_dead(const char* fabric, bool by_trying) {
  int inside = 0;
  int told = 0;
  std::array<int, 5> rounds{};
  expect_well({.fabric = fabric,
               .peers = 5,
               .deaths = {{.rank = Rank{1}, .at = std::chrono::microseconds(700)},
                          {.rank = Rank{3}, .at = std::chrono::microseconds(1900)}}},
              [&](Peer& peer) -> Task {
                OneSided& one_sided = peer.context().one_sided();
                if (peer.rank() == Rank{0}) demand(one_sided.create_lock(kLock).has_value(), "create");
                co_await peer.barrier();
                Tracker tracker;
                for (int round = 0; round < 30; ++round) {
                  ErrorCode code = ErrorCode::lock_busy;
                  while (code == ErrorCode::lock_busy) {
                    if (by_trying)
                      one_sided.try_lock(Rank{0}, kLock, tracker);
                    else
                      one_sided.lock(Rank{0}, kLock, tracker);
                    code = co_await peer.wait(tracker);
                    tracker.reset();
                    if (code == ErrorCode::lock_busy)
                      co_await peer.sleep(std::chrono::microseconds(1 + std::to_underlying(peer.rank())));
                  }
                  demand(code == ErrorCode::ok || code == ErrorCode::holder_died, "lock");
                  if (code == ErrorCode::holder_died) {
                    ++told;
                    inside = 0;
                  }
                  demand(++inside == 1, "two hold it");
                  ++rounds[std::to_underlying(peer.rank())];
                  co_await peer.sleep(std::chrono::microseconds(30));
                  --inside;
                  one_sided.unlock(Rank{0}, kLock, tracker);
                  demand(co_await peer.wait(tracker) == ErrorCode::ok, "unlock");
                }
              });
  for (const std::size_t rank : {0U, 2U, 4U}) EXPECT_EQ(rounds[rank], 30);
  EXPECT_LT(rounds[1], 30);
}

TEST_P(OneSidedFabric, LocksOutliveTheDead) {
  outlive_the_dead(GetParam(), false);
}

TEST_P(OneSidedFabric, LocksThatAreOnlyTriedOutliveTheDead) {
  outlive_the_dead(GetParam(), true);
}

// The time of one push of `bytes` with that selection between two processes of an InfiniBand with 4xDDR links.
Time time_of_push(std::size_t bytes, bool diff, std::uint64_t& moved) {
  Time time{};
  expect_well({.fabric = "infiniband:2-ary-2-tree", .peers = 2}, [&, bytes, diff](Peer& peer) -> Task {
    OneSided& one_sided = peer.context().one_sided();
    const auto memory = *one_sided.allocate(kArea, bytes);
    co_await peer.barrier();
    if (peer.rank() == Rank{0}) {
      std::vector<std::byte> copy(bytes);
      std::vector<std::byte> twin(bytes);
      Tracker tracker;
      one_sided.pull({Rank{1}, kArea, 0}, copy, tracker, {}, twin);
      demand(co_await peer.wait(tracker) == ErrorCode::ok, "pull");
      std::mt19937 random(1);
      for (std::size_t i = 0; i < bytes / 400; ++i) copy[random() % bytes] ^= std::byte{1}; // 1% of the 4-byte words
      const Time start = peer.now();
      one_sided.push({Rank{1}, kArea, 0}, copy, tracker, diff ? Selection::changed(twin) : Selection{},
                     Signal::event(Tag{}));
      demand(co_await peer.wait(tracker) == ErrorCode::ok, "push");
      time = peer.now() - start;
      co_await peer.barrier();
    } else {
      std::array<Event, 1> events;
      co_await peer.wait_events(events);
      moved = events[0].completion.bytes;
      co_await peer.barrier();
    }
    static_cast<void>(memory);
  });
  return time;
}

TEST(OneSidedDiff, MovesAndCostsLessThanThePage) {
  std::uint64_t moved = 0;
  for (const std::size_t bytes : {std::size_t{4} << 10U, std::size_t{64} << 10U, std::size_t{1} << 20U}) {
    const Time diff = time_of_push(bytes, true, moved);
    EXPECT_LE(moved * 20, bytes);
    std::uint64_t whole = 0;
    const Time page = time_of_push(bytes, false, whole);
    EXPECT_EQ(whole, bytes);
    std::printf("%8zu bytes, 1%% changed: page %.2f us, diff %.2f us and %llu bytes\n", bytes,
                static_cast<double>(page.count()) * 1e-6, static_cast<double>(diff.count()) * 1e-6,
                static_cast<unsigned long long>(moved));
    if (bytes >= (std::size_t{64} << 10U)) {
      EXPECT_LT(diff, page);
    }
  }
}

} // namespace
} // namespace heddle::simulation
