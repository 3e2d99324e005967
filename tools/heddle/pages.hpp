// Page-aligned memory that has been written: what is measured is neither alignment nor the first touch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace heddle::tool {

inline constexpr std::size_t kPage = 4096;

struct FreePages {
  void operator()(std::byte* data) const { ::operator delete(data, std::align_val_t{kPage}); }
};
using Pages = std::unique_ptr<std::byte, FreePages>;

inline Pages pages(std::uint64_t bytes) {
  Pages memory(static_cast<std::byte*>(::operator new(std::max<std::uint64_t>(bytes, 1), std::align_val_t{kPage})));
  std::memset(memory.get(), 1, bytes);
  return memory;
}

} // namespace heddle::tool
