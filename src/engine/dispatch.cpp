// What comes in: the records of the rings and the events of the translators, each given to whom it concerns.
#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace heddle::engine {

namespace {

// Records taken from one ring before the others get their turn.
constexpr std::size_t kRecordsAtOnce = 64;

// Where a message has followed another, a third is likely to be there: its cache line is asked for. Not after the first,
// since asking for a line that is about to be written would take it from its writer.
constexpr std::size_t kReadAhead = 64;

// A message of more than two lines has all of them asked for before its receive is looked for, so that they travel meanwhile.
// It saves a tenth of the latency at 1 KiB; longer ones are left to the copying, which has enough lines under way.
constexpr std::uint64_t kFewLines = 128;
constexpr std::uint64_t kManyLines = 2048;
void prefetch_content(const std::byte* record, std::uint64_t bytes) {
  constexpr std::uint64_t kLine = 64;
  for (std::uint64_t at = kLine; at < std::min(bytes, kManyLines); at += kLine) __builtin_prefetch(record + at);
}

std::uint64_t load_tag(const std::byte* record) {
  std::uint64_t tag = 0;
  std::memcpy(&tag, record + kLeadBytes, sizeof tag);
  return tag;
}

// Records that more comes of than an end.
bool begins_something(RecordKind kind) {
  switch (kind) {
    case RecordKind::eager_synchronous:
    case RecordKind::request_to_send:
    case RecordKind::assist:
    case RecordKind::area_ask:
    case RecordKind::area_scatter:
    case RecordKind::area_relay: return true;
    case RecordKind::none:
    case RecordKind::wrap:
    case RecordKind::eager:
    case RecordKind::unsolicited:
    case RecordKind::request_to_send_unsolicited:
    case RecordKind::finish:
    case RecordKind::clear_to_send:
    case RecordKind::fragment:
    case RecordKind::assist_done:
    case RecordKind::area_grant:
    case RecordKind::area_revoked:
    case RecordKind::area_signal:
    case RecordKind::area_scattered:
    case RecordKind::area_relayed:
    case RecordKind::lock_passed:
    case RecordKind::broken_off: return false;
  }
  return false;
}

// Reads a control record's body; false when its size is wrong.
template <typename Body>
bool load_body(Body& body, Lead lead, const std::byte* content) {
  if (lead.bytes != sizeof body) return false;
  std::memcpy(&body, content, sizeof body);
  return true;
}

} // namespace

std::size_t Engine::read_ring(Connection& connection) {
  std::size_t done = 0;
  while (done < kRecordsAtOnce) {
    const std::uint64_t word = connection.reader.peek();
    if (word == 0) break;
    const Lead lead = Lead::unpack(word);
    const std::uint64_t span = record_span(lead.bytes);
    if (Lead::is_message(word) && span + kLeadBytes <= connection.reader.to_end()) [[likely]] {
      const std::byte* record = connection.reader.record();
      if (lead.bytes > kFewLines) [[unlikely]]
        prefetch_content(record, lead.bytes);
      else if (done > 0)
        __builtin_prefetch(record + kReadAhead);
      if (!receiver_.whole(connection, lead, load_tag(record), record + kRecordHeadBytes)) [[unlikely]] {
        hold_back(connection);
        break;
      }
      connection.reader.advance(span);
      // After a single message the next is not looked for across a cache line: it is not there yet, and the look would
      // keep the caller waiting for the line.
      if (++done == 1 && connection.reader.at_line()) break;
      continue;
    }
    if (!Lead::plausible(word) || (lead.kind != RecordKind::wrap && span + kLeadBytes > connection.reader.to_end())) {
      lost(connection, "its ring holds no valid record");
      return done + 1;
    }
    if (lead.kind == RecordKind::wrap) {
      connection.reader.wrap();
      continue;
    }
    const Taken taken = dispatch(connection, lead, connection.reader.record());
    if (taken == Taken::later) {
      hold_back(connection);
      break;
    }
    if (taken == Taken::senseless) {
      lost(connection, "it sent a record that makes no sense");
      return done + 1;
    }
    if (connection.failed()) [[unlikely]]
      return done + 1;
    connection.reader.advance(span);
    ++done;
  }
  if (done > 0) {
    if (connection.connected() && connection.reader.report_due()) outbox_.report_consumed(connection);
    pump_later(connection);
  }
  return done;
}

