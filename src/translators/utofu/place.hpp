// How memory is named. Every registration that peers may use has a reserved tag, the same at each engine, so that whoever knows the tag
// computes the steering address by itself. The network checks nothing but that the tag is in use; the rest is checked by who submits:
//
//   key      8 bits tag, 19 bits where the memory begins behind the tag's first address, 37 bits its size
//   offset   22 bits seal, 42 bits behind the tag's first address
//
// The seal is of the key and of a number that the owner has drawn: who has not been given the place does not guess it.
#pragma once

#include "base/mix.hpp"
#include "ir/command.hpp"

#include <cstdint>
#include <optional>

namespace heddle::translators::utofu {

struct Range {
  std::uint32_t tag = 0;
  std::uint64_t first = 0; // behind the tag's first address
  std::uint64_t size = 0;
};
inline constexpr std::uint64_t kLargestRange = (std::uint64_t{1} << 37U) - 1;
// Where memory can begin: at any byte up to here, and at any multiple of 256 up to 256 times as far.
inline constexpr std::uint64_t kLargestFirst = (std::uint64_t{1} << 18U) - 1;
inline constexpr std::uint64_t kLargestStep = 256 * kLargestFirst;

namespace place {

inline constexpr unsigned kPositionBits = 42;

// Neither 0 nor all ones, at which a sum that wraps ends up.
inline std::uint64_t seal(ir::MemoryKey key, std::uint64_t salt) {
  constexpr std::uint64_t kSeals = (std::uint64_t{1} << (64 - kPositionBits)) - 2;
  return 1 + base::mix(base::mix(static_cast<std::uint64_t>(key)) ^ salt) % kSeals;
}

inline ir::RemotePlace pack(const Range& range, std::uint64_t salt) {
  const std::uint64_t first = range.first <= kLargestFirst ? range.first : range.first / 256 | (kLargestFirst + 1);
  const ir::MemoryKey key{std::uint64_t{range.tag} << 56U | first << 37U | range.size};
  return {.key = key, .offset = seal(key, salt) << kPositionBits | range.first};
}
inline Range range_of(ir::MemoryKey key) {
  const auto bits = static_cast<std::uint64_t>(key);
  const std::uint64_t first = bits >> 37U & kLargestFirst;
  const bool steps = (bits >> 55U & 1U) != 0;
  return {.tag = static_cast<std::uint32_t>(bits >> 56U),
          .first = steps ? 256 * first : first,
          .size = bits & kLargestRange};
}
// Where that is behind the tag's first address; none: [place, place + bytes) is not wholly what its owner has granted.
inline std::optional<std::uint64_t> position(const ir::RemotePlace& place, std::uint64_t bytes, std::uint64_t salt) {
  const Range range = range_of(place.key);
  const std::uint64_t at = place.offset & ((std::uint64_t{1} << kPositionBits) - 1);
  if (place.offset >> kPositionBits != seal(place.key, salt)) return {};
  if (at < range.first || at > range.first + range.size || bytes > range.first + range.size - at) return {};
  return at;
}

} // namespace place
} // namespace heddle::translators::utofu
