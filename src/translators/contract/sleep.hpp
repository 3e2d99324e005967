// The contract on sleeping: announce_sleep, cancel_sleep, sleep (translator.hpp).
#pragma once

#include "translators/contract/network.hpp"

namespace heddle::translators::contract {

template <typename Network>
class SleepContract : public Pair<Network> {};
TYPED_TEST_SUITE_P(SleepContract);

TYPED_TEST_P(SleepContract, AWriteBetweenAnnouncingAndSleepingEndsTheSleepAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    this->right.translator().announce_sleep();
    this->left.run(put_word(1, this->there, i));
    this->right.translator().sleep(kPatience);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

TYPED_TEST_P(SleepContract, ACancelledAnnouncementLeavesNothingBehind) {
  this->right.translator().announce_sleep();
  this->right.translator().cancel_sleep();
  this->left.run(put_word(1, this->there, 1));
  this->right.translator().announce_sleep();
  this->left.run(put_word(1, this->there, 2));
  const auto start = std::chrono::steady_clock::now();
  this->right.translator().sleep(kPatience);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

TYPED_TEST_P(SleepContract, EndsWhenItsLimitIsReached) {
  this->right.translator().announce_sleep();
  this->right.translator().sleep(std::chrono::microseconds(10));
  this->right.translator().announce_sleep();
  this->right.translator().sleep(std::chrono::nanoseconds(0));
}

// A sleeper that misses a write would sleep until its limit, which is the whole patience of the test.
TYPED_TEST_P(SleepContract, ASleeperMissesNoWrite) {
  if (!TypeParam::kThreads) GTEST_SKIP() << "this network is used by one thread";
  constexpr std::uint64_t kTimes = 3000;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<bool> late{false};
  std::thread sleeper([&] {
    for (std::uint64_t i = 1; i <= kTimes; ++i) {
      while (!late) {
        this->right.translator().announce_sleep();
        this->right.poll();
        if (load_word(this->memory.data()) == i) break;
        const auto start = std::chrono::steady_clock::now();
        this->right.translator().sleep(kPatience);
        if (std::chrono::steady_clock::now() - start >= kPatience) late = true;
      }
      this->right.translator().cancel_sleep();
      seen.store(i, std::memory_order_release);
    }
  });
  for (std::uint64_t i = 1; i <= kTimes && !late; ++i) {
    ir::Command command = put_word(1, this->there, i);
    command.flags = ir::Flags::lead_last;
    this->left.submit(command);
    if (!this->left.wait([&] { return seen.load(std::memory_order_acquire) == i; })) late = true;
  }
  sleeper.join();
  EXPECT_FALSE(late);
}

REGISTER_TYPED_TEST_SUITE_P(SleepContract, AWriteBetweenAnnouncingAndSleepingEndsTheSleepAtOnce,
                            ACancelledAnnouncementLeavesNothingBehind, EndsWhenItsLimitIsReached,
                            ASleeperMissesNoWrite);

} // namespace heddle::translators::contract
