// Keys of communication areas. Drawn from the system's generator, so that one key says nothing about the others; in a simulated
// job, which is the same each time, by splitmix64 from a given start.
#pragma once

#include "base/mix.hpp"

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
    const std::uint64_t drawn = base::mix(state_);
    state_ += base::kMixStep;
    return drawn;
  }

 private:
  std::uint64_t state_;
  bool secret_ = false;
};

} // namespace heddle::translators
