#include "translators/simulated/large_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace heddle::translators::simulated {

namespace {

constexpr std::size_t kPage = std::size_t{1} << 21U;

} // namespace

// What is smaller than a page stays with the heap: a small job needs little.
void* LargePages::do_allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t aligned = bytes < kPage ? alignment : std::max(alignment, kPage);
  void* memory = ::operator new(bytes, std::align_val_t{aligned});
  if (aligned == kPage) ::madvise(memory, bytes / kPage * kPage, MADV_HUGEPAGE); // without it, all still works
  return memory;
}

void LargePages::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  ::operator delete(memory, std::align_val_t{bytes < kPage ? alignment : std::max(alignment, kPage)});
}

} // namespace heddle::translators::simulated
