// How much less is done under a sanitizer.
#pragma once

#include <cstdint>

namespace heddle::tests {

// Sanitizers make everything five to twenty times slower: the same tests run with fewer rounds there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kSlowdown = 8;
#else
inline constexpr std::uint64_t kSlowdown = 1;
#endif

} // namespace heddle::tests
