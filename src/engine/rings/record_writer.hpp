// Writing records to a peer's ring, of either type. The only place that knows how a record becomes a command,
// or stores in direct memory.
#pragma once

#include "base/copy.hpp"
#include "engine/connection/connection.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace heddle::engine {

// One record to write: the body goes ahead of the payload, inside the command.
struct Outgoing {
  RecordKind kind{};
  Channel channel{};
  bool has_data = false; // the body begins with a data word, or the payload is one
  std::uint64_t tag = 0;
  std::span<const std::byte> body;
  const std::byte* payload = nullptr;
  std::uint64_t payload_bytes = 0;
};

class RecordWriter {
 public:
  // The quick way of a whole message: stores its record if there is direct access to the peer's ring, and room right here.
  // False says only that write is to be asked.
  [[nodiscard, gnu::always_inline]] static bool store_message(Connection& connection, Channel channel,
                                                              std::uint64_t tag, std::span<const std::byte> data) {
    const std::uint64_t span = record_span(data.size());
    if (!connection.direct.exists() || !connection.writer.has_room_here(span)) [[unlikely]]
      return false;
    const Outgoing record{.kind = RecordKind::eager,
                          .channel = channel,
                          .tag = tag,
                          .body = {},
                          .payload = data.data(),
                          .payload_bytes = data.size()};
    if (!connection.queue().try_store(connection.direct, connection.writer.next_offset(), stored(record))) [[unlikely]]
      return false;
    connection.writer.advance(span);
    return true;
  }
  // The same for one with a data word.
  [[nodiscard]] static bool store_message(Connection& connection, Channel channel, std::uint64_t tag,
                                          std::uint64_t word, std::span<const std::byte> data) {
    const std::uint64_t span = record_span(kDataWordBytes + data.size());
    if (!connection.direct.exists() || !connection.writer.has_room_here(span)) [[unlikely]]
      return false;
    const Lead lead{.kind = RecordKind::eager,
                    .channel = channel,
                    .has_data = true,
                    .bytes = static_cast<std::uint32_t>(kDataWordBytes + data.size())};
    const ir::StoredRecord record{.lead = lead.pack(),
                                  .second = tag,
                                  .has_third = true,
                                  .third = word,
                                  .local = data.data(),
                                  .bytes = data.size()};
    if (!connection.queue().try_store(connection.direct, connection.writer.next_offset(), record)) [[unlikely]]
      return false;
    connection.writer.advance(span);
    return true;
  }

  // Writes the record if there is room now. The payload's memory is free again when this returns true.
  // On a shared ring a false may also mean that a slot has just been asked for.
  [[nodiscard]] bool write(Connection& connection, const Outgoing& record) {
    return connection.writes_shared ? write_shared(connection, record) : write_exclusive(connection, record);
  }

  // Writes a control record now or as soon as there is room, in order with other control records.
  template <typename Body>
  void write_control(Connection& connection, RecordKind kind, const Body& body) {
    static_assert(sizeof(Body) <= sizeof(ControlRecord::body));
    const auto bytes = std::as_bytes(std::span(&body, 1));
    if (connection.connected() && connection.control.empty() && write(connection, {.kind = kind, .body = bytes}))
      return;
    ControlRecord waiting{.kind = kind, .bytes = sizeof(Body)};
    std::memcpy(waiting.body.data(), bytes.data(), sizeof(Body));
    connection.control.push_back(waiting);
  }
  // Tries the control records that wait. True when none is left.
  bool flush_control(Connection& connection);

  // Tells the writer of the ring read here how far it was read.
  void report_consumed(Connection& connection);

  // The answer to the compare-and-swap on a slot of the peer's shared ring. True when the slot is now held.
  bool claim_answered(Connection& connection, const ir::Event& event);

  // The connection has failed while its peer may live: tells the peer. True when that is done or under way; false: the ring is full. On
  // a shared ring it also frees a slot that is held, which would block it for all others.
  bool break_off(Connection& connection);

 private:
  static std::uint64_t lead_of(const Outgoing& record) {
    return Lead{.kind = record.kind,
                .channel = record.channel,
                .has_data = record.has_data,
                .bytes = static_cast<std::uint32_t>(record.body.size() + record.payload_bytes)}
        .pack();
  }
  static ir::StoredRecord stored(const Outgoing& record) {
    return {.lead = lead_of(record), .second = record.tag, .local = record.payload, .bytes = record.payload_bytes};
  }
  // Lays lead word, tag and body into the command's head, from `at` on, and points it to the payload.
  static void fill(ir::Command& command, const Outgoing& record, std::size_t at) {
    const std::uint64_t lead = lead_of(record);
    std::memcpy(command.head.data() + at, &lead, sizeof lead);
    std::memcpy(command.head.data() + at + kLeadBytes, &record.tag, sizeof record.tag);
    if (!record.body.empty())
      std::memcpy(command.head.data() + at + kRecordHeadBytes, record.body.data(), record.body.size());
    command.head_bytes = static_cast<std::uint32_t>(at + kRecordHeadBytes + record.body.size());
    command.local = const_cast<std::byte*>(record.payload); // a put only reads it
    command.bytes = record.payload_bytes;
  }
  bool write_exclusive(Connection& connection, const Outgoing& record);
  static bool put(Connection& connection, const Outgoing& record);
  // Sees to it that the payload may change as soon as the command is taken, where the network does not: it goes into the
  // command's head, or is put from memory that stays as it is until the peer has read the record.
  static void hold_payload(Connection& connection, ir::Command& command, std::uint64_t at) {
    if (command.bytes == 0) return;
    if (command.head_bytes + command.bytes <= ir::kHeadBytes) {
      std::memcpy(command.head.data() + command.head_bytes, command.local, command.bytes);
      command.head_bytes += static_cast<std::uint32_t>(command.bytes);
      command.bytes = 0;
    } else if (!connection.staging.memory.empty()) {
      std::byte* staged = connection.staging.memory.data() + at + command.head_bytes;
      base::copy_bytes(staged, command.local, command.bytes);
      command.local = staged;
    }
  }
  static void announce(ir::Command& command) {
    command.flags = command.flags | ir::Flags::announced;
    command.operand = kRecordWritten;
  }
  bool write_wrap(Connection& connection);
  bool write_shared(Connection& connection, const Outgoing& record);
  void ask_claim(Connection& connection);
};

} // namespace heddle::engine
