// What the engine asks of a network, in terms that name no hardware. Plain data, passed in batches to a translator.
// Not here: who orders commands onto engines and paths (src/schedule), and how they are carried out (src/translators).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace heddle::ir {

// A communicating process, by its rank in the job.
enum class Peer : std::uint32_t {};

// A group of peers that one put can reach together has a number, too (Groups::make_group).
inline constexpr std::uint32_t kFirstGroup = 0x8000'0000;
[[nodiscard]] constexpr bool is_group(Peer peer) {
  return static_cast<std::uint32_t>(peer) >= kFirstGroup;
}

// Right to reach a stretch of a peer's memory, issued by that peer's translator. Opaque to the engine.
enum class MemoryKey : std::uint64_t {};

// A place in a peer's memory. What the offset counts from is the issuing translator's business.
struct RemotePlace {
  MemoryKey key{};
  std::uint64_t offset = 0;

  [[nodiscard]] RemotePlace at(std::uint64_t further) const { return {key, offset + further}; }
};

enum class Operation : std::uint8_t {
  put,              // head, then local, then the terminator -> remote
  get,              // remote -> local
  compare_and_swap, // 8 bytes at remote become `operand` if they equal `expected`; the event carries the old value
  fetch_and_add,    // 8 bytes at remote grow by `operand`; the event carries the old value
};

// A command wants no event unless it says so. A put with lead_last or terminated, and an atomic, has an 8-aligned remote.
enum class Flags : std::uint8_t {
  none = 0,
  signalled = 1,  // an Event `completed` with the cookie comes back
  lead_last = 2,  // put: its first 8 bytes, all in its head, become visible at the target only after all its others
  terminated = 4, // put: 8 zero bytes follow the data, at the next multiple of kTerminatorAlignment after remote
  announced = 8,  // put, get: the target gets an event with the low byte of `operand`, where the network announces them
};
constexpr Flags operator|(Flags a, Flags b) {
  return static_cast<Flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Flags set, Flags flag) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(flag)) != 0;
}

// Half a cache line: a small message with its header never lies across two lines.
inline constexpr std::uint64_t kTerminatorAlignment = 32;

// Left to the translator: any engine will do.
inline constexpr std::uint8_t kAnyEngine = 0xff;

// Left to the translator: the path chosen for the peer, if there is one.
inline constexpr std::uint32_t kAnyPath = 0xffff'ffff;

// Bytes that a put can carry inside the command, ahead of the local memory: the header of a message.
inline constexpr std::size_t kHeadBytes = 64;

// The members that an operation does not use are not read.
// `local` may be reused: for an unsignalled put of at most Capabilities::inline_bytes, head included, when submit has taken
// it; for every other command, when its event has come. The command itself may be reused when submit has taken it.
struct Command {
  Operation operation{};
  Flags flags{};
  std::uint8_t send_engine = kAnyEngine;    // which engine of this interface, named by the schedule queue
  std::uint8_t receive_engine = kAnyEngine; // which engine of the target's interface
  Peer peer{};
  std::uint64_t cookie = 0; // comes back in the event
  RemotePlace remote;
  std::byte* local = nullptr; // source of a put, target of a get
  std::uint64_t bytes = 0;    // of local
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  std::uint32_t head_bytes = 0;           // of head that a put sends first
  std::uint32_t path = kAnyPath;          // which of several paths to the peer (Paths)
  std::array<std::byte, kHeadBytes> head; // NOLINT: left as it is; writing zeros would cost on the hot path
};
static_assert(std::is_trivially_copyable_v<Command>);
static_assert(sizeof(Command) == 136);

} // namespace heddle::ir
