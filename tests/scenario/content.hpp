// Bytes that tell one message from another, without being computed one by one: parts of one random table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle::tests {

// At least `bytes` bytes that depend on the key. They stay.
const std::byte* pattern_bytes(std::uint64_t key, std::uint64_t bytes);

// Also of no bytes, behind null pointers.
inline void put_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
inline bool same_bytes(const void* one, const void* other, std::size_t bytes) {
  return bytes == 0 || std::memcmp(one, other, bytes) == 0;
}

} // namespace heddle::tests
