// A stretch of memory that several processes map: an anonymous file that vanishes with the last process that has it open.
// The file's size is fixed and sealed, so that no process can make another one's access fail; memory is taken piece by piece.
#pragma once

#include "base/descriptor.hpp"
#include "base/free_space.hpp"
#include "segments/access_gate.hpp"
#include "segments/bell.hpp"

#include <heddle/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::segments {

// What stands at the start of every segment.
struct alignas(64) SegmentHeader {
  std::uint64_t mark; // kSegmentMark: a segment of this library, of this layout
  std::atomic<std::uint32_t>
      asleep;    // how the owner sleeps, or is about to (sleep_flag.hpp), until somebody writes to it
  BellName bell; // that it sleeps by, if it ever has; set before `asleep` says so
  std::atomic<std::uint64_t> areas; // offset of the table of areas (areas.hpp); 0: there is none yet
  std::uint64_t bootstrap;          // offset of what is allocated first
  std::uint64_t guests;             // offset of the guest book (guests.hpp); 0: a job's process has none
  // On a line that is seldom written, because every copy between private memories asks here first.
  alignas(64) AccessGate gate; // closed: the owner has left
  // In private memory of the owner's, for peers to try whether the kernel lets them read that.
  struct Sample {
    std::uint64_t address;
    std::uint64_t value;
  } sample;
};
inline constexpr std::uint64_t kSegmentMark = 0x4865'6464'6c65'0006ULL; // "Heddle", layout 6

// A mapping; unmaps itself.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(data_); }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// This process's own segment, and the allocation of memory in it.
class Segment {
 public:
  // Reserves `bytes` of address space; memory is taken only by allocate.
  static Result<Segment> create(std::size_t bytes);

  // Offset of zeroed memory, aligned to 64. Fails with out_of_memory where the segment is full or the system has no memory.
  Result<std::uint64_t> allocate(std::size_t bytes);
  void deallocate(std::uint64_t offset) { space_.give_back(offset); }

  [[nodiscard]] const Mapping& mapping() const { return mapping_; }
  [[nodiscard]] int descriptor() const { return file_.number(); }
  [[nodiscard]] std::uint64_t inode() const { return inode_; }

 private:
  base::Descriptor file_;
  Mapping mapping_;
  std::uint64_t inode_ = 0;
  base::FreeSpace space_;
};

// Maps the segment of another process of this machine. Fails with `unreachable` when that process is not there, may not be
// accessed, or has no such segment.
struct SegmentName {
  std::int32_t process = 0;
  std::int32_t descriptor = 0; // in that process
  std::uint64_t inode = 0;
};
Result<Mapping> map_segment(const SegmentName& name);

// Whether the process has no memory any more: it has ended, or is about to. Its parent may not have seen it yet.
bool has_ended(std::int32_t process);
// Whether it is stopped now, by a signal or a debugger.
bool is_stopped(std::int32_t process);

} // namespace heddle::segments
