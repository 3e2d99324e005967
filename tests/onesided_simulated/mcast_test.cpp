// mcast by the calls that programs use, on the three simulated fabrics: by the switches on RHiNET, as a tree on the others.
#include "tests/onesided_simulated/simulated.hpp"

#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace heddle::simulation {
namespace {

std::vector<std::byte> content(std::size_t bytes, unsigned salt) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 13 + salt) | 1U);
  return data;
}

struct Times {
  Time last_has_it{}; // since the call
  Time ended{};       // at the sender
};

// An mcast of `bytes` from the first process to the next `receivers`, the second time that it is done, so that keys are known.
Times time_of_mcast(const char* fabric, std::uint32_t peers, std::uint32_t receivers, std::size_t bytes) {
  Times times;
  Time start{};
  expect_well({.fabric = fabric, .peers = peers}, [&, receivers, bytes](Peer& peer) -> Task {
    OneSided& one_sided = peer.context().one_sided();
    const auto memory = *one_sided.allocate(kArea, bytes);
    co_await peer.barrier();
    const auto data = content(bytes, 3);
    std::vector<Rank> to;
    for (std::uint32_t rank = 1; rank <= receivers; ++rank) to.push_back(Rank{rank});
    Tracker tracker;
    for (const bool measured : {false, true}) {
      std::memset(memory.data(), 0, bytes);
      co_await peer.barrier();
      if (peer.rank() == Rank{0}) {
        co_await peer.sleep(
            std::chrono::milliseconds(1)); // nothing of the barrier is left on the network, and all wait
        start = peer.now();
        one_sided.mcast(to, kArea, 0, data, tracker);
        demand(co_await peer.wait(tracker) == ErrorCode::ok, "mcast");
        if (measured) times.ended = peer.now() - start;
      } else if (std::to_underlying(peer.rank()) <= receivers) {
        co_await peer.wait_change(*reinterpret_cast<const std::uint64_t*>(memory.data() + bytes - 8), 0);
        if (measured) times.last_has_it = std::max(times.last_has_it, peer.now() - start);
        demand(std::memcmp(memory.data(), data.data(), bytes) == 0, "something else has arrived");
      }
      co_await peer.barrier();
    }
  });
  return times;
}

double in_us(Time time) {
  return static_cast<double>(time.count()) * 1e-6;
}

TEST(Mcast, TakesHardlyLongerToManyWhereSwitchesCopy) {
  double to_two = 0;
  for (const std::uint32_t receivers : {2U, 8U, 64U}) {
    const Times times = time_of_mcast("rhinet:star:65", 65, receivers, 64);
    std::printf("64 bytes to %2u on RHiNET: the last has it after %.2f us, ended after %.2f us\n", receivers,
                in_us(times.last_has_it), in_us(times.ended));
    if (receivers == 2) to_two = in_us(times.last_has_it);
    if (receivers == 64) {
      EXPECT_LT(in_us(times.last_has_it), 1.2 * to_two);
    }
  }
}

TEST(Mcast, CostsLessThanAsManyPushes) {
  for (const char* fabric : {"infiniband:4-ary-3-tree", "tofu:2x2x2"})
    for (const std::size_t bytes : {std::size_t{512}, std::size_t{16} << 10U}) {
      const Times one = time_of_mcast(fabric, 64, 1, bytes);
      const Times all = time_of_mcast(fabric, 64, 63, bytes);
      std::printf("%s, %zu bytes: to 1 %.2f us, to 63 the last has it after %.2f us, ended after %.2f us\n", fabric,
                  bytes, in_us(one.ended), in_us(all.last_has_it), in_us(all.ended));
      if (bytes >= (std::size_t{16} << 10U)) {
        EXPECT_LT(in_us(all.ended), 63 * in_us(one.ended) / 2);
      }
    }
}

class McastFabric : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, McastFabric,
                         testing::Values("infiniband:3-ary-2-tree", "tofu:1x1x1", "rhinet:star:12"));

Task tell_all(Peer& peer) {
  constexpr std::size_t kBytes = 40'000;
  OneSided& one_sided = peer.context().one_sided();
  const auto memory = *one_sided.allocate(kArea, kBytes);
  co_await peer.barrier();
  std::vector<Rank> all;
  for (std::uint32_t rank = 0; rank < peer.size(); ++rank) all.push_back(Rank{rank});
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64}, std::size_t{3000}, kBytes})
    for (std::uint32_t root = 0; root < peer.size(); root += 5) {
      const auto data = content(bytes, root);
      Tracker tracker;
      if (std::to_underlying(peer.rank()) == root) {
        one_sided.mcast(all, kArea, 0, data, tracker, {}, Signal::event(Tag{bytes}));
        demand(co_await peer.wait(tracker) == ErrorCode::ok, "mcast");
      }
      std::array<Event, 2> events;
      demand(co_await peer.wait_events(events) == 1 && events[0].completion.tag == Tag{bytes}, "no event, or more");
      demand(events[0].completion.peer == Rank{root}, "an event of another");
      demand(std::memcmp(memory.data(), data.data(), bytes) == 0, "the event came before the data");
      co_await peer.barrier();
    }
  // Words that differ from a twin, for everybody.
  std::vector<std::byte> twin = content(kBytes, 10);
  std::vector<std::byte> copy = twin;
  for (std::size_t i = 0; i < kBytes; i += 100) copy[i] ^= std::byte{0x80};
  Tracker tracker;
  if (peer.rank() == Rank{2}) {
    one_sided.mcast(all, kArea, 0, twin, tracker);
    demand(co_await peer.wait(tracker) == ErrorCode::ok, "mcast");
    one_sided.mcast(all, kArea, 0, copy, tracker, Selection::changed(twin));
    demand(co_await peer.wait(tracker) == ErrorCode::ok, "mcast of a diff");
  }
  co_await peer.barrier();
  demand(std::memcmp(memory.data(), copy.data(), kBytes) == 0, "a diff is lost");
  co_await peer.barrier();
}

