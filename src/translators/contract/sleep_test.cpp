// The contract on sleeping (ir::Sleeping): in the network's own way, and on its descriptor.
#include "translators/contract/contract.hpp"

namespace heddle::translators::contract {
namespace {

using Clock = std::chrono::steady_clock;

TEST_P(SleepContract, AWriteBetweenAnnouncingAndSleepingEndsTheSleepAtOnce) {
  for (const By by : kBoth) {
    const auto start = Clock::now();
    for (std::uint64_t i = 1; i <= 20; ++i) {
      sleeping->announce_sleep(by);
      left.submit(put_word(1, there, i));
      sleep(by, kPatience);
    }
    EXPECT_LT(Clock::now() - start, kPatience);
  }
}

TEST_P(SleepContract, ACancelledAnnouncementLeavesNothingBehind) {
  for (const By by : kBoth) {
    sleeping->announce_sleep(by);
    sleeping->cancel_sleep();
    left.submit(put_word(1, there, 1));
    sleeping->announce_sleep(by);
    left.submit(put_word(1, there, 2));
    const auto start = Clock::now();
    sleep(by, kPatience);
    EXPECT_LT(Clock::now() - start, kPatience);
  }
}

TEST_P(SleepContract, WhatHasWokenItOnceDoesNotWakeItAgain) {
  sleeping->announce_sleep(By::descriptor);
  left.submit(put_word(1, there, 1));
  sleep(By::descriptor, kPatience);
  right.poll();
  if (!sleeping->announce_sleep(By::descriptor)) GTEST_SKIP() << "this system promises nothing";
  EXPECT_FALSE(sleep(By::descriptor, std::chrono::milliseconds(1)));
}

// It neither returns before, which would be no sleep, nor waits for somebody to come.
TEST_P(SleepContract, LastsUntilItsLimit) {
  for (const By by : kBoth) {
    if (!sleeping->announce_sleep(by)) GTEST_SKIP() << "this system promises nothing, so sleeps are short";
    constexpr auto kLimit = std::chrono::milliseconds(2);
    const auto start = Clock::now();
    EXPECT_FALSE(sleep(by, kLimit));
    const auto slept = Clock::now() - start;
    EXPECT_GE(slept, kLimit);
    EXPECT_LT(slept, kPatience);
    sleeping->announce_sleep(by);
    EXPECT_FALSE(sleep(by, std::chrono::nanoseconds(0)));
  }
}

// A sleeper that misses a write would sleep until its limit, which is the whole patience of the test.
TEST_P(SleepContract, ASleeperMissesNoWrite) {
  if (!network->threads()) GTEST_SKIP() << "this network is used by one thread";
  constexpr std::uint64_t kTimes = 3000;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<bool> late{false};
  std::thread sleeper([&] {
    for (std::uint64_t i = 1; i <= kTimes; ++i) {
      const By by = kBoth[i % 2];
      while (!late) {
        sleeping->announce_sleep(by);
        right.poll();
        if (load_word(memory.data()) == i) break;
        const auto start = Clock::now();
        sleep(by, kPatience);
        if (Clock::now() - start >= kPatience) late = true;
      }
      sleeping->cancel_sleep();
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
