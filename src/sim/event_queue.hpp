// The heart of the simulator: what happens next. Events are 16 bytes of plain data; nothing is allocated per event once the
// arrays have grown. Equal times are served in the order of pushing, so a run depends on nothing but its input.
//
// A calendar: time is cut into days of equal length, and the days of the near future have a list each, in no order. When a day comes,
// its list is sorted into `today`. What lies past the last day waits in a heap and moves to its list when the days come
// near. With days so short that few events share one, an event costs a few nanoseconds however many there are.
#pragma once

#include <array>
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

class EventQueue {
 public:
  EventQueue() { lists_.fill(kEnd); }

  // How far ahead of now most events lie; decides the length of a day. Only while the queue is empty.
  void expect(Picoseconds ahead);

  void push(Picoseconds time, std::uint32_t subject) {
    ++size_;
    const Event event{time, sequence_++, subject};
    const std::int64_t day = time.count() >> day_bits_;
    if (day <= day_) {
      put_today(event);
    } else if (day - day_ < kDays) {
      put_on(static_cast<std::size_t>(day % kDays), event);
    } else {
      put_far(event);
    }
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Of the next event; the queue must not be empty.
  Picoseconds next_time() {
    if (next_ == today_.size()) turn_to_next_day();
    return today_[next_].time;
  }

  // Removes and returns the next event; the queue must not be empty.
  Event pop() {
    if (next_ == today_.size()) turn_to_next_day();
    --size_;
    return today_[next_++];
  }

 private:
  static constexpr std::int64_t kDays = 4096; // 64 words of 64 days each
  static constexpr std::uint32_t kEnd = 0xffff'ffff;

  struct Entry {
    Event event;
    std::uint32_t next; // on the same day, or free
  };

  void put_on(std::size_t slot, const Event& event) {
    std::uint32_t index = free_;
    if (index == kEnd) {
      index = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({});
    } else {
      free_ = entries_[index].next;
    }
    entries_[index] = {event, lists_[slot]};
    lists_[slot] = index;
    words_[slot / 64] |= 1ULL << slot % 64;
    used_words_ |= 1ULL << slot / 64;
  }

  void put_today(const Event& event);
  void put_far(const Event& event);
  void turn_to_next_day();
  [[nodiscard]] std::int64_t next_day() const; // that has a list; past all days when none has
  void open(std::int64_t day);
  void bring_near();

  unsigned day_bits_ = 10;
  std::int64_t day_ = 0;
  std::vector<Event> today_; // in order, from next_ on
  std::size_t next_ = 0;
  std::array<std::uint32_t, kDays> lists_;
  std::array<std::uint64_t, kDays / 64> words_{}; // which days have a list
  std::uint64_t used_words_ = 0;                  // which of these words are not zero
  std::vector<Entry> entries_;
  std::uint32_t free_ = kEnd;
  std::vector<Event> far_; // a heap, soonest first
  std::size_t size_ = 0;
  std::uint32_t sequence_ = 0;
};

} // namespace heddle::sim
