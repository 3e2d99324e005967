#include "engine/connection/introduction.hpp"

#include "engine/connection/slots.hpp"

#include <algorithm>
#include <bit>

namespace heddle::engine {

namespace {

bool plausible(const RingGrant& grant) {
  if (!std::has_single_bit(grant.bytes) || grant.bytes < kSmallestRing || grant.bytes > kLargestRing) return false;
  if (grant.type == RingType::exclusive) return true;
  return grant.type == RingType::shared && grant.slot_bytes >= kSmallestSlot && grant.slot_bytes % 8 == 0 &&
         grant.slot_bytes <= grant.bytes;
}

} // namespace

std::int32_t Introduction::take_slot(Port& port) {
  const auto found = std::find(port.slot_taken.begin(), port.slot_taken.end(), false);
  if (found == port.slot_taken.end()) return -1;
  *found = true;
  const auto index = static_cast<std::int32_t>(found - port.slot_taken.begin());
  clear_slot(port.area->slots[index]);
  return index;
}

void Introduction::free_slot(Port& port, std::int32_t& slot) {
  if (slot >= 0) port.slot_taken[static_cast<std::size_t>(slot)] = false;
  slot = -1;
}

bool Introduction::prepare_word(Link& link) {
  if (!link.consumed_word.memory.empty()) return true;
  auto word = link.queue().translator().allocate(sizeof(std::uint64_t));
  if (word) link.consumed_word = *word;
  return word.has_value();
}

bool Introduction::prepare(Link& link) {
  if (!prepare_word(link)) return false;
  if (link.ring.grant.type == RingType::refused)
    link.ring = core_.rings.take(link.queue().translator(), link.port->shared);
  if (link.ring.grant.type == RingType::refused) return false;
  if (link.ring.grant.type == RingType::exclusive)
    link.reader = RingReader(link.ring.memory.memory.data(), link.ring.grant.bytes);
  ir::Endpoints* endpoints = link.queue().facets().endpoints;
  auto endpoint = endpoints != nullptr ? endpoints->prepare_endpoint(ir::Peer{link.rank}) : ir::Endpoint{};
  if (!endpoint) return false;
  link.outgoing = {.slot = static_cast<std::uint32_t>(std::max(link.slot, 0)),
                   .peer = core_.rank,
                   .endpoint = *endpoint,
                   .grant = link.ring.grant,
                   .consumed = link.consumed_word.place};
  return true;
}

bool Introduction::hear(Link& link, SlotBody& told) {
  told = read_body(link.port->area->slots[link.slot]);
  if (told.peer != link.rank || told.slot >= kCommandSlots || !plausible(told.grant)) return false;
  link.peer_slot = told.slot;
  return true;
}

bool Introduction::adopt(Link& link, const SlotBody& told) {
  ir::Endpoints* endpoints = link.queue().facets().endpoints;
  if (endpoints != nullptr && !endpoints->connect_endpoint(ir::Peer{link.rank}, told.endpoint)) return false;
  link.grant = told.grant;
  link.peer_consumed = told.consumed;
  link.writes_shared = told.grant.type == RingType::shared;
  if (link.writes_shared) {
    link.cursor = SharedRingCursor(told.grant.bytes / told.grant.slot_bytes);
    link.largest_payload = shared_payload(told.grant.slot_bytes);
  } else {
    auto* word = reinterpret_cast<std::atomic<std::uint64_t>*>(link.consumed_word.memory.data());
    link.writer = RingWriter(told.grant.place, told.grant.bytes, word);
    link.largest_payload = largest_record(told.grant.bytes) - kRecordHeadBytes - kLeadBytes;
  }
  stage(link);
  link.eager_limit = std::min(core_.limits.eager_limit, link.largest_payload);
  return true;
}

void Introduction::stage(Link& link) {
  constexpr std::uint64_t kOverhead = kRecordHeadBytes + 2 * kLeadBytes; // claim word or terminator included
  constexpr std::uint64_t kInHead = ir::kHeadBytes - kRecordHeadBytes - kLeadBytes;
  const std::uint64_t inline_bytes = link.queue().capabilities().inline_bytes;
  const std::uint64_t taken_at_once = inline_bytes - std::min(inline_bytes, kOverhead);
  if (link.largest_payload <= taken_at_once) return;
  link.holds_payloads = true;
  // A mirror of the peer's ring: what is put from it is free again when the peer has read that part of its ring. For a
  // shared ring one slot is enough: the next is claimed after the last has left.
  const std::uint64_t bytes = link.writes_shared ? link.grant.slot_bytes : link.grant.bytes;
  link.staging = core_.rings.take_staging(link.queue().translator(), bytes);
  if (link.staging.memory.empty())
    link.largest_payload = std::min(link.largest_payload, std::max(taken_at_once, kInHead));
}

ir::Command Introduction::slot_command(Link& link, SlotVerb verb, bool with_body) {
  ir::Command command = slot_put(verb, with_body ? &link.outgoing : nullptr);
  command.peer = ir::Peer{link.rank};
  command.remote = link.peer_area.at(BootstrapArea::slot_offset(link.peer_slot));
  return command;
}

} // namespace heddle::engine
