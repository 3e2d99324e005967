#include "engine/buffer_pool.hpp"

#include <new>

namespace heddle::engine {

BufferPool::Buffer BufferPool::take(std::uint64_t bytes) {
  if (bytes == 0) return {};
  const std::uint64_t capacity = capacity_for(bytes);
  std::byte* data = nullptr;
  if (capacity <= kLargestKept && free_[size_class(capacity)] != nullptr) {
    Free*& first = free_[size_class(capacity)];
    data = reinterpret_cast<std::byte*>(first);
    first = first->next;
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
    free_[size_class(buffer.capacity)] = new (buffer.data) Free{free_[size_class(buffer.capacity)]};
  else
    ::operator delete[](buffer.data, std::align_val_t{64});
}

BufferPool::~BufferPool() {
  for (Free* free : free_)
    while (free != nullptr) {
      Free* next = free->next;
      ::operator delete[](reinterpret_cast<std::byte*>(free), std::align_val_t{64});
      free = next;
    }
}

} // namespace heddle::engine
