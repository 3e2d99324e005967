// Copying that is quick for the few bytes of a small message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle::base {

// Two parts that may overlap, instead of a loop: for Part-size to twice as many bytes.
template <typename Part>
[[gnu::always_inline]] inline void copy_ends(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  Part first;
  Part last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + bytes - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + bytes - sizeof last, &last, sizeof last);
}

// The sizes that are not worth their room in every caller.
[[gnu::noinline]] inline void copy_other_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  struct Half {
    std::byte bytes[16];
  };
  struct Line {
    std::byte bytes[32];
  };
  if (bytes > 64)
    std::memcpy(to, from, bytes);
  else if (bytes >= 32)
    copy_ends<Line>(to, from, bytes);
  else if (bytes >= 16)
    copy_ends<Half>(to, from, bytes);
  else if (bytes >= 8)
    copy_ends<std::uint64_t>(to, from, bytes);
  else if (bytes >= 4)
    copy_ends<std::uint32_t>(to, from, bytes);
  else if (bytes >= 2)
    copy_ends<std::uint16_t>(to, from, bytes);
  else if (bytes == 1)
    *to = *from;
}

// memcpy that avoids a call for a word or two.
[[gnu::always_inline]] inline void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes - 8 <= 8) [[likely]]
    copy_ends<std::uint64_t>(to, from, bytes);
  else
    copy_other_bytes(to, from, bytes);
}

} // namespace heddle::base
