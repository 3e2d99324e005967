// Whose turn it is, by the words that partners write to each other while a pattern runs, and in which order they are looked at
// (docs/memory-order.md). They are written by engine::ScheduleQueue::try_store_word, or as puts.
#pragma once

#include "base/shared_words.hpp"
#include "pattern/wire.hpp"

#include <cstddef>
#include <cstdint>

namespace heddle::pattern {

// The target has copied out what the slot held, kSlots rounds ago.
template <typename Memory = base::Processor>
[[nodiscard, gnu::always_inline]] inline bool slot_is_free(const Line& line, std::uint64_t round) {
  return Memory::load(line.consumed, std::memory_order_acquire) + kSlots >= round;
}
// The target's memory is no longer the program's.
template <typename Memory = base::Processor>
[[nodiscard, gnu::always_inline]] inline bool has_started(const Line& line, std::uint64_t round) {
  return Memory::load(line.started, std::memory_order_acquire) >= round;
}
// A record's first word, or the word that follows data, is of this round.
template <typename Memory = base::Processor>
[[nodiscard, gnu::always_inline]] inline bool has_come(const std::byte* at, std::uint64_t round) {
  return Memory::load(*reinterpret_cast<const std::uint64_t*>(at), std::memory_order_acquire) == round;
}
// From `freed` on nobody writes here.
template <typename Memory = base::Processor>
[[nodiscard, gnu::always_inline]] inline Farewell farewell_of(const Line& line) {
  return Farewell::unpack(Memory::load(line.farewell, std::memory_order_acquire));
}

} // namespace heddle::pattern
