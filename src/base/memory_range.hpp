// Whether memory that a caller names can be at all; whether it is there, only its use shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace heddle::base {

// As of layouts: sizes can be added and rounded without wrapping.
inline constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 62U;

// No bytes behind a null pointer, no more than kMostMemory, none behind the last address.
template <typename Byte>
bool can_exist(std::span<Byte> memory) {
  if (memory.empty()) return true;
  const auto from = reinterpret_cast<std::uintptr_t>(memory.data());
  return from != 0 && memory.size_bytes() <= kMostMemory &&
         memory.size_bytes() - 1 <= std::numeric_limits<std::uintptr_t>::max() - from;
}

} // namespace heddle::base
