// The bootstrap memory: what every peer can reach in this process before any connection exists.
//
//   common slot      one word to lock by compare-and-swap, one word with the request of whoever holds the lock
//   command slots    one per connection transaction under way: the peer's side of the talk is written here
//   claim cells      one counter per large message that sender and receiver copy together
//   directory        without connections: one word a peer, 0 while no ring is allocated for it here
#pragma once

#include "engine/book.hpp"
#include "engine/rings/ring.hpp"
#include "ir/translator.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>

namespace heddle::engine {

// Transactions that one process can have under way at once; more wait their turn.
inline constexpr std::size_t kCommandSlots = 64;
// What an announced command says to its target: a record is in its ring, or else which command slot is meant.
inline constexpr std::uint64_t kRecordWritten = 0xff;
static_assert(kCommandSlots < kRecordWritten);
// Messages that one process can receive with the sender's help at once; more are received without.
inline constexpr std::size_t kClaimCells = 64;

// What one side of a connection tells the other. The lead word is written last.
enum class SlotVerb : std::uint32_t { none, answer, superseded, refused, information, acknowledge };
struct SlotBody {
  std::uint32_t slot = 0;   // index of the sender's own slot that the answer goes to
  std::uint32_t number = 0; // by which the sender knows the receiver of this
  Uid sender = 0;
  ir::Endpoint endpoint{};
  RingGrant grant;
  // A word of the sender's: the receiver of this reports there how far it has read what the sender wrote.
  ir::RemotePlace consumed;
};
static_assert(std::is_trivially_copyable_v<SlotBody>);

// The lead word: what is said, and by whom, so that the last word of a transaction that was given up is not taken for one of the
// next that uses the slot.
constexpr std::uint32_t shortened(Uid uid) {
  return static_cast<std::uint32_t>(uid ^ (uid >> 32U));
}
constexpr std::uint64_t pack_word(SlotVerb verb, Uid sender) {
  return (std::uint64_t{shortened(sender)} << 32U) | static_cast<std::uint32_t>(verb);
}
constexpr bool is_word_of(std::uint64_t word, Uid sender) {
  return (word >> 32U) == shortened(sender);
}
constexpr SlotVerb verb_of(std::uint64_t word) {
  return static_cast<SlotVerb>(static_cast<std::uint32_t>(word));
}

struct alignas(64) CommandSlot {
  std::atomic<std::uint64_t> lead; // pack_word
  SlotBody body;
};

// Who asks for a connection, and where it is found: the responder may not know it.
struct Initiator {
  Uid uid = 0;
  std::uint64_t number = 0; // by which it knows the responder
  ir::Address address{};
};
static_assert(std::is_trivially_copyable_v<Initiator>);

struct alignas(64) CommonSlot {
  std::atomic<std::uint64_t> lock;                // 0, or incarnation_of the initiator that holds it
  alignas(64) std::atomic<std::uint64_t> request; // 0, or pack_request
  Initiator initiator;
};

// The request of an initiator: which of its slots the answer goes to.
constexpr std::uint64_t kRequestMark = 0x4865'6464ULL << 32U;
constexpr std::uint64_t pack_request(std::uint32_t slot) {
  return kRequestMark | slot;
}
// None: no initiator writes such a word.
constexpr std::optional<std::uint32_t> slot_of_request(std::uint64_t word) {
  const auto slot = static_cast<std::uint32_t>(word);
  if ((word >> 32U) != (kRequestMark >> 32U) || slot >= kCommandSlots) return {};
  return slot;
}

struct alignas(64) ClaimCell {
  std::atomic<std::uint64_t> next; // index of the next chunk that nobody has claimed
};

inline constexpr std::size_t kDirectoryEntryBytes = sizeof(std::uint64_t);

struct BootstrapArea {
  CommonSlot common;
  CommandSlot slots[kCommandSlots];
  ClaimCell cells[kClaimCells];

  // Offsets that peers use.
  static std::uint64_t lock_offset() { return offsetof(BootstrapArea, common) + offsetof(CommonSlot, lock); }
  static std::uint64_t request_offset() { return offsetof(BootstrapArea, common) + offsetof(CommonSlot, request); }
  static std::uint64_t slot_offset(std::size_t index) {
    return offsetof(BootstrapArea, slots) + index * sizeof(CommandSlot);
  }
  static std::uint64_t cell_offset(std::size_t index) {
    return offsetof(BootstrapArea, cells) + index * sizeof(ClaimCell);
  }
  // The directory stands behind the area.
  static std::uint64_t directory_offset(std::size_t rank) {
    return sizeof(BootstrapArea) + rank * kDirectoryEntryBytes;
  }
  std::atomic<std::uint64_t>& directory(std::size_t rank) {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<std::byte*>(this) + directory_offset(rank));
  }
};

} // namespace heddle::engine
