// Events for the caller, oldest first. Grows when it must, allocates nothing otherwise. Some room is kept for events that cannot wait
// until there is memory.
#pragma once

#include <heddle/heddle.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace heddle::engine {

class EventQueue {
 public:
  explicit EventQueue(std::size_t kept_back)
      : kept_back_(kept_back), ring_(std::bit_ceil(kFirstCapacity + kept_back)) {}

  // False: there is no memory for it.
  [[nodiscard]] bool push(const Event& event) {
    if (!make_room()) return false;
    put(event);
    return true;
  }
  [[nodiscard]] bool make_room() { return written_ - read_ + kept_back_ < ring_.size() || grow(); }
  // So much is kept back from now on. False: there is no memory for it, and nothing has changed.
  [[nodiscard]] bool keep_back(std::size_t count) {
    const std::size_t before = std::exchange(kept_back_, count);
    while (written_ - read_ + kept_back_ >= ring_.size())
      if (!grow()) {
        kept_back_ = before;
        return false;
      }
    return true;
  }
  // For the few that cannot wait: goes into what is kept back, if need be.
  void push_now(const Event& event) {
    static_cast<void>(make_room());
    if (written_ - read_ < ring_.size()) put(event);
  }
  std::size_t pop(std::span<Event> events) {
    const std::size_t count = std::min(events.size(), written_ - read_);
    for (std::size_t i = 0; i < count; ++i) events[i] = ring_[read_++ & (ring_.size() - 1)];
    return count;
  }
  [[nodiscard]] bool empty() const { return written_ == read_; }

 private:
  static constexpr std::size_t kFirstCapacity = 256;
  void put(const Event& event) { ring_[written_++ & (ring_.size() - 1)] = event; }
  bool grow() {
    std::vector<Event> larger;
    try {
      larger.resize(ring_.size() * 2);
    } catch (const std::bad_alloc&) {
      return false;
    }
    const std::size_t count = pop(larger);
    ring_.swap(larger);
    read_ = 0;
    written_ = count;
    return true;
  }

  std::size_t kept_back_;
  std::vector<Event> ring_; // a power of two
  std::size_t read_ = 0;
  std::size_t written_ = 0;
};

} // namespace heddle::engine
