// Whether somebody else wants this process's core, and whether it is better to give turns away there or to sleep. Both are found out from
// how long turns take that were given away, since neither the number of processes nor that of cores says who computes and who waits. Knows
// no clock and no system call of its own.
#pragma once

#include <cstdint>

namespace heddle::progress {

// A core is shared where a turn that was given away comes back later than the call itself takes.
class CoreShare {
 public:
  explicit CoreShare(bool crowded) : shared_(crowded) {}

  [[nodiscard]] bool shared() const { return shared_; }
  // A turn was given away, and so many nanoseconds later came back.
  void note_turn(std::uint64_t took_ns);

 private:
  // The shortest call is one that nobody else made use of. A switch to somebody and back takes several times as long.
  static constexpr std::uint64_t kTimesTheCall = 4;
  static constexpr std::uint64_t kLongestCall = 2'000; // ns: more is a switch, on any machine
  // Turns that nobody took, one after the other, until the core counts as this process's own.
  static constexpr std::uint32_t kUnused = 64;

  std::uint64_t call_ns_ = kLongestCall / kTimesTheCall;
  std::uint32_t unused_ = 0;
  bool shared_;
};

// On a shared core: among processes that wait for each other a turn takes some microseconds for each of them, and whoever gives turns
// away is the quickest. Where others compute, a turn costs a whole time slice, some milliseconds; whoever sleeps instead is served before
// them when it is woken. But where all sleep, and wake each other for every message, turns are late as well. So those that sleep try
// turns again at the same time, which the machine's clock tells all of its processes alike.
class TurnLength {
 public:
  // So many processes want each core.
  explicit TurnLength(double on_each) : limit_ns_(kForEachNs * (on_each < kFewest ? kFewest : on_each)) {}

  // Whether a wait that begins now gives turns away before it sleeps.
  [[nodiscard]] bool gives_turns(std::uint64_t now_ns);
  // A turn was given away, and so many nanoseconds later came back.
  void note_turn(std::uint64_t took_ns);

 private:
  static constexpr double kForEachNs = 100'000; // what a process does when messages have come, at most
  static constexpr double kFewest = 8;
  static constexpr double kWeight = 1.0 / 8; // of one turn: a single late one is an accident
  // Turns are tried in the first 4 ms of every 67, and after each such time in vain half as often, down to once a second.
  static constexpr unsigned kPeriodBits = 26;
  static constexpr std::uint64_t kTrial = 4'000'000; // ns
  static constexpr unsigned kMostHalvings = 4;

  double limit_ns_;
  double average_ns_ = 0;
  std::uint64_t last_period_ = 0;
  unsigned halvings_ = 0;
};

} // namespace heddle::progress
