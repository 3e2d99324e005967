// Reading rings: records are taken from exclusive and shared ones, and given to their handlers.
#include "engine/engine.hpp"

#include <algorithm>
#include <cstring>

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
      const Taken taken = receiver_.whole(connection, lead, load_tag(record), record + kRecordHeadBytes);
      if (taken != Taken::yes) [[unlikely]] {
        if (taken == Taken::later) {
          hold_back(connection);
          break;
        }
        lost(connection, "it sent a malformed record");
        return done + 1;
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
    if (connection.connected() && connection.reader.report_due()) record_writer_.report_consumed(connection);
    pump_later(connection);
  }
  return done;
}

Taken Engine::take_slot_record(Connection& connection, const SharedRingReader& reader) {
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
    const Taken taken = take_slot_record(connection, ahead);
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
    const Taken taken = take_slot_record(*connection, reader);
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

} // namespace heddle::engine
