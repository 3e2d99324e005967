// How old something is that remembers a counter instead of a time: whoever begins things on a hot path reads no clock, and
// whoever looks at the clock now and then notes which count it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::base {

// Moments are kept ever sparser the older they are: an age is right to about an eighth, for a few hundred moments in all.
class Ages {
 public:
  Ages() { moments_.reserve(kMost); }

  // Counts and times never go back. Does not allocate.
  void note(std::uint64_t count, std::uint64_t now_ns);
  // Nanoseconds since the counter stood there, at least: to the first moment known to be later. 0: since the last moment.
  [[nodiscard]] std::uint64_t of(std::uint64_t count, std::uint64_t now_ns) const;

 private:
  static constexpr std::size_t kMost = 512;
  static constexpr std::uint64_t kPrecision = 8;
  struct Moment {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
  };
  std::vector<Moment> moments_; // oldest first
};

// "0.3 s", "12 s".
std::string seconds_text(std::uint64_t ns);

} // namespace heddle::base
