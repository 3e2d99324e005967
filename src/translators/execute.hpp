// Commands carried out by this processor on memory that it can address. For loopback and shared memory.
#pragma once

#include "base/shared_words.hpp"
#include "ir/command.hpp"
#include "ir/direct_ring.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace heddle::translators {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

// Bytes from the command's remote place that the put writes, its terminator included. More than any memory has where the
// sizes make no sense: a head longer than a command holds, data so large that sums would wrap.
inline std::uint64_t put_extent(const ir::Command& command) {
  constexpr std::uint64_t kSumsDoNotWrap = std::uint64_t{1} << 62U;
  if (command.head_bytes > ir::kHeadBytes || command.bytes > kSumsDoNotWrap) [[unlikely]]
    return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t content = command.head_bytes + command.bytes;
  return ir::has(command.flags, ir::Flags::terminated) ? ir::terminator_at(content) + kWord : content;
}

// Lead and terminator are words and need an aligned place; the lead is in the head.
inline bool put_is_sound(const ir::Command& command, const std::byte* to) {
  const bool lead_last = ir::has(command.flags, ir::Flags::lead_last);
  const bool has_words = lead_last || ir::has(command.flags, ir::Flags::terminated);
  return (!lead_last || command.head_bytes >= kWord) &&
         (!has_words || reinterpret_cast<std::uintptr_t>(to) % kWord == 0);
}

// `to` is the remote place, known to be put_extent bytes long; put_is_sound.
template <typename Memory = base::Processor>
inline void execute_put(const ir::Command& command, std::byte* to) {
  const bool lead_last = ir::has(command.flags, ir::Flags::lead_last);
  if (lead_last) {
    if (command.head_bytes > kWord)
      Memory::copy_in(to + kWord, command.head.data() + kWord, command.head_bytes - kWord);
    if (command.bytes > 0) Memory::copy_in(to + command.head_bytes, command.local, command.bytes);
  } else { // after the puts before it: their peer may wait for this one and then look at them
    if (command.head_bytes > 0) base::store_in_order<Memory>(to, command.head.data(), command.head_bytes);
    if (command.bytes > 0) base::store_in_order<Memory>(to + command.head_bytes, command.local, command.bytes);
  }
  if (ir::has(command.flags, ir::Flags::terminated)) {
    const std::uint64_t end = ir::terminator_at(command.head_bytes + command.bytes);
    Memory::store(base::word_at(to + end), 0, std::memory_order_relaxed);
  }
  if (lead_last) {
    std::uint64_t lead = 0;
    std::memcpy(&lead, command.head.data(), sizeof lead);
    Memory::store(base::word_at(to), lead, std::memory_order_release);
  }
}

// The old value of the word at `at`, which is 8-aligned.
template <typename Memory = base::Processor>
inline std::uint64_t execute_atomic(const ir::Command& command, std::byte* at) {
  std::uint64_t& word = base::word_at(at);
  if (command.operation == ir::Operation::fetch_and_add)
    return Memory::fetch_add(word, command.operand, std::memory_order_acq_rel);
  std::uint64_t found = command.expected;
  Memory::compare_exchange(word, found, command.operand, std::memory_order_acq_rel);
  return found;
}

} // namespace heddle::translators
