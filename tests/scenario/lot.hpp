// Random numbers that cost a few instructions to seed and to draw, and are the same on every compiler. SplitMix64 (Steele,
// Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::tests {

class Lot {
 public:
  explicit Lot(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e37'79b9'7f4a'7c15U;
    return mix(state_);
  }
  std::uint64_t operator()() { return next(); }
  std::uint64_t below(std::uint64_t end) { return next() % end; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename T, std::size_t Count>
  const T& pick(const std::array<T, Count>& from) {
    return from[below(Count)];
  }

  static std::uint64_t mix(std::uint64_t word) {
    word = (word ^ (word >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d0'49bb'1331'11ebU;
    return word ^ (word >> 31U);
  }

 private:
  std::uint64_t state_;
};

} // namespace heddle::tests
