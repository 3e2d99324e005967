// The contract on sleeping: announce_sleep, cancel_sleep, sleep (translator.hpp).
#include "translators/contract/contract.hpp"

namespace heddle::translators::contract {
namespace {

TEST_P(SleepContract, AWriteBetweenAnnouncingAndSleepingEndsTheSleepAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    right.translator().announce_sleep();
    left.run(put_word(1, there, i));
    right.translator().sleep(kPatience);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

TEST_P(SleepContract, ACancelledAnnouncementLeavesNothingBehind) {
  right.translator().announce_sleep();
  right.translator().cancel_sleep();
  left.run(put_word(1, there, 1));
  right.translator().announce_sleep();
  left.run(put_word(1, there, 2));
  const auto start = std::chrono::steady_clock::now();
  right.translator().sleep(kPatience);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

// Nothing arrives: only the limit can end these sleeps.
TEST_P(SleepContract, EndsWhenItsLimitIsReached) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto limit : {std::chrono::nanoseconds(10'000), std::chrono::nanoseconds(0)}) {
    right.translator().announce_sleep();
    right.translator().sleep(limit);
    EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience) << limit.count() << " ns";
  }
  // It is over: the next one is announced and ended as ever.
  right.translator().announce_sleep();
  left.run(put_word(1, there, 1));
  right.translator().sleep(kPatience);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

// A sleeper that misses a write would sleep until its limit, which is the whole patience of the test.
TEST_P(SleepContract, ASleeperMissesNoWrite) {
  if (!network->threads()) GTEST_SKIP() << "this network is used by one thread";
  constexpr std::uint64_t kTimes = 3000;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<bool> late{false};
  std::thread sleeper([&] {
    for (std::uint64_t i = 1; i <= kTimes; ++i) {
      while (!late) {
        right.translator().announce_sleep();
        right.poll();
        if (load_word(memory.data()) == i) break;
        const auto start = std::chrono::steady_clock::now();
        right.translator().sleep(kPatience);
        if (std::chrono::steady_clock::now() - start >= kPatience) late = true;
      }
      right.translator().cancel_sleep();
      seen.store(i, std::memory_order_release);
    }
  });
  for (std::uint64_t i = 1; i <= kTimes && !late; ++i) {
    ir::Command command = put_word(1, there, i);
    command.flags = ir::Flags::lead_last;
    left.submit(command);
    if (!left.wait([&] { return seen.load(std::memory_order_acquire) == i; })) late = true;
  }
  sleeper.join();
  EXPECT_FALSE(late);
}

} // namespace
} // namespace heddle::translators::contract
