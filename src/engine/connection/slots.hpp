// How both sides of a connection touch the common slot and the command slots, and in which order (docs/memory-order.md).
#pragma once

#include "base/shared_words.hpp"
#include "engine/bootstrap/area.hpp"
#include "ir/command.hpp"

#include <cstring>

namespace heddle::engine {

// --- of this process's own memory ---

// The request that waits there, or 0.
template <typename Memory = base::Processor>
std::uint64_t look_at_request(const CommonSlot& common) {
  return Memory::load(common.request, std::memory_order_acquire);
}
// The next initiator writes its request over the 0.
template <typename Memory = base::Processor>
void free_common_slot(CommonSlot& common) {
  Memory::store(common.request, std::uint64_t{0}, std::memory_order_relaxed);
  Memory::store(common.lock, std::uint64_t{0}, std::memory_order_release);
}

// Before the peer hears of the slot.
template <typename Memory = base::Processor>
void clear_slot(CommandSlot& slot) {
  Memory::store(slot.lead, std::uint64_t{0}, std::memory_order_relaxed);
}
// The word that the peer has written, or 0. It is taken out before the peer is told anything that lets it write another.
template <typename Memory = base::Processor>
std::uint64_t take_word(CommandSlot& slot) {
  const std::uint64_t word = Memory::load(slot.lead, std::memory_order_acquire);
  if (word != 0) Memory::store(slot.lead, std::uint64_t{0}, std::memory_order_relaxed);
  return word;
}
// What stands behind a word that was taken: read once, since the peer could still write it.
template <typename Memory = base::Processor>
SlotBody read_body(const CommandSlot& slot) {
  static_assert(sizeof(SlotBody) % sizeof(std::uint64_t) == 0);
  SlotBody body;
  Memory::copy_out(reinterpret_cast<std::byte*>(&body), reinterpret_cast<const std::byte*>(&slot.body), sizeof body);
  return body;
}

// --- of the peer's, without the place ---

// A word for the common slot.
inline ir::Command word_put(std::uint64_t word) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  std::memcpy(command.head.data(), &word, sizeof word);
  command.head_bytes = sizeof word;
  command.bytes = 0;
  return command;
}
// A verb for a command slot, and what stands behind it, if anything.
inline ir::Command slot_put(SlotVerb verb, SlotBody* body) {
  ir::Command command = word_put(static_cast<std::uint64_t>(verb));
  command.local = reinterpret_cast<std::byte*>(body);
  command.bytes = body == nullptr ? 0 : sizeof *body;
  return command;
}
// Takes the lock of the common slot if it is free.
inline ir::Command lock_command(std::uint32_t rank) {
  ir::Command command;
  command.operation = ir::Operation::compare_and_swap;
  command.expected = 0;
  command.operand = rank + 1;
  return command;
}

} // namespace heddle::engine
