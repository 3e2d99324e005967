// What the watchdogs of a job's processes report, made into one report for the job: a thousand processes that wait for one are
// one thing to know, and which one does not wait is most of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "store/ledger.hpp"

namespace heddle::launch {

class Stalls {
 public:
  // What a process reports. The first opens a report, others may join it for two seconds; what comes in the minute after it is
  // known already.
  void add(store::Stall stall, base::Deadline now);

  // When the report is to be made.
  [[nodiscard]] std::optional<base::Deadline> due() const { return due_; }

  // Its lines, given who still runs; the oldest wait of one process stands for the others.
  std::vector<std::string> report(const std::vector<bool>& running, base::Deadline now);

 private:
  std::map<std::uint32_t, store::Stall> stalls_; // by rank
  std::uint32_t first_ = 0;
  std::optional<base::Deadline> due_;
  base::Deadline quiet_until_{};
};

} // namespace heddle::launch
