// Memory for messages that nobody has asked for yet: power-of-two sizes, kept for reuse.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace heddle::engine {

class BufferPool {
 public:
  struct Buffer {
    std::byte* data = nullptr;
    std::uint64_t capacity = 0;
  };

  // A buffer of at least that size. Null data when memory is exhausted, and for 0 bytes.
  Buffer take(std::uint64_t bytes);
  void give_back(Buffer buffer);

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

  std::array<std::vector<std::byte*>, 22> free_;
  std::uint64_t in_use_ = 0;
};

} // namespace heddle::engine
