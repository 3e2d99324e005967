#include "engine/buffer_pool.hpp"

#include <algorithm>
#include <new>

namespace heddle::engine {

BufferPool::Buffer BufferPool::take(std::uint64_t bytes) {
  if (bytes == 0) return {};
  const std::uint64_t capacity = bytes > kLargestKept ? bytes : std::bit_ceil(std::max(bytes, kSmallest));
  std::byte* data = nullptr;
  if (capacity <= kLargestKept && !free_[size_class(capacity)].empty()) {
    data = free_[size_class(capacity)].back();
    free_[size_class(capacity)].pop_back();
  } else {
    data = new (std::align_val_t{64}, std::nothrow) std::byte[capacity];
    if (data == nullptr) return {};
  }
  in_use_ += capacity;
  return {.data = data, .capacity = capacity};
}

void BufferPool::give_back(Buffer buffer) {
  if (buffer.data == nullptr) return;
  in_use_ -= buffer.capacity;
  if (buffer.capacity <= kLargestKept)
    free_[size_class(buffer.capacity)].push_back(buffer.data);
  else
    ::operator delete[](buffer.data, std::align_val_t{64});
}

BufferPool::~BufferPool() {
  for (auto& list : free_)
    for (std::byte* data : list) ::operator delete[](data, std::align_val_t{64});
}

} // namespace heddle::engine
