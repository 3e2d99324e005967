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
    const Taken taken = handlers_.take(connection, lead, connection.reader.record());
    if (taken == Taken::later) {
      hold_back(connection);
      break;
    }
    if (taken == Taken::malformed) {
      lost(connection, "it sent a malformed record");
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
  return sound ? handlers_.take(connection, lead, reader.record()) : Taken::malformed;
}

void Engine::read_ahead(Connection& connection) {
  SharedRingReader ahead = connection.port->shared.reader;
  for (std::uint64_t slot = 0; slot < kSharedSlots && !connection.failed(); ++slot, ahead.look_further()) {
    const Claim claim = ahead.peek();
    if (ahead.late() != 0) continue; // closed
    if (claim.owner == 0 || !ahead.current(claim)) return;
    if (claim.owner != connection.rank + 1) continue;
    if (!claim.ready) return; // what it wrote later is out of order
    const Taken taken = take_slot(connection, ahead);
    if (taken == Taken::later) return hold_back(connection);
    if (taken == Taken::malformed) return lost(connection, "it sent a malformed record");
    ahead.disown();
  }
}

bool Engine::may_write(std::uint32_t owner) {
  if (owner == 0 || owner > state_.book.size()) return false;
  const Connection* connection = connection_of_command(owner - 1);
  return connection != nullptr && !connection->dead;
}

std::size_t Engine::read_shared_ring(Port& port) {
  std::size_t done = 0;
  std::uint64_t closed = 0;
  SharedRingReader& reader = port.shared.reader;
  reader.mend();
  while (done < kRecordsAtOnce) {
    const Claim claim = reader.peek();
    if (claim.free()) break;
    if (const std::uint32_t late = reader.late(); late != 0) [[unlikely]] {
      if (++closed > kSharedSlots) break; // all are
      if (may_write(late))
        reader.close(late);
      else
        reader.advance();
      continue;
    }
    Connection* connection =
        claim.owner > 0 && claim.owner <= state_.book.size() ? connections_[claim.owner - 1] : nullptr;
    if (!reader.current(claim)) {
      if (connection == nullptr || connection->failed()) reader.restore();
      break;
    }
    if (connection == nullptr || connection->failed()) {
      if (claim.ready || !may_write(claim.owner))
        reader.advance(); // nobody's, or of a peer that is given up on: skipped
      else
        reader.close(claim.owner);
      ++done;
      continue;
    }
    if (!claim.ready) break;
    const Taken taken = take_slot(*connection, reader);
    if (taken == Taken::later) {
      hold_back(*connection);
      break;
    }
    if (taken == Taken::malformed) lost(*connection, "it sent a malformed record");
    reader.advance();
    pump_later(*connection);
    ++done;
  }
  return done;
}

