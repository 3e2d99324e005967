// Keys of communication areas. Drawn from the system's generator, so that one key says nothing about the others; in a simulated
// job, which is the same each time, by SplitMix64 (Steele, Lea, Flood 2014) from a given start.
#pragma once

#include <cstdint>
#include <random>

namespace heddle::translators {

class AreaKeys {
 public:
  explicit AreaKeys(std::uint64_t start) : state_(start) {}
  static AreaKeys secret() {
    AreaKeys keys(0);
    keys.secret_ = true;
    return keys;
  }

  std::uint64_t draw() {
    if (secret_) {
      std::random_device random;
      return (static_cast<std::uint64_t>(random()) << 32U) | random();
    }
    std::uint64_t mixed = state_ += 0x9e37'79b9'7f4a'7c15ULL;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58'476d'1ce4'e5b9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d0'49bb'1331'11ebULL;
    return mixed ^ (mixed >> 31U);
  }

 private:
  std::uint64_t state_;
  bool secret_ = false;
};

} // namespace heddle::translators
