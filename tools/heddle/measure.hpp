// What `heddle perf` measures, on a joined context, by the method of bench/peers/README.md.
// Not here: starting processes and printing (perf.cpp).
#pragma once

#include "base/clock.hpp"

#include <heddle/heddle.hpp>

#include <cstdint>
#include <vector>

namespace heddle::tool {

enum class Measure : std::uint8_t {
  latency,
  rate,
  bandwidth,
  alltoall,
  // One-sided; what each times is said in bench/peers/README.md.
  push,
  push_rate,
  push_bandwidth,
  pull,
  fetch_add,
  lock,
};

struct Effort {
  int repetitions = 11;
  std::uint64_t round_trips = 20'000;               // per repetition of latency
  std::uint64_t windows = 4'000;                    // per repetition of rate
  std::uint64_t volume = std::uint64_t{256} << 20U; // bytes per repetition of bandwidth and alltoall
};

// Bandwidth has a short window from this size on.
inline constexpr std::uint64_t kShortWindowFrom = 1 << 20;

// Since a moment of base::steady_ns.
inline double seconds_since(std::uint64_t start) {
  return static_cast<double>(base::steady_ns() - start) * 1e-9;
}

// One size: the median of the repetitions, the lowest, the highest. Microseconds, messages per second, or MB per second.
struct Figure {
  std::uint64_t bytes = 0;
  double median = 0;
  double lowest = 0;
  double highest = 0;
  double p99 = 0; // latency only: of single round trips, halved
};

// The one-sided part of measure, between ranks 0 and 1.
Result<Figure> measure_one_sided(Context& context, Measure what, std::uint64_t bytes, const Effort& effort);

// Runs on every rank; the pair measures between ranks 0 and 1, the others wait. Rank 0 gets the figure.
Result<Figure> measure(Context& context, Measure what, std::uint64_t bytes, const Effort& effort);

} // namespace heddle::tool
