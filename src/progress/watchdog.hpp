// Says what is waited for when nothing has moved for long: to the launcher, which makes one report for the whole job, or, without one, in
// the log.
#pragma once

#include "base/ages.hpp"
#include "base/flight_recorder.hpp"
#include "base/log.hpp"
#include "progress/patience.hpp"
#include "progress/pending_work.hpp"
#include "store/store.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace heddle::progress {

class Watchdog {
 public:
  struct Means { // all outlive it
    store::Store& store;
    PendingWork& work;
    const base::Log& log;
    const base::FlightRecorder& recorder; // its last moments are part of the report
  };
  // limit 0: it never says anything.
  Watchdog(const Means& means, std::chrono::seconds limit) : means_(means), patience_(limit) {}

  void moved() { since_ns_ = 0; }
  // For simulated processes, which have no watchdog: whether anything has moved since it was forgotten.
  void forget() { since_ns_ = 1; }
  [[nodiscard]] bool has_moved() const { return since_ns_ == 0; }

  // Now and then.
  void look(std::uint64_t now_ns);

  [[nodiscard]] std::string waiting_for(std::uint64_t now_ns) { return means_.work.waiting_for(ages_, now_ns); }

 private:
  void report(std::string waiting, std::uint64_t seconds) const;

  std::uint64_t since_ns_ = 0; // first, beside what every round looks at; 0: something has moved since the last look
  Means means_;
  Patience patience_;
  base::Ages ages_; // of the work's count
};

} // namespace heddle::progress
