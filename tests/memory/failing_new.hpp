// Lets allocations of the program fail: failing_new.cpp replaces operator new. Not under TSan, which cannot do without its own.
#pragma once

#include <cstdint>

#if defined(__has_feature)
#define HEDDLE_TESTS_OWN_NEW (!__has_feature(thread_sanitizer))
#else
#define HEDDLE_TESTS_OWN_NEW 1
#endif

namespace heddle::tests {

// Counts down while it is not 0; the allocation that brings it to 0 fails.
inline std::uint64_t allocations_to_failure = 0;
// All that follow fail, too: no_memory is set then.
inline bool failure_lasts = false;
// While it is set, every allocation fails.
inline bool no_memory = false;

// Allocated and not yet freed.
inline std::int64_t blocks_in_use = 0;

// What is done in its scope is not the library's, and does not fail.
class Shelter {
 public:
  Shelter() { no_memory = false; }
  ~Shelter() { no_memory = before_; }
  Shelter(const Shelter&) = delete;
  Shelter& operator=(const Shelter&) = delete;

 private:
  bool before_ = no_memory;
};

} // namespace heddle::tests
