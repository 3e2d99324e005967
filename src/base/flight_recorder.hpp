// The last things that happened, kept in a fixed ring for the moment when something goes wrong.
// Not here: messages for people (log.hpp) and traces of every command (the trace translator).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace heddle::base {

// One moment. `what` points to text that lives as long as the program, such as a literal.
struct FlightRecord {
  std::uint64_t time;
  const char* what;
  std::int64_t peer;
  std::uint64_t first;
  std::uint64_t second;
};

// Owned by one context and used by one thread. Allocates once, in the constructor.
class FlightRecorder {
 public:
  // Keeps the last `records` moments, rounded up to a power of two; 0 keeps none and record() does nothing.
  explicit FlightRecorder(std::size_t records);

  // A few nanoseconds: one counter read, one store of 40 bytes.
  void record(const char* what, std::int64_t peer, std::uint64_t first = 0, std::uint64_t second = 0) {
    if (ring_.empty()) return;
    ring_[next_ & (ring_.size() - 1)] = {ticks(), what, peer, first, second};
    ++next_;
  }

  // How many moments dump() can show now.
  [[nodiscard]] std::size_t kept() const {
    return next_ < ring_.size() ? static_cast<std::size_t>(next_) : ring_.size();
  }

  // The last `most` moments, oldest first, one line each: age before now, what, peer, both values.
  [[nodiscard]] std::string dump(std::size_t most = SIZE_MAX) const;
  void dump(std::FILE* to, std::size_t most = SIZE_MAX) const;

 private:
  [[nodiscard]] double ns_per_tick() const;

  std::vector<FlightRecord> ring_;
  std::uint64_t next_ = 0;
  std::uint64_t start_ticks_;
  std::uint64_t start_ns_;
};

} // namespace heddle::base