Taken Engine::take_slot(Connection& connection, const SharedRingReader& reader) {
  std::uint64_t word = 0;
  std::memcpy(&word, reader.record(), sizeof word);
  const Lead lead = Lead::unpack(word);
  const bool sound =
      Lead::plausible(word) && lead.kind != RecordKind::wrap && kRecordHeadBytes + lead.bytes <= reader.record_bytes();
  return sound ? dispatch(connection, lead, reader.record()) : Taken::senseless;
}

void Engine::read_ahead(Connection& connection) {
  SharedRingReader ahead = connection.port->shared.reader;
  for (std::uint64_t slot = 0; slot < kSharedSlots && !connection.failed(); ++slot, ahead.look_further()) {
    const Claim claim = ahead.peek();
    if (claim.owner == 0 || !ahead.current(claim)) return;
    if (claim.owner != connection.rank + 1) continue;
    if (!claim.ready) return; // what it wrote later is out of order
    const Taken taken = take_slot(connection, ahead);
    if (taken == Taken::later) return hold_back(connection);
    if (taken == Taken::senseless) return lost(connection, "it sent a record that makes no sense");
    ahead.disown();
  }
}

std::size_t Engine::read_shared_ring(Port& port) {
  std::size_t done = 0;
  SharedRingReader& reader = port.shared.reader;
  while (done < kRecordsAtOnce) {
    const Claim claim = reader.peek();
    if (claim.owner == 0) break;
    Connection* connection = claim.owner <= state_.size ? connections_[claim.owner - 1] : nullptr;
    if (!reader.current(claim)) {
      if (connection == nullptr || connection->failed()) reader.restore();
      break;
    }
    if (connection == nullptr || connection->failed()) {
      reader.advance(); // nobody's, or a dead peer's: skipped
      ++done;
      continue;
    }
    if (!claim.ready) break;
    const Taken taken = take_slot(*connection, reader);
    if (taken == Taken::later) {
      hold_back(*connection);
      break;
    }
    if (taken == Taken::senseless) lost(*connection, "it sent a record that makes no sense");
    reader.advance();
    pump_later(*connection);
    ++done;
  }
  return done;
}

// Where memory is short the record stays in its ring: what it does, it does after it has all that it needs.
Taken Engine::dispatch(Connection& connection, Lead lead, const std::byte* record) try {
  if (begins_something(lead.kind) && !base::Reserve::may_begin()) return Taken::later;
  const auto sound = [](bool makes_sense) { return makes_sense ? Taken::yes : Taken::senseless; };
  const std::byte* content = record + kRecordHeadBytes;
  const std::uint64_t tag = load_tag(record);
  switch (lead.kind) {
    case RecordKind::eager: return receiver_.whole(connection, lead, tag, content) ? Taken::yes : Taken::later;
    case RecordKind::eager_synchronous: return receiver_.synchronous(connection, lead, tag, content);
    case RecordKind::unsolicited: return receiver_.unsolicited(connection, lead, tag, content);
    case RecordKind::request_to_send: return receiver_.asked_to_send(connection, lead, tag, content);
    case RecordKind::request_to_send_unsolicited:
      return receiver_.asked_to_send_unsolicited(connection, lead, tag, content);
    case RecordKind::fragment: return sound(receiver_.fragment(connection, lead, tag, content));
    case RecordKind::finish:
    case RecordKind::clear_to_send:
    case RecordKind::assist:
    case RecordKind::assist_done: return sound(dispatch_control(connection, lead, content));
    case RecordKind::area_ask:
    case RecordKind::area_grant:
    case RecordKind::area_revoked:
    case RecordKind::area_signal:
    case RecordKind::area_scatter:
    case RecordKind::area_scattered:
    case RecordKind::area_relay:
    case RecordKind::area_relayed:
    case RecordKind::lock_passed: return sound(one_sided_.record(connection, lead, content));
    case RecordKind::broken_off: lost(connection, "it has given it up"); return Taken::yes;
    case RecordKind::none:
    case RecordKind::wrap: return Taken::senseless;
  }
  return Taken::senseless;
} catch (const std::bad_alloc&) {
  return Taken::later;
}

