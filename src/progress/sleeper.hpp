// Passes the time of a process that waits: spins, gives the core away, and sleeps on all its networks at once (Waiter says when), here or in
// the program's own event loop. Nothing that comes is slept through: a sleep is announced first, then the work is looked at once more.
#pragma once

#include "ir/translator.hpp"
#include "progress/lookout.hpp"
#include "progress/loop_descriptor.hpp"
#include "progress/pending_work.hpp"
#include "progress/waiter.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle::progress {

class Sleeper {
 public:
  static constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};

  // All outlive it.
  Sleeper(PendingWork& work, Lookout& lookout, const Waiter::Config& config, std::span<ir::Translator* const> networks)
      : waiter_(config, networks), work_(work), lookout_(lookout), networks_(networks.begin(), networks.end()) {}

  // Something was done, or what was waited for has come.
  void busy() { waiter_.busy(); }

  // Whether a round that found nothing is worth another look before the time is passed.
  [[nodiscard]] bool may_look_again() const { return waiter_.has_core_to_itself(); }
  // After a round of a wait, in which so much was done. May sleep, until `end` at the latest.
  void pass_time(std::size_t done, std::uint64_t end_ns = kNoEnd) {
    if (done > 0) [[likely]] {
      waiter_.busy();
      nap_ns_ = kShortestNap;
      return;
    }
    if (waiter_.idle() == Waiter::Advice::check_then_sleep) [[unlikely]]
      sleep(end_ns);
  }

  // After a round in vain of a program that polls by itself: as pass_time, but never sleeps.
  void relax() { waiter_.relax(); }

  // As Context::descriptor and ready_to_sleep.
  Result<int> descriptor();
  Result<bool> ready_to_sleep();

 private:
  // The first sleep before another try for what a third process holds; each further one is twice as long, so that hundreds
  // of processes that want the same thing leave the cores to the one that has it.
  static constexpr std::uint64_t kShortestNap = 100'000; // ns

  void sleep(std::uint64_t end_ns);
  // After an announced sleep: whether there is nothing to be done.
  bool finds_nothing();
  // How long it may sleep until something has to be tried again, longer each time.
  std::uint64_t next_nap();

  Waiter waiter_;
  std::uint64_t nap_ns_ = kShortestNap;
  PendingWork& work_;
  Lookout& lookout_;
  std::vector<ir::Translator*> networks_;
  std::optional<LoopDescriptor> loop_;
  bool loop_hears_store_ = false;
};

} // namespace heddle::progress
