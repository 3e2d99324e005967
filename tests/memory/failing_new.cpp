#include "tests/memory/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

#if HEDDLE_TESTS_OWN_NEW

namespace heddle::tests {
namespace {

bool fails_now() {
  if (no_memory) return true;
  if (allocations_to_failure == 0 || --allocations_to_failure > 0) return false;
  no_memory = failure_lasts;
  return true;
}
void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fails_now()) return nullptr;
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(bytes == 0 ? 1 : bytes)
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) ++blocks_in_use;
  return memory;
}
void give_back(void* memory) {
  if (memory != nullptr) --blocks_in_use;
  std::free(memory);
}
void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

} // namespace
} // namespace heddle::tests

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) {
  return heddle::tests::allocate_or_throw(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return heddle::tests::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return heddle::tests::allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return heddle::tests::allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  heddle::tests::give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  heddle::tests::give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  heddle::tests::give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  heddle::tests::give_back(memory);
}
#pragma GCC diagnostic pop
#endif
