#include "engine/connection/ring_handover.hpp"

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

std::int32_t RingHandover::take_slot(Port& port) {
  const auto found = std::find(port.slot_taken.begin(), port.slot_taken.end(), false);
  if (found == port.slot_taken.end()) return -1;
  *found = true;
  const auto index = static_cast<std::int32_t>(found - port.slot_taken.begin());
  clear_slot(port.area->slots[index]);
  return index;
}

void RingHandover::free_slot(Port& port, std::int32_t& slot) {
  if (slot >= 0) port.slot_taken[static_cast<std::size_t>(slot)] = false;
  slot = -1;
}

bool RingHandover::prepare_word(Connection& connection) {
  if (!connection.consumed_word.memory.empty()) return true;
  auto word = connection.queue().translator().allocate(sizeof(std::uint64_t));
  if (word) connection.consumed_word = *word;
  return word.has_value();
}

bool RingHandover::prepare(Connection& connection) {
  if (!prepare_word(connection)) return false;
  if (connection.ring.grant.type == RingType::refused)
    connection.ring = engine_.rings.take(connection.queue().translator(), connection.port->shared);
  if (connection.ring.grant.type == RingType::refused) return false;
  if (connection.ring.grant.type == RingType::exclusive)
    connection.reader = RingReader(connection.ring.memory.memory.data(), connection.ring.grant.bytes);
  ir::Endpoints* endpoints = connection.queue().facets().endpoints;
  auto endpoint = endpoints != nullptr ? endpoints->prepare_endpoint(ir::Peer{connection.rank}) : ir::Endpoint{};
  if (!endpoint) return false;
  connection.outgoing = {.slot = static_cast<std::uint32_t>(std::max(connection.slot, 0)),
                         .number = connection.rank,
                         .sender = engine_.book.uid(engine_.rank),
                         .endpoint = *endpoint,
                         .grant = connection.ring.grant,
                         .consumed = connection.consumed_word.place};
  return true;
}

bool RingHandover::hear(Connection& connection, SlotBody& told) const {
  told = read_body(connection.port->area->slots[connection.slot]);
  if (told.sender != engine_.book.uid(connection.rank) || told.slot >= kCommandSlots || !plausible(told.grant))
    return false;
  connection.peer_slot = told.slot;
  return true;
}

bool RingHandover::adopt(Connection& connection, const SlotBody& told) {
  ir::Endpoints* endpoints = connection.queue().facets().endpoints;
  if (endpoints != nullptr && !endpoints->connect_endpoint(ir::Peer{connection.rank}, told.endpoint)) return false;
  connection.grant = told.grant;
  connection.number_there = told.number;
  connection.peer_consumed = told.consumed;
  connection.writes_shared = told.grant.type == RingType::shared;
  if (connection.writes_shared) {
    connection.cursor = SharedRingCursor(told.grant.bytes / told.grant.slot_bytes);
    connection.largest_payload = shared_payload(told.grant.slot_bytes);
  } else {
    auto* word = reinterpret_cast<std::atomic<std::uint64_t>*>(connection.consumed_word.memory.data());
    connection.writer = RingWriter(told.grant.place, told.grant.bytes, word);
    connection.largest_payload = largest_record(told.grant.bytes) - kRecordHeadBytes - kLeadBytes;
  }
  stage(connection);
  connection.eager_limit = std::min(engine_.limits.eager_limit, connection.largest_payload);
  return true;
}

void RingHandover::stage(Connection& connection) {
  constexpr std::uint64_t kOverhead = kRecordHeadBytes + 2 * kLeadBytes; // claim word or terminator included
  constexpr std::uint64_t kInHead = ir::kHeadBytes - kRecordHeadBytes - kLeadBytes;
  const std::uint64_t inline_bytes = connection.queue().capabilities().inline_bytes;
  const std::uint64_t taken_at_once = inline_bytes - std::min(inline_bytes, kOverhead);
  if (connection.largest_payload <= taken_at_once) return;
  connection.holds_payloads = true;
  // A mirror of the peer's ring: what is put from it is free again when the peer has read that part of its ring. For a
  // shared ring one slot is enough: the next is claimed after the last has left.
  const std::uint64_t bytes = connection.writes_shared ? connection.grant.slot_bytes : connection.grant.bytes;
  connection.staging = engine_.rings.take_staging(connection.queue().translator(), bytes);
  if (connection.staging.memory.empty())
    connection.largest_payload = std::min(connection.largest_payload, std::max(taken_at_once, kInHead));
}

ir::Command RingHandover::slot_command(Connection& connection, SlotVerb verb, bool with_body) const {
  ir::Command command = slot_put(verb, engine_.book.uid(engine_.rank), with_body ? &connection.outgoing : nullptr);
  command.peer = ir::Peer{connection.rank};
  command.remote = connection.peer_area.at(BootstrapArea::slot_offset(connection.peer_slot));
  return command;
}

} // namespace heddle::engine
