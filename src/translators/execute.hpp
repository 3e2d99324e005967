// Commands carried out by this processor on memory that it can address. For loopback and shared memory.
#pragma once

#include "ir/command.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace heddle::translators {

// memcpy that avoids a call for up to 16 bytes, the payload of most small messages.
inline void copy_short(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, from, 8);
    std::memcpy(&last, from + bytes - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + bytes - 8, &last, 8);
  } else {
    for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

// Where the terminator stands after that many bytes of head and data.
constexpr std::uint64_t terminator_at(std::uint64_t content) {
  return (content + ir::kTerminatorAlignment - 1) & ~(ir::kTerminatorAlignment - 1);
}

// Bytes from the command's remote place that the put writes, its terminator included. More than any memory has where the
// sizes make no sense: a head longer than a command holds, data so large that sums would wrap.
inline std::uint64_t put_extent(const ir::Command& command) {
  constexpr std::uint64_t kSumsDoNotWrap = std::uint64_t{1} << 62U;
  if (command.head_bytes > ir::kHeadBytes || command.bytes > kSumsDoNotWrap) [[unlikely]]
    return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t content = command.head_bytes + command.bytes;
  return ir::has(command.flags, ir::Flags::terminated) ? terminator_at(content) + kWord : content;
}

// Lead and terminator are words and need an aligned place; the lead is in the head.
inline bool put_is_sound(const ir::Command& command, const std::byte* to) {
  const bool lead_last = ir::has(command.flags, ir::Flags::lead_last);
  const bool has_words = lead_last || ir::has(command.flags, ir::Flags::terminated);
  return (!lead_last || command.head_bytes >= kWord) &&
         (!has_words || reinterpret_cast<std::uintptr_t>(to) % kWord == 0);
}

// `to` is the remote place, known to be put_extent bytes long; put_is_sound.
inline void execute_put(const ir::Command& command, std::byte* to) {
  const bool lead_last = ir::has(command.flags, ir::Flags::lead_last);
  const std::uint64_t skip = lead_last ? kWord : 0;
  if (command.head_bytes > skip) copy_short(to + skip, command.head.data() + skip, command.head_bytes - skip);
  if (command.bytes > 0) copy_short(to + command.head_bytes, command.local, command.bytes);
  if (ir::has(command.flags, ir::Flags::terminated)) {
    const std::uint64_t end = terminator_at(command.head_bytes + command.bytes);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to + end)).store(0, std::memory_order_relaxed);
  }
  if (lead_last) {
    std::uint64_t lead = 0;
    std::memcpy(&lead, command.head.data(), sizeof lead);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to)).store(lead, std::memory_order_release);
  }
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

// The commonest put: a message's record, lead word last and terminated. `to` is known to hold put_extent bytes.
inline void execute_record(const ir::Command& command, std::byte* to) {
  const std::uint64_t content = command.head_bytes + command.bytes;
  std::uint64_t lead = 0;
  std::memcpy(&lead, command.head.data(), kWord);
  if (command.head_bytes == 2 * kWord) [[likely]]
    std::memcpy(to + kWord, command.head.data() + kWord, kWord);
  else
    std::memcpy(to + kWord, command.head.data() + kWord, command.head_bytes - kWord);
  copy_short(to + command.head_bytes, command.local, command.bytes);
  std::byte* end = to + terminator_at(content);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(end)).store(0, std::memory_order_relaxed);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to)).store(lead, std::memory_order_release);
}

// The old value of the word at `at`, which is 8-aligned.
inline std::uint64_t execute_atomic(const ir::Command& command, std::byte* at) {
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(at));
  if (command.operation == ir::Operation::fetch_and_add)
    return word.fetch_add(command.operand, std::memory_order_acq_rel);
  std::uint64_t found = command.expected;
  word.compare_exchange_strong(found, command.operand, std::memory_order_acq_rel);
  return found;
}

} // namespace heddle::translators
