// What this process holds about a peer it talks to: the connection's state, the ring it writes, the ring it reads, and
// what waits for room. Peers never talked to have none.
#pragma once

#include "base/reserve.hpp"
#include "engine/bootstrap/area.hpp"
#include "engine/connection/machine.hpp"
#include "engine/operation.hpp"
#include "engine/rings/ring.hpp"
#include "engine/rings/ring_budget.hpp"
#include "engine/rings/shared_ring.hpp"
#include "engine/schedule_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::engine {

// A record without payload that waits for room in the ring.
struct ControlRecord {
  RecordKind kind{};
  std::uint32_t bytes = 0;
  std::array<std::byte, 48> body{};
};

// Control records in order. Owns no memory while none has ever waited: most connections never have any, and there may be many connections.
class ControlQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == records_.size(); }
  [[nodiscard]] const ControlRecord& front() const { return records_[first_]; }
  void push_back(const ControlRecord& record) { records_.push_back(record); }
  void pop_front() {
    if (++first_ == records_.size()) clear();
  }
  void clear() {
    records_.clear();
    first_ = 0;
  }

 private:
  base::BackedVector<ControlRecord> records_;
  std::size_t first_ = 0;
};

// How a peer goes out of sight.
enum class End : std::uint8_t {
  none,
  connection_lost, // for good: what it could reach here stays unused
  broke,           // the network's way to it: nothing of it comes any more, and the next operation connects again
  died,
  left,
  removed,
};

// The claim on a slot of a shared ring that a write needs first.
enum class ClaimState : std::uint8_t { none, asked, held };

// A bootstrap area of this process and the queue of the translator it is reached through.
struct Port {
  ScheduleQueue* queue = nullptr;
  BootstrapArea* area = nullptr;
  ir::ExposedMemory memory;
  SharedRing shared;
  bool announces = false; // records are announced: rings need not be looked at
  bool listens = false;   // and some may come: it is asked for them at every call
  std::array<bool, kCommandSlots> slot_taken{};
  std::array<bool, kClaimCells> cell_taken{};
  std::array<std::uint32_t, kClaimCells> cell_peer{};    // whose help was asked for
  std::array<Operation*, kClaimCells> cell_owner{};      // null while only the sender's last word is awaited
  std::array<ir::RemotePlace, kClaimCells> cell_place{}; // the receive's memory as exposed to the helper
};

struct Connection {
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  std::uint32_t rank = 0;
  Port* port = nullptr;
  connection::State state = connection::State::idle;
  bool attached = false;
  bool absent = false;       // its process is not there; news of what has become of it will come
  bool parting = false;      // its peer was removed, and may still write here
  bool dead = false;         // its process is gone, not only its word: what it could reach is taken back
  bool broke = false;        // failed, and another takes its place when it is needed
  ErrorCode fate{};          // once failed: how, as what is under way with it ends with. See engine/fate.hpp
  const char* why = nullptr; // in words, of a lost connection

  // Connecting.
  ir::RemotePlace peer_area;
  std::int32_t slot = -1;           // own command slot of the transaction under way
  std::int32_t abandoned_slot = -1; // own slot of an attempt given up, whose last word is still to come
  std::uint32_t peer_slot = 0;      // the peer's slot that the next word goes to
  SlotBody outgoing;                // this side's answer or information, kept while the put is under way
  std::uint32_t lock_retry = 0;     // progress calls to let pass before the lock is tried again
  std::uint32_t lock_patience = 0;  // how many the last time
  bool lock_asked = false;
  bool introduced = false;           // it was asked for by this side, or answered: the peer may write here
  bool requested = false;            // its request stands in the peer's common slot, unanswered
  bool granted = false;              // where rings are granted by reading: it was given a ring
  std::uint64_t directory_entry = 0; // the same: what the peer's directory said when it was asked for a ring

  // Writing.
  bool writes_shared = false;
  RingWriter writer;
  ir::DirectRing direct; // the peer's ring as plain memory, where the translator offers it
  SharedRingCursor cursor;
  ClaimState claim = ClaimState::none;
  RingGrant grant;                       // the peer's ring
  std::uint32_t number_there = kUnknown; // by which the peer knows this process
  std::uint64_t largest_payload = 0;     // that one record can carry to this peer
  std::uint64_t eager_limit = 0;
  ir::ExposedMemory consumed_word; // where the peer reports how far it has read
  bool holds_payloads = false;     // the network does not take payloads at once
  ir::ExposedMemory staging;       // larger ones are put from here
  ControlQueue control;
  OperationList waiting;       // sends, in order
  OperationList streams;       // sends whose fragments are being written
  bool pumped = false;         // stands among the connections that have something to write, or are held back
  bool must_break_off = false; // the connection is lost here, and its peer does not know it yet

  // Reading.
  RingBudget::Ring ring;
  RingReader reader;
  bool held_back = false;        // there was no memory for its next record
  End ending = End::none;        // its process has ended so, but what it had written before is held back
  ir::RemotePlace peer_consumed; // where to report to

  // It can be written to.
  [[nodiscard]] bool connected() const { return state == connection::State::connected; }
  // It stands for connections that nothing is left of.
  [[nodiscard]] bool nobody() const { return port == nullptr; }
  [[nodiscard]] bool failed() const { return state == connection::State::failed; }
  [[nodiscard]] ScheduleQueue& queue() const { return *port->queue; }
};

} // namespace heddle::engine
