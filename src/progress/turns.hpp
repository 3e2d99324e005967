// Whether somebody else wants this process's core, and whether it is better to give turns away there or to sleep. Both are found out from
// how long turns take that were given away, since neither the number of processes nor that of cores says who computes and who waits. Knows
// no clock and no system call of its own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle::progress {

// A core is shared where a turn that was given away comes back later than the call itself takes. Where the job has cores enough that must
// happen several times in a row, since the system has something to do on any core now and then; and whoever has used up a whole time
// slice does not count: it is no process that waits, and more turns would only cost more slices.
class CoreShare {
 public:
  // Crowded: the job has more processes than cores.
  explicit CoreShare(bool crowded) : crowded_(crowded), shared_(crowded) {}

  [[nodiscard]] bool shared() const { return shared_; }
  // On a core that seems to be this process's own: whether a turn may be given away to see whether it is.
  [[nodiscard]] bool may_try(std::uint64_t now_ns) const { return now_ns >= next_try_ns_; }
  // A turn was given away at that time, and so many nanoseconds later came back. True: somebody has taken it.
  bool note_turn(std::uint64_t took_ns, std::uint64_t now_ns);

 private:
  // The shortest call is one that nobody else made use of. A switch to somebody and back takes several times as long.
  static constexpr std::uint64_t kTimesTheCall = 4;
  static constexpr std::uint64_t kLongestCall = 2'000;   // ns: more is a switch, on any machine
  static constexpr std::uint64_t kTimeSlice = 1'000'000; // ns: the shortest, on any machine
  static constexpr std::uint64_t kAfterASlice = 1'000'000'000;
  static constexpr std::uint32_t kTakenInARow = 8;
  // Turns that nobody took, one after the other, and over so long a time, until the core counts as this process's own: the system may
  // hold for a while that it is this process's turn, though others want to run.
  static constexpr std::uint32_t kUnused = 64;
  static constexpr std::uint64_t kUnusedNs = 20'000'000;

  std::uint64_t call_ns_ = kLongestCall / kTimesTheCall;
  std::uint64_t next_try_ns_ = 0;
  std::uint32_t taken_ = 0; // in a row, or
  std::uint32_t unused_ = 0;
  std::uint64_t unused_since_ns_ = 0;
  bool crowded_;
  bool shared_;
};

// On a shared core: among processes that wait for each other a turn takes some microseconds for each of them, and whoever gives turns
// away is the quickest. Where others compute, a turn costs a whole time slice, some milliseconds; whoever sleeps instead is served before
// them when it is woken. But where all sleep, and wake each other for every message, turns are late as well. So those that sleep try
// turns again at the same time, which the machine's clock tells all of its processes alike.
class TurnLength {
 public:
  // So many processes want each core. This one has had its own since then.
  TurnLength(double on_each, std::uint64_t now_ns)
      : on_each_(on_each < kFewest ? kFewest : on_each), has_core_since_ns_(now_ns) {}

  // Whether a wait that begins now gives turns away before it sleeps.
  [[nodiscard]] bool gives_turns(std::uint64_t now_ns);
  // A turn was given away, somebody has taken it, and it came back. How long this process had kept it itself counts, too: the others
  // are likely to have as much to do.
  void note_turn(std::uint64_t given_ns, std::uint64_t back_ns);
  // It has slept, and now has the core.
  void note_sleep(std::uint64_t now_ns) { has_core_since_ns_ = now_ns; }

 private:
  static constexpr double kForEachNs = 150'000; // what a process does when messages have come, at most
  static constexpr double kFewest = 8;
  static constexpr double kWeight = 1.0 / 4; // of one turn: a single late one is an accident
  // Turns are tried in the first 4 ms of every 67, and after each such time in vain half as often, down to once a second.
  static constexpr unsigned kPeriodBits = 26;
  static constexpr std::uint64_t kTrial = 4'000'000; // ns
  static constexpr unsigned kMostHalvings = 4;

  [[nodiscard]] double limit_ns() const { return on_each_ * std::max(kForEachNs, 2 * kept_ns_); }

  double on_each_;
  double average_ns_ = 0;
  double kept_ns_ = 0; // on average
  std::uint64_t has_core_since_ns_;
  std::uint64_t last_period_ = 0;
  unsigned halvings_ = 0;
};

} // namespace heddle::progress
