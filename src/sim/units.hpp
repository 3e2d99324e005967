// Virtual time and rates of the simulator. Integers only: the same run gives the same picosecond on every compiler.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>

namespace heddle::sim {

// Time since the start of a simulation, or a duration in it. Converts from std::chrono::nanoseconds without loss.
using Picoseconds = std::chrono::duration<std::int64_t, std::pico>;

inline constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
inline constexpr std::int64_t kPicosecondsPerMetre = 5000; // light in a cable

// The largest piece that any rate is asked about: bytes * 10^12 must fit in 64 bits.
inline constexpr std::uint32_t kLargestPiece = 1 << 20;

// The lowest rate that may be asked for. What can be simulated at all then ends long before the clock, which lasts for 106 days.
inline constexpr std::uint64_t kLowestRate = 100'000;

// Bytes per second; 0 stands for a part without a limit of its own.
struct Rate {
  std::int64_t bytes_per_second = 0;

  // How long `bytes` (at most kLargestPiece) take, rounded up to a picosecond.
  [[nodiscard]] constexpr Picoseconds time(std::uint32_t bytes) const {
    if (bytes_per_second == 0) return Picoseconds{0};
    return Picoseconds{(bytes * kPicosecondsPerSecond + bytes_per_second - 1) / bytes_per_second};
  }

  constexpr bool operator==(const Rate&) const = default;
};

} // namespace heddle::sim
