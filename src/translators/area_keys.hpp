// Keys of communication areas: drawn, so that one key says nothing about the others.
// SplitMix64 (Steele, Lea, Flood 2014) from a secret start: each output is a bijective mix of a counter, so none repeats.
#pragma once

#include <cstdint>
#include <random>

namespace heddle::translators {

class AreaKeys {
 public:
  // A simulated job is the same each time: there the start is given.
  explicit AreaKeys(std::uint64_t start) : state_(start) {}
  static AreaKeys secret() {
    std::random_device random;
    return AreaKeys((static_cast<std::uint64_t>(random()) << 32U) | random());
  }

  std::uint64_t draw() {
    std::uint64_t mixed = state_ += 0x9e37'79b9'7f4a'7c15ULL;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58'476d'1ce4'e5b9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d0'49bb'1331'11ebULL;
    return mixed ^ (mixed >> 31U);
  }

 private:
  std::uint64_t state_;
};

} // namespace heddle::translators
