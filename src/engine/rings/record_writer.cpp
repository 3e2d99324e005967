#include "engine/rings/record_writer.hpp"

#include "engine/cookie.hpp"

namespace heddle::engine {

bool RecordWriter::write_exclusive(Connection& connection, const Outgoing& record) {
  const std::uint64_t span = record_span(record.body.size() + record.payload_bytes);
  const RingWriter::Room room = connection.writer.room_for(span);
  if (room == RingWriter::Room::none || (room == RingWriter::Room::after_wrap && !write_wrap(connection))) return false;
  const bool written =
      connection.direct.exists() && record.body.empty()
          ? connection.queue().try_store(connection.direct, connection.writer.next_offset(), stored(record))
          : put(connection, record);
  if (written) connection.writer.advance(span);
  return written;
}

bool RecordWriter::put(Connection& connection, const Outgoing& record) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last | ir::Flags::terminated;
  command.peer = ir::Peer{connection.rank};
  command.remote = connection.writer.next_place();
  fill(command, record, 0);
  if (connection.holds_payloads)
    hold_payload(connection, command, command.remote.offset - connection.grant.place.offset);
  if (connection.port->announces) announce(command);
  return connection.queue().try_post(command);
}

bool RecordWriter::write_wrap(Connection& connection) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  command.peer = ir::Peer{connection.rank};
  command.remote = connection.writer.next_place();
  const std::uint64_t lead = Lead{.kind = RecordKind::wrap}.pack();
  std::memcpy(command.head.data(), &lead, sizeof lead);
  command.head_bytes = sizeof lead;
  command.bytes = 0;
  if (!connection.queue().try_post(command)) return false;
  connection.writer.wrap();
  return true;
}

bool RecordWriter::write_shared(Connection& connection, const Outgoing& record) {
  if (connection.claim != ClaimState::held) {
    if (connection.claim == ClaimState::none) ask_claim(connection);
    return false;
  }
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  command.peer = ir::Peer{connection.rank};
  command.remote = connection.grant.place.at(connection.cursor.slot() * connection.grant.slot_bytes);
  const std::uint64_t claim =
      Claim{.lap = connection.cursor.lap(), .owner = connection.number_there + 1, .ready = true}.pack();
  std::memcpy(command.head.data(), &claim, sizeof claim);
  fill(command, record, sizeof claim);
  if (connection.holds_payloads) hold_payload(connection, command, 0);
  if (connection.port->announces) announce(command);
  if (!connection.queue().try_post(command)) return false;
  connection.claim = ClaimState::none;
  connection.cursor.advance();
  return true;
}

void RecordWriter::ask_claim(Connection& connection) {
  ir::Command command;
  command.operation = ir::Operation::compare_and_swap;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{connection.rank};
  command.cookie = make_cookie(CookieKind::claim, connection.rank);
  command.remote = connection.grant.place.at(connection.cursor.slot() * connection.grant.slot_bytes);
  command.expected = connection.cursor.expected();
  command.operand = Claim{.lap = connection.cursor.lap(), .owner = connection.number_there + 1}.pack();
  connection.claim = ClaimState::asked;
  connection.queue().post(command);
}

bool RecordWriter::claim_answered(Connection& connection, const ir::Event& event) {
  connection.claim = ClaimState::none;
  if (event.status != ir::Status::ok) return false;
  const SharedRingCursor::Outcome outcome = connection.cursor.judge(event.value);
  if (outcome == SharedRingCursor::Outcome::claimed) connection.claim = ClaimState::held;
  if (connection.failed()) return false;
  // When it is full, it is asked again as the next write is tried.
  if (outcome == SharedRingCursor::Outcome::try_next) ask_claim(connection);
  return outcome == SharedRingCursor::Outcome::claimed;
}

bool RecordWriter::break_off(Connection& connection) {
  const bool written = write(connection, {.kind = RecordKind::broken_off});
  return written || connection.writes_shared; // there a slot has just been asked for
}

bool RecordWriter::flush_control(Connection& connection) {
  while (!connection.control.empty()) {
    const ControlRecord& record = connection.control.front();
    if (!write(connection, {.kind = record.kind, .body = std::span(record.body).first(record.bytes)})) return false;
    connection.control.pop_front();
  }
  return true;
}

void RecordWriter::report_consumed(Connection& connection) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  command.peer = ir::Peer{connection.rank};
  command.remote = connection.peer_consumed;
  const std::uint64_t consumed = connection.reader.consumed();
  std::memcpy(command.head.data(), &consumed, sizeof consumed);
  command.head_bytes = sizeof consumed;
  command.bytes = 0;
  connection.queue().post(command); // never dropped: the writer may be waiting for just this
  connection.reader.reported();
}

} // namespace heddle::engine
