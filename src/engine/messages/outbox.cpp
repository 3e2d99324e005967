#include "engine/messages/outbox.hpp"

namespace heddle::engine {

bool Outbox::write_exclusive(Link& link, const Outgoing& record) {
  const std::uint64_t span = record_span(record.body.size() + record.payload_bytes);
  const RingWriter::Room room = link.writer.room_for(span);
  if (room == RingWriter::Room::none || (room == RingWriter::Room::after_wrap && !write_wrap(link))) return false;
  const bool written = link.direct.exists() && record.body.empty()
                           ? link.queue().try_store(link.direct, link.writer.next_offset(), stored(record))
                           : put(link, record);
  if (written) link.writer.advance(span);
  return written;
}

bool Outbox::put(Link& link, const Outgoing& record) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last | ir::Flags::terminated;
  command.peer = ir::Peer{link.rank};
  command.remote = link.writer.next_place();
  fill(command, record, 0);
  if (link.holds_payloads) hold_payload(link, command, command.remote.offset - link.grant.place.offset);
  if (link.port->announces) announce(command);
  return link.queue().try_post(command);
}

bool Outbox::write_wrap(Link& link) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  command.peer = ir::Peer{link.rank};
  command.remote = link.writer.next_place();
  const std::uint64_t lead = Lead{.kind = RecordKind::wrap}.pack();
  std::memcpy(command.head.data(), &lead, sizeof lead);
  command.head_bytes = sizeof lead;
  command.bytes = 0;
  if (!link.queue().try_post(command)) return false;
  link.writer.wrap();
  return true;
}

bool Outbox::write_shared(Link& link, const Outgoing& record) {
  if (link.claim != ClaimState::held) {
    if (link.claim == ClaimState::none) ask_claim(link);
    return false;
  }
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  command.peer = ir::Peer{link.rank};
  command.remote = link.grant.place.at(link.cursor.slot() * link.grant.slot_bytes);
  const std::uint64_t claim = Claim{.lap = link.cursor.lap(), .owner = core_.rank + 1, .ready = true}.pack();
  std::memcpy(command.head.data(), &claim, sizeof claim);
  fill(command, record, sizeof claim);
  if (link.holds_payloads) hold_payload(link, command, 0);
  if (link.port->announces) announce(command);
  if (!link.queue().try_post(command)) return false;
  link.claim = ClaimState::none;
  link.cursor.advance();
  return true;
}

void Outbox::ask_claim(Link& link) {
  ir::Command command;
  command.operation = ir::Operation::compare_and_swap;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{link.rank};
  command.cookie = make_cookie(CookieKind::claim, link.rank);
  command.remote = link.grant.place.at(link.cursor.slot() * link.grant.slot_bytes);
  command.expected = link.cursor.expected();
  command.operand = Claim{.lap = link.cursor.lap(), .owner = core_.rank + 1}.pack();
  link.claim = ClaimState::asked;
  link.queue().post(command);
}

bool Outbox::claim_answered(Link& link, const ir::Event& event) {
  link.claim = ClaimState::none;
  if (event.status != ir::Status::ok) return false;
  const SharedRingCursor::Outcome outcome = link.cursor.judge(event.value);
  if (outcome == SharedRingCursor::Outcome::claimed) link.claim = ClaimState::held;
  if (link.failed()) return false;
  // When it is full, it is asked again as the next write is tried.
  if (outcome == SharedRingCursor::Outcome::try_next) ask_claim(link);
  return outcome == SharedRingCursor::Outcome::claimed;
}

bool Outbox::break_off(Link& link) {
  const bool written = write(link, {.kind = RecordKind::broken_off});
  return written || link.writes_shared; // there a slot has just been asked for
}

bool Outbox::flush_control(Link& link) {
  while (!link.control.empty()) {
    const ControlRecord& record = link.control.front();
    if (!write(link, {.kind = record.kind, .body = std::span(record.body).first(record.bytes)})) return false;
    link.control.pop_front();
  }
  return true;
}

void Outbox::report_consumed(Link& link) {
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::lead_last;
  command.peer = ir::Peer{link.rank};
  command.remote = link.peer_consumed;
  const std::uint64_t consumed = link.reader.consumed();
  std::memcpy(command.head.data(), &consumed, sizeof consumed);
  command.head_bytes = sizeof consumed;
  command.bytes = 0;
  link.queue().post(command); // never dropped: the writer may be waiting for just this
  link.reader.reported();
}

} // namespace heddle::engine
