// How much less is done under a sanitizer.
#pragma once

#include <cstdint>

// GCC says so by a macro, Clang by a feature.
#if defined(__has_feature)
#define HEDDLE_TESTS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEDDLE_TESTS_SANITIZED 1
#else
#define HEDDLE_TESTS_SANITIZED 0
#endif

namespace heddle::tests {

// Sanitizers make everything five to twenty times slower: the same tests run with fewer rounds there.
#if HEDDLE_TESTS_SANITIZED
inline constexpr std::uint64_t kSlowdown = 8;
#else
inline constexpr std::uint64_t kSlowdown = 1;
#endif

} // namespace heddle::tests
