// What is looked at now and then rather than in every round, since it takes the clock or a system call: the watchdog, news of peers,
// and whether messages were refused.
#pragma once

#include "base/clock.hpp"
#include "progress/peer_news.hpp"
#include "progress/watchdog.hpp"

#include <cstddef>
#include <cstdint>

namespace heddle::progress {

class Lookout {
 public:
  // How often the store is asked for news, and how long a sleep lasts at most, so that news are not late.
  static constexpr std::uint64_t kInterval = 20'000'000; // ns

  struct Config {
    std::chrono::seconds watchdog{0};
    std::uint64_t unsolicited_memory = 0; // named where messages are refused
    bool looks = true; // false for a simulated process: its time is not the clock's, and its network tells of deaths
  };
  Lookout(const Watchdog::Means& means, const Config& config)
      : watchdog_(means, config.watchdog), config_(config), means_(means), news_(means.store, means.work, means.log) {}

  // After each round.
  void note_round(std::size_t done) {
    if (done > 0) watchdog_.moved();
    if (++rounds_ % kRoundsPerLook == 0) [[unlikely]]
      look();
  }
  // Looks, if the last time was long enough ago.
  void look() { look(config_.looks ? base::steady_ns() : 0); }
  void look(std::uint64_t now_ns);

  [[nodiscard]] Watchdog& watchdog() { return watchdog_; }
  [[nodiscard]] PeerNews& news() { return news_; }

 private:
  // The clock, and by it the store, is looked at once in so many rounds: rarely enough to cost under a nanosecond a round,
  // often enough that even a program that polls only now and then learns of a death in a fraction of a second.
  static constexpr std::uint64_t kRoundsPerLook = 64;

  void warn_of_refused();

  std::uint64_t rounds_ = 0;
  Watchdog watchdog_;
  Config config_;
  std::uint64_t last_look_ns_ = 0;
  std::uint64_t refused_seen_ = 0;
  Watchdog::Means means_;
  PeerNews news_;
};

} // namespace heddle::progress
