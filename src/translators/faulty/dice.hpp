// Chance from a seed: the same throws on every machine and with every compiler.
#pragma once

#include <cstdint>
#include <random>

namespace heddle::translators {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  // True with that probability. Never throws the dice for 0, so that a fault left out changes nothing for the others.
  bool chance(double probability) {
    constexpr double kUnit = 1.0 / 9007199254740992.0; // 2^-53: what a double can tell apart below 1
    return probability > 0 && static_cast<double>(engine_() >> 11U) * kUnit < probability;
  }
  // 0 <= result < limit; limit is not 0. Not quite even for huge limits, which faults do not need.
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

 private:
  std::mt19937_64 engine_; // its sequence is fixed by the standard; that of the standard's distributions is not
};

} // namespace heddle::translators
