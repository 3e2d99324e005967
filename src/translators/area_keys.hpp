// Keys of communication areas. Drawn from the system's generator, so that one key says nothing about the others; in a simulated
// job, which is the same each time, by splitmix64 from a given start.
#pragma once

#include "base/mix.hpp"

#include <sys/random.h>

#include <array>
#include <cstddef>
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
      if (left_ == 0) refill();
      return drawn_[--left_];
    }
    const std::uint64_t drawn = base::mix(state_);
    state_ += base::kMixStep;
    return drawn;
  }

 private:
  // Many at a time: asking takes longer than sending a small message does, and every large one is exposed under a key of its own.
  void refill() {
    if (::getrandom(drawn_.data(), sizeof drawn_, 0) != sizeof drawn_) {
      std::random_device random;
      for (std::uint64_t& key : drawn_) key = (static_cast<std::uint64_t>(random()) << 32U) | random();
    }
    left_ = drawn_.size();
  }

  std::array<std::uint64_t, 32> drawn_{}; // at most 256 bytes: the system gives so many without being interrupted
  std::size_t left_ = 0;
  std::uint64_t state_;
  bool secret_ = false;
};

} // namespace heddle::translators
