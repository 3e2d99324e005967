// A queue that grows as it must, and allocates nothing otherwise.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace heddle::provider {

template <typename Item>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - first_; }
  [[nodiscard]] const Item& front() const { return ring_[first_ & (ring_.size() - 1)]; }
  void pop_front() { ++first_; }
  // To be filled in place: it holds what stood there before.
  [[nodiscard]] Item& push_back() {
    if (size() == ring_.size()) [[unlikely]]
      grow();
    return ring_[end_++ & (ring_.size() - 1)];
  }

 private:
  [[gnu::noinline]] void grow() {
    std::vector<Item> larger(ring_.size() * 2);
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i, pop_front()) larger[i] = front();
    ring_ = std::move(larger);
    first_ = 0;
    end_ = count;
  }

  std::vector<Item> ring_ = std::vector<Item>(64); // a power of two
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

} // namespace heddle::provider
