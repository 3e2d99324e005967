// What this process knows of an area of a peer's (or of its own): the key it was given, and what waits for that.
#pragma once

#include "engine/connection/connection.hpp"
#include "ir/direct_area.hpp"
#include "ir/event.hpp"
#include "onesided/locks/lock_memory.hpp"

#include <heddle/onesided.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <vector>

namespace heddle::onesided {

using engine::Connection;

struct Transfer;

// First in, first out, through Transfer::next.
struct TransferList {
  Transfer* head = nullptr;
  Transfer* tail = nullptr;
};

// What an area is for. The memory of a lock changes by the steps of locks alone, and these are done to nothing else.
enum class AreaKind : std::uint8_t { plain, lock };

struct KnownArea {
  enum class State : std::uint8_t { unknown, asked, open };

  std::uint64_t id = 0;
  std::uint32_t rank = 0;
  std::uint32_t index = 0; // among the known areas
  State state = State::unknown;
  AreaKind kind{}; // while open
  bool atomics = false;
  bool everyone = false;            // its owner has opened it to all: others may pass its key on
  std::uint64_t bytes = 0;          // 0 while not open
  ir::DirectArea direct;            // none while not open, or of a lock: which has its own, in the seat
  Connection* connection = nullptr; // once asked
  ir::RemotePlace place;
  TransferList waiting;             // for the key
  LockSeat seat;                    // where it is a lock
  std::uint64_t last_multicast = 0; // that it took part in

  // An area of this process itself has no gate of the network's: these two are it.
  std::atomic<std::uint64_t> own_live{0};
  std::atomic<std::uint64_t> own_inside{0};

  // Pushes and pulls find direct memory in one place, locks in another, so that neither looks at the kind each time.
  void open_direct(const ir::DirectArea& onto) { (kind == AreaKind::lock ? seat.direct : direct) = onto; }
  // What an operation ends with that finds it closed.
  [[nodiscard]] ErrorCode code_of_closed() const {
    return connection != nullptr && connection->failed() ? connection->fate : ErrorCode::revoked_area;
  }
  void shut() {
    state = State::unknown;
    bytes = 0;
    direct = {};
    seat.direct = {};
  }
};

// What a command on an area ends with; `area` is null where it went to several.
inline ErrorCode code_of(const ir::Event& event, const KnownArea* area) {
  if (event.status != ir::Status::ok && area != nullptr && area->connection->failed()) return area->connection->fate;
  switch (event.status) {
    case ir::Status::ok: return ErrorCode::ok;
    case ir::Status::refused: return ErrorCode::revoked_area; // range and permission were checked before
    case ir::Status::peer_lost: return ErrorCode::peer_failed;
    case ir::Status::peer_left: return ErrorCode::peer_left;
    case ir::Status::exhausted:
      return event.vendor_code == EMFILE || event.vendor_code == ENFILE ? ErrorCode::out_of_descriptors
                                                                        : ErrorCode::out_of_memory;
    case ir::Status::connection_lost: return ErrorCode::connection_lost;
    case ir::Status::failed: return ErrorCode::system_failed;
  }
  return ErrorCode::system_failed;
}

// By (rank, id). Entries never move or go, so that operations can hold on to them.
class KnownAreas {
 public:
  KnownAreas() : slots_(64, nullptr) {}

  // Null: never used.
  [[nodiscard]] KnownArea* find(std::uint32_t rank, std::uint64_t id) const {
    for (std::size_t at = hash(rank, id);; ++at) {
      KnownArea* area = slots_[at & (slots_.size() - 1)];
      if (area == nullptr || (area->id == id && area->rank == rank)) return area;
    }
  }
  KnownArea& find_or_add(std::uint32_t rank, std::uint64_t id) {
    if (KnownArea* known = find(rank, id)) return *known;
    KnownArea& made = areas_.emplace_back();
    made.rank = rank;
    made.id = id;
    made.index = static_cast<std::uint32_t>(areas_.size() - 1);
    if (areas_.size() * 2 > slots_.size()) {
      slots_.assign(slots_.size() * 2, nullptr);
      for (KnownArea& area : areas_) insert(area);
    } else {
      insert(made);
    }
    return made;
  }
  [[nodiscard]] std::deque<KnownArea>& all() { return areas_; }

 private:
  static std::size_t hash(std::uint32_t rank, std::uint64_t id) {
    return ((id ^ (std::uint64_t{rank} << 32U)) * 0x9e37'79b9'7f4a'7c15ULL) >> 40U;
  }
  void insert(KnownArea& area) {
    std::size_t at = hash(area.rank, area.id);
    while (slots_[at & (slots_.size() - 1)] != nullptr) ++at;
    slots_[at & (slots_.size() - 1)] = &area;
  }

  std::vector<KnownArea*> slots_; // a power of two, at most half full
  std::deque<KnownArea> areas_;
};

} // namespace heddle::onesided
