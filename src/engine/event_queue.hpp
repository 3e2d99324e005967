// Events for the caller, oldest first. Grows when it must, allocates nothing otherwise.
#pragma once

#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace heddle::engine {

class EventQueue {
 public:
  EventQueue() : ring_(kFirstCapacity) {}

  void push(const Event& event) {
    if (written_ - read_ == ring_.size()) grow();
    ring_[written_++ & (ring_.size() - 1)] = event;
  }
  std::size_t pop(std::span<Event> events) {
    const std::size_t count = std::min(events.size(), written_ - read_);
    for (std::size_t i = 0; i < count; ++i) events[i] = ring_[read_++ & (ring_.size() - 1)];
    return count;
  }
  [[nodiscard]] bool empty() const { return written_ == read_; }

 private:
  static constexpr std::size_t kFirstCapacity = 256;
  void grow() {
    std::vector<Event> larger(ring_.size() * 2);
    const std::size_t count = pop(larger);
    ring_.swap(larger);
    read_ = 0;
    written_ = count;
  }

  std::vector<Event> ring_; // a power of two
  std::size_t read_ = 0;
  std::size_t written_ = 0;
};

} // namespace heddle::engine
