// Spreads a number over 64 bits, so that every bit of the result depends on all of it: the last steps of splitmix64 (Steele, Lea,
// Flood: Fast splittable pseudorandom number generators, 2014).
#pragma once

#include <cstdint>

namespace heddle::base {

inline constexpr std::uint64_t kMixStep = 0x9e37'79b9'7f4a'7c15ULL; // 2^64 divided by the golden ratio

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t word) {
  word += kMixStep;
  word = (word ^ (word >> 30U)) * 0xbf58'476d'1ce4'e5b9ULL;
  word = (word ^ (word >> 27U)) * 0x94d0'49bb'1331'11ebULL;
  return word ^ (word >> 31U);
}

} // namespace heddle::base
