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
// Who stands behind it: read once, since a peer could still write it.
template <typename Memory = base::Processor>
Initiator read_initiator(const CommonSlot& common) {
  static_assert(sizeof(Initiator) % sizeof(std::uint64_t) == 0);
  Initiator initiator;
  Memory::copy_out(reinterpret_cast<std::byte*>(&initiator), reinterpret_cast<const std::byte*>(&common.initiator),
                   sizeof initiator);
  return initiator;
}
// The next initiator writes its request over the 0.
template <typename Memory = base::Processor>
void free_common_slot(CommonSlot& common) {
  Memory::store(common.request, std::uint64_t{0}, std::memory_order_relaxed);
  Memory::store(common.lock, std::uint64_t{0}, std::memory_order_release);
}

// Before the peer knows of the slot.
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
// A request for the common slot.
inline ir::Command request_put(std::uint32_t slot, const Initiator& initiator) {
  static_assert(offsetof(CommonSlot, initiator) == offsetof(CommonSlot, request) + sizeof(std::uint64_t));
  static_assert(sizeof(std::uint64_t) + sizeof initiator <= ir::kHeadBytes);
  ir::Command command = word_put(pack_request(slot));
  std::memcpy(command.head.data() + sizeof(std::uint64_t), &initiator, sizeof initiator);
  command.head_bytes += sizeof initiator;
  return command;
}
// A verb for a command slot, and what stands behind it, if anything.
inline ir::Command slot_put(SlotVerb verb, Uid sender, SlotBody* body) {
  ir::Command command = word_put(pack_word(verb, sender));
  command.local = reinterpret_cast<std::byte*>(body);
  command.bytes = body == nullptr ? 0 : sizeof *body;
  return command;
}
// Takes the lock of the common slot if it is free.
inline ir::Command lock_command(std::uint64_t incarnation) {
  ir::Command command;
  command.operation = ir::Operation::compare_and_swap;
  command.expected = 0;
  command.operand = incarnation;
  return command;
}

} // namespace heddle::engine
