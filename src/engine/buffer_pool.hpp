// Memory for messages that nobody has asked for yet: power-of-two sizes, kept for reuse.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace heddle::engine {

class BufferPool {
 public:
  struct Buffer {
    std::byte* data = nullptr;
    std::uint64_t capacity = 0;
  };

  // A buffer of at least that size. Null data when memory is exhausted, and for 0 bytes.
  Buffer take(std::uint64_t bytes);
  // Needs no memory: free buffers are chained through their own.
  void give_back(Buffer buffer);
  // What a buffer for that many bytes has.
  [[nodiscard]] static std::uint64_t capacity_for(std::uint64_t bytes) {
    if (bytes == 0) return 0;
    return bytes > kLargestKept ? bytes : std::bit_ceil(std::max(bytes, kSmallest));
  }

  [[nodiscard]] std::uint64_t bytes_in_use() const { return in_use_; }

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

 private:
  // Larger buffers go back to the system at once: they are rare, and keeping them would hold memory for nothing.
  static constexpr std::uint64_t kLargestKept = std::uint64_t{1} << 20U;
  static constexpr std::uint64_t kSmallest = 64;
  static std::size_t size_class(std::uint64_t capacity) { return static_cast<std::size_t>(std::bit_width(capacity)); }

  struct Free {
    Free* next;
  };
  std::array<Free*, 22> free_{};
  std::uint64_t in_use_ = 0;
};

} // namespace heddle::engine
