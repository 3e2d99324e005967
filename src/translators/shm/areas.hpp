// Communication areas over shared memory. Each allocated area is a segment of its own, mapped only by processes that were
// given its key; the owner's main segment holds a table that says which keys are open.
//
// The copying is done by the initiating process, so it is that process which checks, against the owner's table. This keeps
// mistakes out, not a hostile process of the same user, which the kernel lets read and write its peers' memory anyway.
#pragma once

#include "ir/direct_area.hpp"
#include "ir/event.hpp"
#include "segments/segment.hpp"
#include "segments/sleep_flag.hpp"
#include "translators/area_keys.hpp"

#include <heddle/error.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

namespace heddle::translators {

using segments::Kernel;
using segments::Mapping;
using segments::Segment;
using segments::SegmentHeader;
using segments::SegmentName;

// Keys of areas have the highest bit, so that they are never mistaken for the other kinds of place.
inline constexpr std::uint64_t kAreaKey = std::uint64_t{1} << 63U;
constexpr bool is_area_key(ir::MemoryKey key) {
  return (static_cast<std::uint64_t>(key) & kAreaKey) != 0;
}

struct AreaContent {
  std::uint64_t bytes = 0;
  SegmentName segment;       // of an allocated area; inode 0: private memory
  std::uint64_t address = 0; // in the segment, or of private memory
};
// Peers read an entry while its owner may close it and open another area in its place.
using AreaWords = std::array<std::uint64_t, sizeof(AreaContent) / sizeof(std::uint64_t)>;
struct alignas(64) AreaEntry {
  std::atomic<std::uint64_t> key; // 0: closed or never opened
  AreaWords words;                // its AreaContent
};

struct alignas(64) InsideWord {
  std::atomic<std::uint64_t> process; // that is just reading or writing an area of the owner; 0: it is not
};

// Where the owner's table stands in its main segment; 0: there is none yet. Whoever sees it sees a table, cleared at first.
template <typename Memory = base::Processor>
void publish_table(SegmentHeader& header, std::uint64_t offset) {
  Memory::store(header.areas, offset, std::memory_order_release);
}
template <typename Memory = base::Processor>
std::uint64_t table_offset(const SegmentHeader& header) {
  return Memory::load(header.areas, std::memory_order_acquire);
}

template <typename Memory = base::Processor>
void open_entry(AreaEntry& entry, const AreaContent& content, std::uint64_t key) {
  const auto words = std::bit_cast<AreaWords>(content);
  for (std::size_t i = 0; i < words.size(); ++i) Memory::store(entry.words[i], words[i], std::memory_order_relaxed);
  Memory::store(entry.key, key, std::memory_order_release);
}
// True: from here on whoever enters sees that the area is closed, and whoever entered before is seen by is_inside. False: the
// kernel has refused the barrier, and this will be so soon.
template <typename Memory = Kernel>
bool close_entry(AreaEntry& entry, bool barrier) {
  Memory::store(entry.key, std::uint64_t{0}, std::memory_order_relaxed);
  if (barrier) return Memory::barrier_everywhere();
  Memory::fence(std::memory_order_seq_cst);
  return true;
}
// The process that is inside, or 0.
template <typename Memory = base::Processor>
std::uint64_t is_inside(const InsideWord& word) {
  return Memory::load(word.process, std::memory_order_acquire);
}
// A peer's look. False: the area of that key is not open.
template <typename Memory = base::Processor>
bool read_entry(const AreaEntry& entry, std::uint64_t key, AreaContent& content) {
  if (Memory::load(entry.key, std::memory_order_acquire) != key) return false;
  AreaWords words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = Memory::load(entry.words[i], std::memory_order_relaxed);
  content = std::bit_cast<AreaContent>(words);
  // Another area may have taken the entry's place while it was read: whoever has seen a word of that sees its key, too.
  Memory::fence(std::memory_order_acquire);
  return Memory::load(entry.key, std::memory_order_relaxed) == key;
}

// Areas that one process can have open at once; the entries stand in its main segment, followed by an InsideWord per rank.
inline constexpr std::uint64_t kMostAreas = 1024;
constexpr std::uint64_t area_table_bytes(std::uint32_t processes) {
  return kMostAreas * sizeof(AreaEntry) + processes * sizeof(InsideWord);
}

// This process's own areas.
class OwnAreas {
 public:
  // `barrier`: the kernel has one for the memory of all processes.
  OwnAreas(Segment& segment, std::uint32_t processes, bool barrier)
      : segment_(segment), processes_(processes), barrier_(barrier), keys_(AreaKeys::secret()) {}

  struct Made {
    std::uint64_t key = 0;
    std::span<std::byte> memory;
  };
  Result<Made> allocate(std::size_t bytes);
  Result<Made> expose(std::span<std::byte> memory);
  // Succeeds when no process is inside any more; one that has died there does not count. One that is stopped there is waited for
  // for a second, any other for ten: then it fails with timed_out, and can be called again.
  [[nodiscard]] Result<void> close(std::uint64_t key);
  void release(std::uint64_t key) { segments_.erase(key); }

 private:
  Result<AreaEntry*> free_entry();
  std::uint64_t open(AreaEntry& entry, const AreaContent& content);
  [[nodiscard]] AreaEntry* table() const;
  [[nodiscard]] InsideWord* inside() const { return reinterpret_cast<InsideWord*>(table() + kMostAreas); }

  Segment& segment_;
  std::uint32_t processes_;
  bool barrier_;
  std::uint64_t table_ = 0; // where it stands; the header, which peers could write to, only tells them
  AreaKeys keys_;
  std::map<std::uint64_t, Segment> segments_; // by key
};

// A peer's areas, as far as this process has used them.
class PeerAreas {
 public:
  struct Area {
    Mapping mapping; // empty: private memory of the peer
    ir::DirectArea direct;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
  };
  struct Found {
    Area* area = nullptr;
    // Where it is null: refused when no such area is open, exhausted, or failed when it is open and yet cannot be mapped.
    ir::Status status = ir::Status::refused;
    int error = 0;
  };
  // `main` is the peer's main segment.
  Found find(const Mapping& main, std::uint32_t own_rank, std::uint64_t key, bool fenced);
  void leave(std::uint64_t key) { areas_.erase(key); }

 private:
  Found open(const Mapping& main, std::uint32_t own_rank, std::uint64_t key, bool fenced);

  std::map<std::uint64_t, Area> areas_;
};

} // namespace heddle::translators
