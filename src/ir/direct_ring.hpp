// A peer's memory as plain memory of this process. Where a translator offers it, the commonest command, the put of a message's
// record, becomes a few stores: nothing is filled that somebody else would have to read again.
// Not here: who may store when (engine::ScheduleQueue), and what a record means (src/engine).
#pragma once
// for shm: begin

#include "base/shared_words.hpp"
#include "ir/command.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heddle::ir {

struct DirectRing {
  std::byte* memory = nullptr;                        // null: the peer is reached by commands alone
  const std::atomic<std::uint32_t>* asleep = nullptr; // not 0 after a store: the peer is to be woken
  Peer peer{};

  [[nodiscard]] bool exists() const { return memory != nullptr; }
};

// What a put with lead_last and terminated would carry: two or three words of head, then the local memory.
struct StoredRecord {
  std::uint64_t lead = 0;
  std::uint64_t second = 0;
  bool has_third = false; // known where it is compiled, so that it costs nothing
  std::uint64_t third = 0;
  const std::byte* local = nullptr;
  std::uint64_t bytes = 0;
};
inline constexpr std::uint64_t kStoredHeadBytes = 16;
inline constexpr std::uint64_t kCacheLine = 64;
inline constexpr std::uint64_t kLongRecord =
    512; // shorter ones are written before a reader that looks finds the beginning

// Where the terminator stands after that many bytes of head and data.
constexpr std::uint64_t terminator_at(std::uint64_t content) {
  return (content + kTerminatorAlignment - 1) & ~(kTerminatorAlignment - 1);
}

// Asks for a cache line that will soon be written, so that the write does not wait for its last reader to let it go.
inline void prefetch_for_writing(const std::byte* at) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0"
               :
               : "m"(*at)); // the builtin would ask for reading unless the whole build targets newer machines
#else
  __builtin_prefetch(at, 1);
#endif
}

// Records come one after the other and are often of one size: when one is written, the lines of the next are asked for, so
// that writing it does not wait for the reader to let go of them. Past the end of the memory this asks for nothing.
inline void prefetch_next_record(const std::byte* record, std::uint64_t span) {
  constexpr std::uint64_t kMostAhead = 2048; // longer records hide the wait behind their own copying
  constexpr std::uint64_t kLeastAhead = 512; // covers a line's way from the most distant core at some sixteen records
  if (span <= kCacheLine) [[likely]] {
    prefetch_for_writing(record + kLeastAhead);
  } else if (span <= kMostAhead) {
    for (std::uint64_t at = 0; at <= span; at += kCacheLine) prefetch_for_writing(record + span + at);
  }
}

// Of a long record the first line is written last, and in one go. Whoever waits looks at it all the time: written in two parts, it would be
// taken from the writer in between, who would have to wait for it a second time.
template <typename Memory>
[[gnu::noinline]] inline void store_long_record(const StoredRecord& record, std::uint64_t head, std::byte* to) {
  const std::uint64_t span = terminator_at(head + record.bytes);
  const std::uint64_t left = kCacheLine - reinterpret_cast<std::uintptr_t>(to) % kCacheLine; // of the line
  const std::uint64_t first = std::max(left, head) - head;
  Memory::copy_in(to + head + first, record.local + first, record.bytes - first);
  Memory::store(base::word_at(to + span), 0, std::memory_order_relaxed);
  Memory::plain_store(to + sizeof record.lead, record.second);
  if (record.has_third) Memory::plain_store(to + kStoredHeadBytes, record.third);
  Memory::copy_in(to + head, record.local, first);
  Memory::store(base::word_at(to), record.lead, std::memory_order_release);
  prefetch_next_record(to, span);
}

// `to` is 8-aligned and holds terminator_at(head and data) and 8 more bytes.
template <typename Memory = base::Processor>
[[gnu::always_inline]] inline void store_record(const StoredRecord& record, std::byte* to) {
  const std::uint64_t head = kStoredHeadBytes + (record.has_third ? sizeof record.third : 0);
  if (record.bytes >= kLongRecord) [[unlikely]]
    return store_long_record<Memory>(record, head, to);
  const std::uint64_t span = terminator_at(head + record.bytes);
  Memory::plain_store(to + sizeof record.lead, record.second);
  if (record.has_third) Memory::plain_store(to + kStoredHeadBytes, record.third);
  Memory::copy_in(to + head, record.local, record.bytes);
  Memory::store(base::word_at(to + span), 0, std::memory_order_relaxed);
  Memory::store(base::word_at(to), record.lead, std::memory_order_release);
  prefetch_next_record(to, span);
}

// One word, after everything stored before it.
template <typename Memory = base::Processor>
[[gnu::always_inline]] inline void store_word(std::uint64_t word, std::byte* to) {
  Memory::store(base::word_at(to), word, std::memory_order_release);
}

// After a store: whether its owner sleeps, or is about to, and must be woken. The sleeper's barrier orders its last look at the
// memory against the store (docs/protocols/waiting.md); here the compiler's order is enough.
template <typename Memory = base::Processor>
[[gnu::always_inline]] inline bool must_wake(const std::atomic<std::uint32_t>& asleep) {
  Memory::compiler_fence();
  return Memory::load(asleep, std::memory_order_relaxed) != 0;
}

} // namespace heddle::ir
// for shm: end
