// Bytes that tell one message from another, without being computed one by one: parts of one random table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::tests {

// At least `bytes` bytes that depend on the key. They stay.
const std::byte* pattern_bytes(std::uint64_t key, std::uint64_t bytes);

} // namespace heddle::tests
