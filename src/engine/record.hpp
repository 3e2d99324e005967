// The format of what travels through a ring: a lead word, a tag, then the payload or the body of a control record.
// The lead word becomes visible last (ir::Flags::lead_last), so a reader that sees it sees the whole record.
#pragma once

#include "ir/command.hpp"

#include <heddle/heddle.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace heddle::engine {

enum class RecordKind : std::uint8_t {
  none,              // nothing written yet: a lead word of 0
  wrap,              // the next record is at the start of the ring
  eager,             // payload: a whole tagged message
  eager_synchronous, // body SynchronousHead, then the payload: the sender wants to know of the match
  unsolicited,       // payload: a whole unsolicited message; tag: its label
  request_to_send,   // body RequestToSend: a large tagged message waits at the sender
  request_to_send_unsolicited,
  finish,        // body Finish: the receiver has matched (synchronous) or fetched (large) the message
  clear_to_send, // body ClearToSend: the receiver wants the message as fragments
  fragment,      // tag: the receiver's operation; payload: the next bytes of the message
  assist,        // body AssistRequest: the receiver asks the sender to copy a share of the message
  assist_done,   // body AssistDone
  area_ask,      // from here to lock_passed the one-sided room's: bodies in onesided/records.hpp
  area_grant,
  area_revoked,
  area_signal,
  area_scatter, // body AreaScatter, then runs: small pieces of one push, for the owner to put into place
  area_scattered,
  area_relay, // AreaRelay, receivers and runs: a part of an mcast, to be put into place and handed on
  area_relayed,
  lock_passed,
  broken_off, // the last of all: its writer has given up the connection, and reads nothing any more
};
inline constexpr unsigned kRecordKinds = 22;

// Messages on different channels never match each other: the program's, those of the library's own collectives, those by
// which patterns are compiled, and the program's second channel.
enum class Channel : std::uint8_t { program, collective, pattern, second };
inline constexpr std::size_t kChannels = 4;
constexpr Channel channel_of(heddle::Channel channel) {
  return channel == heddle::Channel::first ? Channel::program : Channel::second;
}

// Bits 0-31 payload bytes, 32-39 kind, 40-46 channel, 47 a data word, 48-63 a mark that random bytes are unlikely to carry.
struct Lead {
  RecordKind kind{};
  Channel channel{};
  bool has_data = false;   // a data word comes with it: ahead of a whole message, behind a request to send
  std::uint32_t bytes = 0; // after the lead word and the tag

  static constexpr std::uint64_t kMark = 0x4864'0000'0000'0000ULL;

  [[nodiscard]] constexpr std::uint64_t pack() const {
    return kMark | (static_cast<std::uint64_t>(has_data) << 47U) | (static_cast<std::uint64_t>(channel) << 40U) |
           (static_cast<std::uint64_t>(kind) << 32U) | bytes;
  }
  static constexpr Lead unpack(std::uint64_t word) {
    return {.kind = static_cast<RecordKind>((word >> 32U) & 0xffU),
            .channel = static_cast<Channel>((word >> 40U) & 0x7fU),
            .has_data = ((word >> 47U) & 1U) != 0,
            .bytes = static_cast<std::uint32_t>(word)};
  }
  // Whether the word leads the commonest record, a whole message on any channel, with a data word or without: one comparison.
  static constexpr bool is_message(std::uint64_t word) {
    constexpr std::uint64_t kFree =
        Lead{.channel = Channel::second, .has_data = true}.pack() ^ kMark; // all bits in which they differ
    static_assert(static_cast<std::uint64_t>(Channel::second) == kChannels - 1 && std::has_single_bit(kChannels));
    return ((word & ~kFree) >> 32U) == Lead{.kind = RecordKind::eager, .channel = Channel::program}.pack() >> 32U;
  }
  // Whether the word can be a lead word at all.
  static constexpr bool plausible(std::uint64_t word) {
    const Lead lead = unpack(word);
    return (word & 0xffff'0000'0000'0000ULL) == kMark && lead.kind != RecordKind::none &&
           static_cast<unsigned>(lead.kind) < kRecordKinds && static_cast<std::size_t>(lead.channel) < kChannels;
  }
};

inline constexpr std::uint64_t kLeadBytes = 8;
inline constexpr std::uint64_t kRecordHeadBytes = 16; // lead word and tag

inline std::uint64_t load_tag(const std::byte* record) {
  std::uint64_t tag = 0;
  std::memcpy(&tag, record + kLeadBytes, sizeof tag);
  return tag;
}

// Bytes of ring that a record with that payload takes: up to where the put ends it with zeros.
constexpr std::uint64_t record_span(std::uint64_t payload) {
  constexpr std::uint64_t kMask = ir::kTerminatorAlignment - 1;
  return (kRecordHeadBytes + payload + kMask) & ~kMask;
}

// What a message may carry beside its tag (SendOptions::data).
struct DataWord {
  bool there = false;
  std::uint64_t value = 0;
};
inline constexpr std::uint64_t kDataWordBytes = 8;

// An operation as its owner names it to the peer: index and generation in one word. Checked on the way back.
using OperationName = std::uint64_t;

struct SynchronousHead {
  OperationName sender = 0;
};
struct RequestToSend {
  OperationName sender = 0;
  std::uint64_t bytes = 0;
  std::uint64_t key = 0; // where the message can be read, when `readable`
  std::uint64_t offset = 0;
  std::uint32_t readable = 0;
  std::uint32_t engine = ir::kAnyEngine; // of the sender's interface, by which it would have it read
};
struct Finish { // one word more would make the record half a line longer, on every network
  OperationName sender = 0;
  std::uint64_t outcome = 0; // bytes in bits 0-55, code in 56-63

  static constexpr unsigned kCodeBit = 56;
  // `bytes` of the message that the receiver took: fewer than sent when it was truncated. ok; out_of_memory where the receiver
  // had none for the message; system_failed where it could read some of the sender's memory, but not all.
  static constexpr Finish of(OperationName sender, std::uint64_t bytes, ErrorCode code = ErrorCode::ok) {
    return {.sender = sender, .outcome = bytes | static_cast<std::uint64_t>(code) << kCodeBit};
  }
  [[nodiscard]] constexpr std::uint64_t bytes() const { return outcome & ((std::uint64_t{1} << kCodeBit) - 1); }
  [[nodiscard]] constexpr ErrorCode code() const {
    for (const ErrorCode known : {ErrorCode::out_of_memory, ErrorCode::system_failed})
      if (outcome >> kCodeBit == static_cast<std::uint64_t>(known)) return known;
    return ErrorCode::ok;
  }
};
struct ClearToSend {
  OperationName sender = 0;
  OperationName receiver = 0;
  std::uint64_t bytes = 0; // wanted: fewer than offered when the receive is shorter
};
struct AssistRequest {
  OperationName sender = 0;
  std::uint64_t cell = 0; // index of the claim cell at the receiver
  std::uint64_t key = 0;  // where the message is to be written
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chunk = 0;
};
struct AssistDone {
  std::uint64_t cell = 0;
  std::uint64_t bytes = 0; // copied by the sender
  std::uint64_t lost = 0;  // number + 1 of a chunk that it claimed and could not copy; 0: none
};
static_assert(sizeof(AssistRequest) + kRecordHeadBytes <= 64, "control records travel in the head of one command");

} // namespace heddle::engine