bool Engine::dispatch_control(Connection& connection, Lead lead, const std::byte* content) {
  if (lead.kind == RecordKind::finish) {
    Finish body;
    if (!load_body(body, lead, content)) return false;
    sender_.finished(connection, body);
    return true;
  }
  if (lead.kind == RecordKind::clear_to_send) {
    ClearToSend body;
    return load_body(body, lead, content) && sender_.clear_to_send(connection, body);
  }
  if (lead.kind == RecordKind::assist) {
    AssistRequest body;
    if (!load_body(body, lead, content)) return false;
    assistant_.begin(connection, body);
    return true;
  }
  AssistDone body;
  return load_body(body, lead, content) && fetcher_.assist_done(connection, body);
}

std::size_t Engine::poll_events(Port& port) {
  port.queue->flush();
  std::array<ir::Event, 16> events;
  const std::size_t count = port.queue->poll(events);
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) done += dispatch_event(events[i]) ? 1 : 0;
  return done;
}

bool Engine::dispatch_event(const ir::Event& event) {
  if (event.kind == ir::EventKind::peer_failed) {
    peer_failed(static_cast<std::uint32_t>(event.peer));
    return true;
  }
  if (event.kind == ir::EventKind::peer_left) {
    peer_left(static_cast<std::uint32_t>(event.peer));
    return true;
  }
  if (event.kind == ir::EventKind::completed) return dispatch_completed(event);
  dispatch_announced(event);
  return true;
}

void Engine::dispatch_announced(const ir::Event& event) {
  Connection* connection = connection_to(static_cast<std::uint32_t>(event.peer));
  if (connection == nullptr || connection->failed()) return;
  if (event.kind == ir::EventKind::remote_read)
    grant_by_read_.asked(*connection, event.value);
  else if (event.value != kRecordWritten)
    grant_by_read_.answered(*connection, event.value);
  else if (connection->reader.exists())
    read_ring(*connection);
  else if (connection->port->shared.reader.exists())
    read_shared_ring(*connection->port);
  pump_later(*connection);
}

bool Engine::dispatch_completed(const ir::Event& event) {
  if (ir::is_group(event.peer)) {
    one_sided_.group_put_ended(event);
    return true;
  }
  bool in_vain = false;
  std::size_t written = 0; // the event counts as something done in any case
  Connection* connection = connections_[static_cast<std::uint32_t>(event.peer)];
  // First, so that what the command was for ends with what has become of the peer.
  if (event.status == ir::Status::peer_lost && !connection->failed()) peer_failed(connection->rank);
  if (event.status == ir::Status::peer_left && !connection->failed()) peer_left(connection->rank);
  switch (cookie_kind(event.cookie)) {
    case CookieKind::lock:
      connector_.lock_answered(*connection, event);
      in_vain = event.status == ir::Status::ok && event.value != 0;
      break;
    case CookieKind::directory: grant_by_read_.directory_read(*connection, event); break;
    case CookieKind::claim:
      if (outbox_.claim_answered(*connection, event))
        sender_.pump(*connection, written);
      else if (event.status == ir::Status::ok && connection->failed())
        tell_later(*connection); // for which it was asked
      else
        in_vain = event.status == ir::Status::ok && connection->claim == ClaimState::none;
      if (event.status == ir::Status::refused && !connection->failed()) {
        connection->state = connection::State::failed; // nothing can be written there, not even that
        lost(*connection, "the ring it granted cannot be reached");
      }
      break;
    case CookieKind::read: fetcher_.read_ended(event); break;
    case CookieKind::assist_claim: assistant_.claim_ended(event); break;
    case CookieKind::assist_copy: assistant_.copy_ended(event); break;
    case CookieKind::transfer: one_sided_.transfer_ended(event); break;
    case CookieKind::lock_step: one_sided_.lock_step_ended(event); break;
    case CookieKind::prepared:
      if (command_owner_ != nullptr) command_owner_->command_ended(cookie_number(event.cookie), event.status);
      break;
  }
  pump_later(*connection);
  return !in_vain;
}

} // namespace heddle::engine
