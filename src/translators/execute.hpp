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
#include <span>

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

// Bytes from the command's remote place that it reads or writes.
inline std::uint64_t extent_of(const ir::Command& command) {
  if (command.operation == ir::Operation::put) return put_extent(command);
  return command.operation == ir::Operation::get ? command.bytes : kWord;
}

// Lead and terminator are words and need an aligned place; the lead is in the head.
inline bool put_is_sound(const ir::Command& command, const std::byte* to) {
  const bool lead_last = ir::has(command.flags, ir::Flags::lead_last);
  const bool has_words = lead_last || ir::has(command.flags, ir::Flags::terminated);
  return (!lead_last || command.head_bytes >= kWord) &&
         (!has_words || reinterpret_cast<std::uintptr_t>(to) % kWord == 0);
}

// Whether the command can be carried out at a place of extent_of bytes.
inline bool is_sound(const ir::Command& command, const std::byte* at) {
  if (command.operation == ir::Operation::put) return put_is_sound(command, at);
  return command.operation == ir::Operation::get || reinterpret_cast<std::uintptr_t>(at) % kWord == 0;
}

// All that a put writes, as it will stand there: put_extent bytes.
inline void compose_put(const ir::Command& command, std::uint64_t extent, std::byte* into) {
  const std::uint64_t content = command.head_bytes + command.bytes;
  std::memcpy(into, command.head.data(), command.head_bytes);
  if (command.bytes > 0) std::memcpy(into + command.head_bytes, command.local, command.bytes);
  std::memset(into + content, 0, extent - content);
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

// The rest of a put whose data stands there already, all but the `tail`.
template <typename Memory = base::Processor>
inline void finish_put(ir::Command command, std::byte* to, std::span<const std::byte> tail = {}) {
  const std::uint64_t content = command.head_bytes + command.bytes;
  const bool lead_last = ir::has(command.flags, ir::Flags::lead_last);
  if (!lead_last && command.head_bytes > 0) base::store_in_order<Memory>(to, command.head.data(), command.head_bytes);
  if (!tail.empty()) base::store_in_order<Memory>(to + content - tail.size(), tail.data(), tail.size());
  if (ir::has(command.flags, ir::Flags::terminated))
    Memory::store(base::word_at(to + ir::terminator_at(content)), 0, std::memory_order_relaxed);
  if (!lead_last) return;
  command.flags = ir::Flags::lead_last;
  command.bytes = 0;
  execute_put<Memory>(command, to);
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

// At a place of extent_of bytes, where the command is_sound; an atomic's old value.
inline std::uint64_t execute(const ir::Command& command, std::byte* at) {
  switch (command.operation) {
    case ir::Operation::put: execute_put(command, at); break;
    case ir::Operation::get:
      if (command.bytes > 0) std::memcpy(command.local, at, command.bytes);
      break;
    case ir::Operation::compare_and_swap:
    case ir::Operation::fetch_and_add: return execute_atomic(command, at);
  }
  return 0;
}

} // namespace heddle::translators
