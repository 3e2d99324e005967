// Writing records to a peer's ring, of either type. The only place that knows how a record becomes a command.
#pragma once

#include "base/copy.hpp"
#include "engine/core.hpp"
#include "engine/link.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace heddle::engine {

// One record to write: the body goes ahead of the payload, inside the command.
struct Outgoing {
  RecordKind kind{};
  Channel channel{};
  std::uint64_t tag = 0;
  std::span<const std::byte> body;
  const std::byte* payload = nullptr;
  std::uint64_t payload_bytes = 0;
};

class Outbox {
 public:
  explicit Outbox(Core& core) : core_(core) {}

  // The quick way of a whole message: stores its record if there is direct access to the peer's ring, and room right here.
  // False says only that write is to be asked.
  [[nodiscard, gnu::always_inline]] static bool store_message(Link& link, Channel channel, std::uint64_t tag,
                                                              std::span<const std::byte> data) {
    const std::uint64_t span = record_span(data.size());
    if (!link.direct.exists() || !link.writer.has_room_here(span)) [[unlikely]]
      return false;
    const Outgoing record{.kind = RecordKind::eager,
                          .channel = channel,
                          .tag = tag,
                          .body = {},
                          .payload = data.data(),
                          .payload_bytes = data.size()};
    if (!link.queue().try_store(link.direct, link.writer.next_offset(), stored(record))) [[unlikely]]
      return false;
    link.writer.advance(span);
    return true;
  }

  // Writes the record if there is room now. The payload's memory is free again when this returns true.
  // On a shared ring a false may also mean that a slot has just been asked for.
  [[nodiscard]] bool write(Link& link, const Outgoing& record) {
    return link.writes_shared ? write_shared(link, record) : write_exclusive(link, record);
  }

  // Writes a control record now or as soon as there is room, in order with other control records.
  template <typename Body>
  void write_control(Link& link, RecordKind kind, const Body& body) {
    static_assert(sizeof(Body) <= sizeof(ControlRecord::body));
    const auto bytes = std::as_bytes(std::span(&body, 1));
    if (link.connected() && link.control.empty() && write(link, {.kind = kind, .body = bytes})) return;
    ControlRecord waiting{.kind = kind, .bytes = sizeof(Body)};
    std::memcpy(waiting.body.data(), bytes.data(), sizeof(Body));
    link.control.push_back(waiting);
  }
  // Tries the control records that wait. True when none is left.
  bool flush_control(Link& link);

  // Tells the writer of the ring read here how far it was read.
  void report_consumed(Link& link);

  // The answer to the compare-and-swap on a slot of the peer's shared ring. True when the slot is now held.
  bool claim_answered(Link& link, const ir::Event& event);

  // The link has failed while its peer may live: tells the peer. True when that is done or under way; false: the ring is full. On
  // a shared ring it also frees a slot that is held, which would block it for all others.
  bool break_off(Link& link);

 private:
  static std::uint64_t lead_of(const Outgoing& record) {
    return Lead{.kind = record.kind,
                .channel = record.channel,
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
  bool write_exclusive(Link& link, const Outgoing& record);
  static bool put(Link& link, const Outgoing& record);
  // Sees to it that the payload may change as soon as the command is taken, where the network does not: it goes into the
  // command's head, or is put from memory that stays as it is until the peer has read the record.
  static void hold_payload(Link& link, ir::Command& command, std::uint64_t at) {
    if (command.bytes == 0) return;
    if (command.head_bytes + command.bytes <= ir::kHeadBytes) {
      std::memcpy(command.head.data() + command.head_bytes, command.local, command.bytes);
      command.head_bytes += static_cast<std::uint32_t>(command.bytes);
      command.bytes = 0;
    } else if (!link.staging.memory.empty()) {
      std::byte* staged = link.staging.memory.data() + at + command.head_bytes;
      base::copy_bytes(staged, command.local, command.bytes);
      command.local = staged;
    }
  }
  static void announce(ir::Command& command) {
    command.flags = command.flags | ir::Flags::announced;
    command.operand = kRecordNotice;
  }
  bool write_wrap(Link& link);
  bool write_shared(Link& link, const Outgoing& record);
  void ask_claim(Link& link);

  Core& core_;
};

} // namespace heddle::engine
