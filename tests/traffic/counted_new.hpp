// Counts what the program allocates: replaces operator new, so one source file of a program may include it.
// Clang's TSan cannot do without its own operator new: nothing is counted there, and no test of the count is built.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;

[[maybe_unused]] void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(bytes == 0 ? 1 : bytes)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

} // namespace

#if defined(__has_feature)
#define HEDDLE_TESTS_OWN_NEW (!__has_feature(thread_sanitizer))
#else
#define HEDDLE_TESTS_OWN_NEW 1
#endif

#if HEDDLE_TESTS_OWN_NEW
// Every form of the standard library ends in one of these. Where the compiler inlines only one of a pair, it takes the pair
// for mismatched.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) {
  return counted(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#pragma GCC diagnostic pop
#endif
