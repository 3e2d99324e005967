// Copying that is quick for the few bytes of a small message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle::engine {

// memcpy that avoids a call for up to 64 bytes: two loads that overlap instead of a loop.
inline void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > 64) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 32) {
    std::byte first[32];
    std::byte last[32];
    std::memcpy(first, from, 32);
    std::memcpy(last, from + bytes - 32, 32);
    std::memcpy(to, first, 32);
    std::memcpy(to + bytes - 32, last, 32);
  } else if (bytes >= 16) {
    std::byte first[16];
    std::byte last[16];
    std::memcpy(first, from, 16);
    std::memcpy(last, from + bytes - 16, 16);
    std::memcpy(to, first, 16);
    std::memcpy(to + bytes - 16, last, 16);
  } else if (bytes >= 8) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + bytes - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + bytes - 8, &last, 8);
  } else {
    for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

} // namespace heddle::engine
