// Communication areas over shared memory. Each allocated area is a segment of its own, mapped only by processes that were
// given its key; the owner's main segment holds a table that says which keys are open.
//
// The copying is done by the initiating process, so it is that process which checks, against the owner's table. This keeps
// mistakes out, not a hostile process of the same user, which the kernel lets read and write its peers' memory anyway.
#pragma once

#include "ir/area_window.hpp"
#include "translators/area_keys.hpp"
#include "translators/shm/segment.hpp"

#include <heddle/error.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

namespace heddle::translators {

// Keys of areas have the highest bit, so that they are never mistaken for the other kinds of place.
inline constexpr std::uint64_t kAreaKey = std::uint64_t{1} << 63U;
constexpr bool is_area_key(ir::MemoryKey key) {
  return (static_cast<std::uint64_t>(key) & kAreaKey) != 0;
}

struct alignas(64) AreaEntry {
  std::atomic<std::uint64_t> key; // 0: closed or never opened
  std::uint64_t bytes;
  SegmentName segment;   // of an allocated area; inode 0: private memory
  std::uint64_t address; // of private memory
};

struct alignas(64) InsideWord {
  std::atomic<std::uint64_t> process; // that is just reading or writing an area of the owner; 0: it is not
};

// Areas that one process can have open at once; the entries stand in its main segment, followed by an InsideWord per rank.
inline constexpr std::uint64_t kMostAreas = 1024;
constexpr std::uint64_t area_table_bytes(std::uint32_t processes) {
  return kMostAreas * sizeof(AreaEntry) + processes * sizeof(InsideWord);
}

// This process's own areas.
class OwnAreas {
 public:
  // `barrier` orders the memory of all processes; null where the kernel has none.
  OwnAreas(Segment& segment, std::uint32_t processes, void (*barrier)())
      : segment_(segment), processes_(processes), barrier_(barrier), keys_(AreaKeys::secret()) {}

  struct Made {
    std::uint64_t key = 0;
    std::span<std::byte> memory;
  };
  Result<Made> allocate(std::size_t bytes);
  Result<Made> expose(std::span<std::byte> memory);
  // Returns when no process is inside any more; one that has died there does not count.
  void close(std::uint64_t key);
  void release(std::uint64_t key) { segments_.erase(key); }

 private:
  Result<AreaEntry*> free_entry();
  std::uint64_t open(AreaEntry& entry, std::uint64_t bytes);
  [[nodiscard]] AreaEntry* table() const;
  [[nodiscard]] InsideWord* inside() const { return reinterpret_cast<InsideWord*>(table() + kMostAreas); }

  Segment& segment_;
  std::uint32_t processes_;
  void (*barrier_)();
  std::uint64_t table_ = 0; // where it stands; the header, which peers could write to, only tells them
  AreaKeys keys_;
  std::map<std::uint64_t, Segment> segments_; // by key
};

// A peer's areas, as far as this process has used them.
class PeerAreas {
 public:
  struct Area {
    Mapping mapping; // empty: private memory of the peer
    ir::AreaWindow window;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
  };
  // `main` is the peer's main segment. Null when no such area is open, or it cannot be mapped.
  Area* find(const Mapping& main, std::uint32_t own_rank, std::uint64_t key, bool fenced);
  void leave(std::uint64_t key) { areas_.erase(key); }

 private:
  std::map<std::uint64_t, Area> areas_;
};

} // namespace heddle::translators
