// Both ends of a message that comes in fragments through the ring, as where the receiver cannot read it from the sender's memory.
#include "engine/layout_cursor.hpp"
#include "engine/messages/machines.hpp"
#include "engine/messages/receiver.hpp"
#include "engine/messages/sender.hpp"

#include <algorithm>

namespace heddle::engine {

bool Sender::clear_to_send(Connection& connection, const ClearToSend& record) {
  Operation* send = engine_.operations.find(record.sender);
  if (send == nullptr || send->connection != &connection) return true;
  const auto next = step(send->stage, SendInput::clear_to_send);
  if (!next || record.bytes > send->source.bytes()) return false;
  send->stage = *next;
  send->partner = record.receiver;
  send->wanted = record.bytes;
  send->moved = 0;
  send->completion.bytes = record.bytes;
  connection.streams.push_back(*send);
  return true;
}

bool Sender::write_fragments(Operation& send) {
  Connection& connection = *send.connection;
  // Small enough that the receiver copies one out while the next is written.
  const std::uint64_t worthwhile = std::max(connection.largest_payload / 2, std::uint64_t{64});
  const std::uint64_t most = std::min({engine_.limits.chunk_bytes, connection.largest_payload, worthwhile});
  while (send.moved < send.wanted) {
    const std::uint64_t bytes = std::min(most, send.wanted - send.moved);
    // Room is looked for before anything is gathered for it.
    if (!connection.writes_shared && connection.writer.room_for(record_span(bytes)) == RingWriter::Room::none)
      return false;
    if (connection.writes_shared && connection.claim == ClaimState::asked) return false;
    const std::byte* payload = contiguous(send, send.moved, bytes);
    if (payload == nullptr ||
        !record_writer_.write(
            connection,
            {.kind = RecordKind::fragment, .tag = send.partner, .payload = payload, .payload_bytes = bytes}))
      return false;
    send.moved += bytes;
  }
  return true;
}

bool Receiver::fragment(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
  Operation* receive = engine_.operations.find(tag);
  if (receive == nullptr || receive->connection != &connection || receive->stage != Stage::receiving_fragments)
    return false;
  if (lead.bytes > receive->wanted - receive->moved) return false;
  scatter(receive->target, receive->moved, content, lead.bytes);
  receive->moved += lead.bytes;
  if (receive->moved == receive->wanted) {
    if (!advance(*receive, ReceiveInput::all_here)) return false;
    const bool cut = receive->completion.message_bytes > receive->completion.bytes;
    engine_.complete(*receive, cut ? ErrorCode::truncated : ErrorCode::ok);
  }
  return true;
}

} // namespace heddle::engine
