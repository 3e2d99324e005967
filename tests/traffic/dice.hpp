// What random traffic is made of: sizes, tags and matches that meet each other often, from one random source.
#pragma once

#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

namespace heddle::tests {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::mt19937_64& source() { return random_; }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool chance(unsigned percent) { return below(100) < percent; }
  std::uint32_t rank(std::uint32_t size) { return static_cast<std::uint32_t>(below(size)); }

  // Many small messages, few large ones, none shorter than `least`.
  std::uint64_t bytes(std::uint64_t least, std::uint64_t largest) {
    const std::uint64_t classes[] = {1, 9, 65, 1025, 5000, 40'000, largest + 1};
    const std::uint64_t choice = below(100);
    const std::size_t index = choice < 8    ? 0
                              : choice < 25 ? 1
                              : choice < 50 ? 2
                              : choice < 75 ? 3
                              : choice < 88 ? 4
                              : choice < 97 ? 5
                                            : 6;
    return std::min(largest, least + below(classes[index]));
  }
  std::uint64_t tag() {
    const std::uint64_t low = below(3);
    return low | (below(3) << 60U);
  }
  Match match(std::uint32_t size) {
    Match match;
    if (!chance(30)) match.source = Rank{rank(size)};
    constexpr std::uint64_t kMasks[] = {kWholeTag, kWholeTag, kWholeTag, 0xff, 0xfULL << 60U, 0};
    match.mask = kMasks[below(6)];
    match.tag = Tag{tag() & match.mask};
    return match;
  }

 private:
  std::mt19937_64 random_;
};

} // namespace heddle::tests