TEST_P(McastFabric, ReachesEverybodyWithOneEvent) {
  expect_well({.fabric = GetParam(), .peers = 12}, tell_all);
}

TEST_P(McastFabric, DoesSoUnderDelays) {
  for (const std::uint64_t seed : {1U, 2U})
    expect_well({.fabric = GetParam(),
                 .peers = 12,
                 .faults = {.seed = seed, .short_count = 0.1, .delay_command = 0.2, .delay_event = 0.2}},
                tell_all);
}

TEST_P(McastFabric, SaysWhenAnAreaIsClosedOrUnknown) {
  expect_well({.fabric = GetParam(), .peers = 10}, [](Peer& peer) -> Task {
    OneSided& one_sided = peer.context().one_sided();
    constexpr std::size_t kBytes = 5000;
    std::span<std::byte> memory;
    if (peer.rank() != Rank{4})
      memory = *one_sided.allocate(kArea, kBytes, peer.rank() == Rank{6} ? Access::only({Rank{1}}) : Access::all());
    co_await peer.barrier();
    std::vector<Rank> others;
    for (std::uint32_t rank = 1; rank < peer.size(); ++rank) others.push_back(Rank{rank});
    const auto data = content(kBytes, 1);
    Tracker tracker;
    if (peer.rank() == Rank{0}) {
      one_sided.mcast(others, kArea, 0, data, tracker);
      const ErrorCode code = co_await peer.wait(tracker);
      demand(code == ErrorCode::unknown_area || code == ErrorCode::closed_area, "the refused are not reported");
      tracker.reset();
      std::erase(others, Rank{4});
      std::erase(others, Rank{6});
      one_sided.mcast(others, kArea, 1, data, tracker);
      demand(co_await peer.wait(tracker) == ErrorCode::out_of_range, "past the end");
      tracker.reset();
    }
    co_await peer.barrier();
    if (peer.rank() == Rank{6}) demand(memory[0] == std::byte{0}, "a closed area was written to");
    if (peer.rank() != Rank{0} && peer.rank() != Rank{4} && peer.rank() != Rank{6})
      demand(std::memcmp(memory.data(), data.data(), kBytes) == 0, "the others do not have it");
    co_await peer.barrier();
    if (peer.rank() == Rank{3}) demand(one_sided.close(kArea).has_value(), "close");
    if (peer.rank() == Rank{0}) {
      one_sided.mcast(others, kArea, 0, data, tracker);
      const ErrorCode code = co_await peer.wait(tracker);
      demand(code == ErrorCode::revoked_area || code == ErrorCode::unknown_area || code == ErrorCode::ok, "revoked");
    }
    co_await peer.barrier();
  });
}

TEST_P(McastFabric, OutlivesTheDead) {
  for (const int at : {100, 400, 480, 560, 700}) {
    std::vector<int> has(12, 0);
    expect_well({.fabric = GetParam(),
                 .peers = 12,
                 .deaths = {{.rank = Rank{1}, .at = std::chrono::microseconds(at)},
                            {.rank = Rank{7}, .at = std::chrono::microseconds(at + 20)}}},
                [&](Peer& peer) -> Task {
                  OneSided& one_sided = peer.context().one_sided();
                  constexpr std::size_t kBytes = 30'000;
                  const auto memory = *one_sided.allocate(kArea, kBytes);
                  co_await peer.sleep(std::chrono::microseconds(50)); // no barrier: some may be dead
                  std::vector<Rank> all;
                  for (std::uint32_t rank = 0; rank < peer.size(); ++rank) all.push_back(Rank{rank});
                  if (peer.rank() == Rank{0}) {
                    for (unsigned round = 1; round <= 4; ++round) {
                      Tracker tracker;
                      const auto data = content(kBytes, round);
                      one_sided.mcast(all, kArea, 0, data, tracker);
                      const ErrorCode code = co_await peer.wait(tracker);
                      demand(code == ErrorCode::ok || code == ErrorCode::peer_failed, "another error");
                    }
                  } else {
                    co_await peer.sleep(std::chrono::milliseconds(30));
                  }
                  has[std::to_underlying(peer.rank())] =
                      std::memcmp(memory.data(), content(kBytes, 4).data(), kBytes) == 0 ? 1 : 0;
                });
    for (std::uint32_t rank = 0; rank < 12; ++rank) {
      if (rank != 1 && rank != 7) {
        EXPECT_EQ(has[rank], 1) << rank << ", deaths at " << at << " us";
      }
    }
  }
}

} // namespace
} // namespace heddle::simulation
