// The heart of the simulator: what happens next. Events are 16 bytes of plain data in one array; nothing is allocated per
// event. Equal times are served in the order of pushing, so a run depends on nothing but its input.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace heddle::sim {

struct Event {
  Picoseconds time;
  std::uint32_t sequence; // of pushing; compared modulo 2^32, as events of equal time are never that far apart
  std::uint32_t subject;  // what it is about; the queue does not look at it

  [[nodiscard]] bool before(const Event& other) const {
    if (time != other.time) return time < other.time;
    return static_cast<std::int32_t>(sequence - other.sequence) < 0;
  }
};
static_assert(sizeof(Event) == 16);

// A heap with four children per entry: half as deep as a binary one, and the children share a cache line.
class EventQueue {
 public:
  void push(Picoseconds time, std::uint32_t subject) {
    heap_.push_back({});
    std::size_t hole = heap_.size() - 1;
    const Event event{time, sequence_++, subject};
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kWidth;
      if (!event.before(heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  // Of the next event; the queue must not be empty.
  [[nodiscard]] Picoseconds next_time() const { return heap_.front().time; }

  // Removes and returns the next event; the queue must not be empty.
  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static constexpr std::size_t kWidth = 4;

  void sink(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    while (true) {
      const std::size_t child = hole * kWidth + 1;
      if (child >= size) break;
      const std::size_t end = child + kWidth < size ? child + kWidth : size;
      std::size_t least = child;
      for (std::size_t other = child + 1; other < end; ++other) {
        if (heap_[other].before(heap_[least])) least = other;
      }
      if (!heap_[least].before(event)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = event;
  }

  std::vector<Event> heap_;
  std::uint32_t sequence_ = 0;
};

} // namespace heddle::sim
