// How this process passes the time while nothing arrives: spins while it may have a core to itself, otherwise gives the
// core to others soon, and sleeps when even that brings nothing.
#pragma once

#include "ir/translator.hpp"

#include <heddle/options.hpp>

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::progress {

class Waiter {
 public:
  struct Config {
    Waiting waiting = Waiting::automatic;
    std::chrono::microseconds spin{2000};
    bool crowded = false; // more processes than cores
  };
  // Sleeps on all these networks at once.
  Waiter(const Config& config, std::span<ir::Translator* const> networks);

  // Something was done: the next wait begins with spinning again.
  void busy() { idle_polls_ = 0; }

  enum class Advice : std::uint8_t { poll, check_then_sleep };
  // Nothing was to be done. check_then_sleep: poll once more, then call sleep, or cancel if that brought something.
  Advice idle() {
    ++idle_polls_;
    if (idle_polls_ <= spins_before_pause_) return Advice::poll;
    return idle_long();
  }
  void sleep(std::chrono::nanoseconds limit);
  void cancel();

 private:
  Advice idle_long();
  void give_turn_away();
  void announce_sleep();

  Config config_;
  std::vector<ir::Sleeping*> networks_;
  std::vector<pollfd> descriptors_; // of the networks, where there are several
  bool knows_all_ = true;           // every network reports what arrives
  bool must_nap_ = false;           // this time, something may arrive untold
  std::uint64_t spins_before_pause_;
  std::uint64_t idle_polls_ = 0;
  std::chrono::steady_clock::time_point idle_since_;
  std::uint32_t yields_ = 0;
  std::uint32_t waits_without_turns_ = 0;
  std::uint32_t next_without_turns_; // after the next slow turn
  bool yielding_ = false;
};

} // namespace heddle::progress
