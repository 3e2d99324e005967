// Time for the parts that may know it: context, translators, tools. The engine takes time as an argument instead.
#pragma once

#include <chrono>
#include <cstdint>

namespace heddle::base {

// Nanoseconds of a clock that never goes back; only differences mean anything. About 20 ns.
inline std::uint64_t steady_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// The processor's own counter: a few nanoseconds to read, in units of the machine. Convert with two pairs of
// (ticks, steady_ns), as FlightRecorder does; never compare across machines.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return steady_ns();
#endif
}

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// The point in time `milliseconds` from now.
inline Deadline deadline_in(std::chrono::milliseconds milliseconds) {
  return Clock::now() + milliseconds;
}

// Whole milliseconds left, rounded up, 0 when past: what poll(2) takes. Capped at an hour.
inline int milliseconds_until(Deadline deadline) {
  const auto left = deadline - Clock::now();
  if (left <= Clock::duration::zero()) return 0;
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(rounded < 3'600'000 ? rounded : 3'600'000);
}

} // namespace heddle::base
