// What `heddle perf` measures, on a joined context, by the method of bench/peers/README.md.
// Not here: starting processes and printing (perf.cpp).
#pragma once

#include "base/clock.hpp"

#include <heddle/heddle.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace heddle::tool {

enum class Measure : std::uint8_t {
  latency,
  rate,
  bandwidth,
  // Of all processes together.
  alltoall,
  barrier,
  random,
  memory,
  join, // of whole jobs: timed by who starts them (perf.cpp)
  // Many receives or many messages before the one that matches.
  match_posted,
  match_unexpected,
  match_posted_masked,
  match_unexpected_masked,
  // One-sided; what each times is said in bench/peers/README.md.
  push,
  push_rate,
  push_bandwidth,
  pull,
  fetch_add,
  lock,
};

// At most so much in a repetition; less where it would take longer than `seconds`.
struct Effort {
  int repetitions = 11;
  double seconds = 0.2;
  std::uint64_t round_trips = 20'000; // of latency; barriers
  std::uint64_t compute_us = 0;       // of latency: how long both compute before they send, which does not count
  std::uint64_t windows = 4'000;      // of rate and of random traffic
  std::uint64_t volume = std::uint64_t{256} << 20U;                // bytes of bandwidth and alltoall
  std::function<void(std::uint64_t bytes, int repetition)> tell{}; // before each repetition; may be empty
};

// Bandwidth has a short window from this size on.
inline constexpr std::uint64_t kShortWindowFrom = 1 << 20;

// Since a moment of base::steady_ns.
inline double seconds_since(std::uint64_t start) {
  return static_cast<double>(base::steady_ns() - start) * 1e-9;
}

// One size: the median of the repetitions, the lowest, the highest. In the unit of the measure.
struct Figure {
  std::uint64_t bytes = 0;
  double median = 0;
  double lowest = 0;
  double highest = 0;
  double p99 = 0;               // latency only: of single round trips, halved
  std::uint64_t operations = 0; // in each repetition: round trips, messages, exchanges
};

// Does something so many times.
using Work = std::function<ErrorCode(std::uint64_t count)>;

// How often `work` is done in a repetition: `most` times, or as often as fits the seconds. Ranks below `processes` call it
// together and get the same answer, by rank 0's clock; each has then done it a few times.
Result<std::uint64_t> choose_count(Context& context, std::uint32_t processes, std::uint64_t most, double seconds,
                                   const Work& work);

// The error of what a code has ended.
Error interrupted(ErrorCode code);

// The figure of one repetition at a time, the first of which warms up.
Result<Figure> repeat(std::uint64_t bytes, const Effort& effort, const std::function<Result<double>()>& once);

// The part of measure in which all processes take part.
Result<Figure> measure_together(Context& context, Measure what, std::uint64_t bytes, const Effort& effort);

// What a process needs of memory after one all-to-all, in KiB: the median, lowest and highest of the processes.
Result<Figure> measure_memory(Context& context, std::uint64_t bytes);

// Ten thousand messages of different tags from rank 0 to rank 1.
Result<Figure> measure_matching(Context& context, Measure what, std::uint64_t bytes, const Effort& effort);

// The one-sided part of measure, between ranks 0 and 1.
Result<Figure> measure_one_sided(Context& context, Measure what, std::uint64_t bytes, const Effort& effort);

// Runs on every rank. What is between two is measured between ranks 0 and 1, and the others wait. Rank 0 gets the figure.
// Not for join, which has nothing to do in a job.
Result<Figure> measure(Context& context, Measure what, std::uint64_t bytes, const Effort& effort);

} // namespace heddle::tool
