// The two ends of an exclusive ring: one peer writes records one after the other, this process reads them in place.
//
// Positions count bytes since the ring was made; a position's place in the ring is position mod capacity. Every record is
// followed by a word of zeros, written before the record's own lead word becomes visible, so that after a record the
// reader finds either the lead word of the next or zero, never the remains of an earlier lap. A record that would not fit
// before the end of the ring is written at its start, and a `wrap` record stands in its old place; for that case the
// reader itself clears the word at the start of the ring whenever it passes it.
//
// The writer learns how far the reader is from a word in its own memory that the reader writes now and then.
// Not here: rings with several writers (shared_ring.hpp), and who gets a ring (ring_budget.hpp).
#pragma once

#include "base/shared_words.hpp"
#include "engine/record.hpp"
#include "ir/command.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heddle::engine {

// What a receiver tells a sender about the ring it may write to. Travels inside the connection protocol.
enum class RingType : std::uint64_t { refused, exclusive, shared };
struct RingGrant {
  RingType type = RingType::refused;
  ir::RemotePlace place;        // its first byte
  std::uint64_t bytes = 0;      // capacity
  std::uint64_t slot_bytes = 0; // of the shared type
};

// Bounds on what a peer may grant: anything else is a broken peer.
inline constexpr std::uint64_t kSmallestRing = 1024;
inline constexpr std::uint64_t kLargestRing = std::uint64_t{1} << 30U;

// The largest record as a share of the ring. With a quarter, a record always fits in an empty ring whatever the position,
// even while an eighth of it is read but not yet reported.
constexpr std::uint64_t largest_record(std::uint64_t ring_bytes) {
  return ring_bytes / 4;
}
// The reader reports its position each time it has read that share of the ring.
constexpr std::uint64_t report_interval(std::uint64_t ring_bytes) {
  return ring_bytes / 8;
}

template <typename Memory>
class BasicRingWriter {
 public:
  BasicRingWriter() = default;
  // `consumed` is the word that the reader writes its position to.
  BasicRingWriter(ir::RemotePlace place, std::uint64_t capacity, std::atomic<std::uint64_t>* consumed)
      : place_(place), capacity_(capacity), consumed_(consumed) {}

  // Where a record of `span` bytes goes now.
  enum class Room : std::uint8_t { here, after_wrap, none };
  [[nodiscard]] Room room_for(std::uint64_t span) { return has_room_here(span) ? Room::here : look_for_room(span); }
  // The same in one comparison, without a look at what the reader has reported. False: ask room_for.
  [[nodiscard]] bool has_room_here(std::uint64_t span) const { return produced_ + span + kLeadBytes <= stop_; }
  // How far from the start of the ring the next record goes.
  [[nodiscard]] std::uint64_t next_offset() const { return produced_ & (capacity_ - 1); }
  [[nodiscard]] ir::RemotePlace next_place() const { return place_.at(next_offset()); }
  void advance(std::uint64_t span) { produced_ += span; }
  // To the start of the ring, once the wrap record is written.
  void wrap() { produced_ += capacity_ - (produced_ & (capacity_ - 1)); }

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  [[nodiscard]] Room look_for_room(std::uint64_t span) {
    const std::uint64_t to_end = capacity_ - next_offset();
    const bool fits_here = span + kLeadBytes <= to_end;
    const std::uint64_t needed = span + kLeadBytes + (fits_here ? 0 : to_end);
    if (produced_ + needed > limit_) {
      limit_ = Memory::load(*consumed_, std::memory_order_acquire) + capacity_;
      if (produced_ + needed > limit_) return Room::none;
    }
    stop_ = std::min(limit_, produced_ + to_end);
    return fits_here ? Room::here : Room::after_wrap;
  }

  ir::RemotePlace place_;
  std::uint64_t capacity_ = 0;
  std::uint64_t produced_ = 0;
  std::uint64_t stop_ = 0;  // up to here records follow one another without a further look
  std::uint64_t limit_ = 0; // the last position that may be written, as known from the reader's last report
  std::atomic<std::uint64_t>* consumed_ = nullptr;
};

using RingWriter = BasicRingWriter<base::Processor>;

template <typename Memory>
class BasicRingReader {
 public:
  BasicRingReader() = default;
  BasicRingReader(std::byte* memory, std::uint64_t capacity) : memory_(memory), capacity_(capacity) {}

  [[nodiscard]] bool exists() const { return memory_ != nullptr; }

  // The next record's lead word, or 0.
  [[nodiscard]] std::uint64_t peek() const { return Memory::load(base::word_at(here()), std::memory_order_acquire); }
  // Bytes from the next record to the end of the ring: what a peer may claim at most.
  [[nodiscard]] std::uint64_t to_end() const { return capacity_ - (consumed_ & (capacity_ - 1)); }
  // Whether the next record begins a cache line.
  [[nodiscard]] bool at_line() const { return consumed_ % 64 == 0; }
  // The record that peek has seen.
  [[nodiscard]] const std::byte* record() const { return here(); }

  void advance(std::uint64_t span) {
    clear_start();
    consumed_ += span;
  }
  void wrap() {
    clear_start();
    consumed_ += to_end();
  }

  // The position to tell the writer, when it is time to.
  [[nodiscard]] bool report_due() const { return consumed_ - reported_ >= report_interval(capacity_); }
  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }
  void reported() { reported_ = consumed_; }

 private:
  [[nodiscard]] std::byte* here() const { return memory_ + (consumed_ & (capacity_ - 1)); }
  void clear_start() {
    if ((consumed_ & (capacity_ - 1)) == 0) Memory::store(base::word_at(memory_), 0, std::memory_order_relaxed);
  }

  std::byte* memory_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t reported_ = 0;
};
using RingReader = BasicRingReader<base::Processor>;

} // namespace heddle::engine