void Engine::enter_record_rows() {
  const auto taken = []<Taken (Receiver::*Take)(Connection&, Lead, std::uint64_t, const std::byte*)>() {
    return [](Receiver& receiver, Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
      return (receiver.*Take)(connection, lead, tag, content);
    };
  };
  const auto set = [this](RecordKind kind, Begins begins, auto take) {
    handlers_.set(kind, record_row(receiver_, begins, take));
  };
  set(RecordKind::eager, Begins::no,
      [](Receiver& receiver, Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
        return receiver.whole(connection, lead, tag, content) ? Taken::yes : Taken::later;
      });
  set(RecordKind::eager_synchronous, Begins::yes, taken.operator()<&Receiver::synchronous>());
  set(RecordKind::unsolicited, Begins::no, taken.operator()<&Receiver::unsolicited>());
  set(RecordKind::request_to_send, Begins::yes, taken.operator()<&Receiver::asked_to_send>());
  set(RecordKind::request_to_send_unsolicited, Begins::no, taken.operator()<&Receiver::asked_to_send_unsolicited>());
  set(RecordKind::fragment, Begins::no,
      [](Receiver& receiver, Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
        return receiver.fragment(connection, lead, tag, content) ? Taken::yes : Taken::malformed;
      });
  handlers_.set(RecordKind::finish,
                body_row<Finish>(sender_, Begins::no, [](Sender& sender, Connection& connection, const Finish& body) {
                  sender.finished(connection, body);
                  return true;
                }));
  handlers_.set(
      RecordKind::clear_to_send,
      body_row<ClearToSend>(sender_, Begins::no, [](Sender& sender, Connection& connection, const ClearToSend& body) {
        return sender.clear_to_send(connection, body);
      }));
  handlers_.set(RecordKind::assist,
                body_row<AssistRequest>(assistant_, Begins::yes,
                                        [](Assistant& assistant, Connection& connection, const AssistRequest& body) {
                                          assistant.begin(connection, body);
                                          return true;
                                        }));
  handlers_.set(
      RecordKind::assist_done,
      body_row<AssistDone>(fetcher_, Begins::no, [](Fetcher& fetcher, Connection& connection, const AssistDone& body) {
        return fetcher.assist_done(connection, body);
      }));
  handlers_.set(
      RecordKind::broken_off,
      record_row(*this, Begins::no, [](Engine& engine, Connection& connection, Lead, std::uint64_t, const std::byte*) {
        engine.lost(connection, "it has given up the connection");
        return Taken::yes;
      }));
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
  if (event.peer == ir::kByUid) {
    process_gone(event.value, static_cast<std::uint32_t>(event.cookie),
                 event.kind == ir::EventKind::peer_left ? End::left : End::died);
    return true;
  }
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
  if (connection == nullptr) return;
  if (connection->failed()) { // a slot of a shared ring may have waited for its last record
    for (const auto& port : ports_)
      if (port->shared.reader.exists()) read_shared_ring(*port);
    return;
  }
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
  if (ir::is_group(event.peer)) return handlers_.ended(nullptr, event);
  const auto rank = static_cast<std::uint32_t>(event.peer);
  Connection* connection = connection_of_command(rank);
  // First, so that what the command was for ends with what has become of the peer.
  if (event.status == ir::Status::peer_lost && !connection->failed()) peer_failed(rank);
  if (event.status == ir::Status::peer_left && !connection->failed()) peer_left(rank);
  connection = connection_of_command(rank); // it may have been let go of
  const bool of_use = handlers_.ended(connection, event);
  pump_later(*connection_of_command(rank));
  return of_use;
}

void Engine::enter_command_rows() {
  handlers_.set(CookieKind::lock,
                command_row(*this, [](Engine& engine, Connection* connection, const ir::Event& event) {
                  if (connection->nobody()) return true;
                  engine.connector_.lock_answered(*connection, event);
                  if (connection->parting && !connection->introduced && !connection->failed())
                    engine.let_go(*connection);
                  return event.status != ir::Status::ok || event.value == 0;
                }));
  handlers_.set(CookieKind::directory,
                command_row(grant_by_read_, [](GrantByRead& granting, Connection* connection, const ir::Event& event) {
                  granting.directory_read(*connection, event);
                  return true;
                }));
  handlers_.set(CookieKind::claim,
                command_row(*this, [](Engine& engine, Connection* connection, const ir::Event& event) {
                  return connection->nobody() || engine.claim_ended(*connection, event);
                }));
  handlers_.set(CookieKind::read, command_row(fetcher_, [](Fetcher& fetcher, Connection*, const ir::Event& event) {
                  fetcher.read_ended(event);
                  return true;
                }));
  handlers_.set(CookieKind::assist_claim,
                command_row(assistant_, [](Assistant& assistant, Connection*, const ir::Event& event) {
                  assistant.claim_ended(event);
                  return true;
                }));
  handlers_.set(CookieKind::assist_copy,
                command_row(assistant_, [](Assistant& assistant, Connection*, const ir::Event& event) {
                  assistant.copy_ended(event);
                  return true;
                }));
}

bool Engine::claim_ended(Connection& connection, const ir::Event& event) {
  bool in_vain = false;
  std::size_t written = 0; // the event counts as something done in any case
  if (outbox_.claim_answered(connection, event))
    sender_.pump(connection, written);
  else if (event.status == ir::Status::ok && connection.failed())
    tell_later(connection); // for which it was asked
  else
    in_vain = event.status == ir::Status::ok && connection.claim == ClaimState::none;
  if (event.status == ir::Status::refused && !connection.failed()) {
    connector_.broken(connection, "the ring it granted cannot be reached"); // not even that can be written there
  }
  return !in_vain;
}

} // namespace heddle::engine
