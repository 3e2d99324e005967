// How this process passes the time while nothing arrives: spins while it may have a core to itself, otherwise gives the
// core to others soon, and sleeps when even that brings nothing.
#pragma once

#include "ir/translator.hpp"
#include "progress/turns.hpp"

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
    double on_each = 1; // processes of the job for each core
  };
  // Sleeps on all these networks at once.
  Waiter(const Config& config, std::span<ir::Translator* const> networks);

  // Something was done: the next wait begins with spinning again.
  void busy() {
    if (idle_polls_ > spins_before_pause_) [[unlikely]]
      end_long_wait();
    idle_polls_ = 0;
  }
  // Whether it is worth looking more than once before the time is passed: who is waited for may be running.
  [[nodiscard]] bool has_core_to_itself() const { return spins_before_pause_ == kQuickSpins; }

  enum class Advice : std::uint8_t { poll, check_then_sleep };
  // Nothing was to be done. check_then_sleep: poll once more, then call sleep, or cancel if that brought something.
  Advice idle() {
    ++idle_polls_;
    if (idle_polls_ <= spins_before_pause_) return Advice::poll;
    return idle_long();
  }
  void sleep(std::chrono::nanoseconds limit);
  void cancel();
  // Nothing was to be done, and the caller does not want to sleep: pauses, or gives a turn away where somebody else wants the core.
  void relax();

 private:
  // Polls without any pause: a reply from a peer that is running comes within them.
  static constexpr std::uint64_t kQuickSpins = 512;
  // Where somebody else wants the core, whoever is waited for is likely not running: spinning only keeps it from running.
  static constexpr std::uint64_t kSharedSpins = 0;

  Advice idle_long();
  void begin_long_wait(std::uint64_t now_ns);
  void end_long_wait();
  void give_turn_away(std::uint64_t now_ns);
  void announce_sleep();
  void sleep_on_all(std::chrono::nanoseconds limit);

  Config config_;
  CoreShare core_;
  TurnLength turn_length_;
  std::vector<ir::Sleeping*> networks_;
  std::vector<pollfd> descriptors_; // of the networks, where there are several
  bool knows_all_ = true;           // every network reports what arrives
  bool must_nap_ = false;           // this time, something may arrive untold
  std::uint64_t spins_before_pause_ = kQuickSpins;
  std::uint64_t idle_polls_ = 0;
  std::uint64_t relaxed_ = 0; // calls of relax
  std::uint64_t idle_since_ns_ = 0;
  bool gives_turns_ = true; // in this wait, before it sleeps
};

} // namespace heddle::progress
