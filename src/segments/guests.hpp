// Who has attached to this process in an open world, where no launcher or store knows it. Each guest signs the guest book in the
// host's segment when it attaches, and strikes itself out when it detaches: from then on it writes nothing here. A line is free
// again when the host has seen that, so that none comes and goes unseen. A guest may die at any step: the line names its process
// from the first one on, so that the host, which watches all processes in its book, frees it with the others of the dead.
#pragma once

#include "base/shared_words.hpp"
#include "segments/access_gate.hpp"
#include "segments/segment.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::segments {

struct Guest {
  std::int32_t process = 0;
  std::uint64_t uid = 0;
  SegmentName segment;
  std::uint64_t number = 0; // by which it knows the host
};

struct GuestLine {
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::uint64_t kStruckOut = ~std::uint64_t{0};
  std::atomic<std::uint64_t> process;   // who has it, or one of these
  std::atomic<std::uint64_t> uid;       // 0: it is being signed, or was when the guest died
  std::atomic<std::uint64_t> segment;   // the inode of the guest's
  std::atomic<std::int32_t> descriptor; // of it, in the guest
  std::atomic<std::uint64_t> number;    // by which the guest knows the host
  AccessGate gate;                      // to the host's private memory, for this guest
};

inline constexpr std::uint32_t kMostGuests = 4096;

template <std::uint32_t kLines>
struct BasicGuestBook {
  std::atomic<std::uint64_t> changes;
  alignas(64) GuestLine lines[kLines];

  // The guest's side: the line that it has signed; none where the book is full.
  template <typename Memory = base::Processor>
  std::optional<std::uint32_t> sign(const Guest& guest) {
    for (std::uint32_t i = 0; i < kLines; ++i) {
      std::uint64_t found = GuestLine::kFree;
      if (Memory::load(lines[i].process, std::memory_order_relaxed) != GuestLine::kFree ||
          !Memory::compare_exchange(lines[i].process, found, static_cast<std::uint64_t>(guest.process),
                                    std::memory_order_acquire))
        continue;
      Memory::store(lines[i].segment, guest.segment.inode, std::memory_order_relaxed);
      Memory::store(lines[i].descriptor, guest.segment.descriptor, std::memory_order_relaxed);
      Memory::store(lines[i].number, guest.number, std::memory_order_relaxed);
      Memory::store(lines[i].uid, guest.uid, std::memory_order_release);
      Memory::fetch_add(changes, std::uint64_t{1}, std::memory_order_release);
      return i;
    }
    Memory::fetch_add(changes, std::uint64_t{1}, std::memory_order_relaxed); // some may be of the dead: it is to look
    return {};
  }
  // After all that the guest has written.
  template <typename Memory = base::Processor>
  void strike_out(std::uint32_t line) {
    Memory::store(lines[line].process, GuestLine::kStruckOut, std::memory_order_release);
    Memory::fetch_add(changes, std::uint64_t{1}, std::memory_order_release);
  }
};
using GuestBook = BasicGuestBook<kMostGuests>;

// The host's side: what has changed in the book.
template <typename Memory, std::uint32_t kLines>
class BasicGuests {
 public:
  using Book = BasicGuestBook<kLines>;
  explicit BasicGuests(Book& book) : book_(book), known_(kLines) {}

  [[nodiscard]] bool changed() const { return Memory::load(book_.changes, std::memory_order_relaxed) != seen_; }
  // Calls arrived(process) for each that has begun to sign, and left(guest) for each that is struck out. False from either: it is to
  // be told again later. A guest's process is 0 where its arrival was not told.
  template <typename Arrived, typename Left>
  void look(const Arrived& arrived, const Left& left) {
    const std::uint64_t changes = Memory::load(book_.changes, std::memory_order_acquire);
    bool all = true;
    for (std::uint32_t i = 0; i < kLines; ++i) {
      const std::uint64_t process = Memory::load(book_.lines[i].process, std::memory_order_acquire);
      if (process == GuestLine::kFree) continue;
      if (process == GuestLine::kStruckOut) {
        if (left(guest_of(i)))
          free(i);
        else
          all = false;
      } else if (known_[i] == 0) {
        if (arrived(static_cast<std::int32_t>(process)))
          known_[i] = static_cast<std::int32_t>(process);
        else
          all = false;
      }
    }
    if (all) seen_ = changes;
  }
  // All changes up to this one have been told.
  [[nodiscard]] std::uint64_t seen() const { return seen_; }
  // Private memory is no longer that guest's to read or write, nor is it doing so.
  void turn_away(std::int32_t process, std::uint64_t segment) {
    for (GuestLine& line : book_.lines)
      if (Memory::load(line.process, std::memory_order_relaxed) == static_cast<std::uint64_t>(process) &&
          Memory::load(line.segment, std::memory_order_relaxed) == segment)
        close(line);
  }
  // The same for all.
  void turn_all_away() {
    for (GuestLine& line : book_.lines) close_gate(line.gate);
    for (GuestLine& line : book_.lines)
      if (Memory::load(line.process, std::memory_order_relaxed) != GuestLine::kFree) close(line);
  }
  // Calls call(segment) for that of each who is there and has signed.
  template <typename Call>
  void each_segment(const Call& call) const {
    for (const GuestLine& line : book_.lines) {
      if (Memory::load(line.uid, std::memory_order_acquire) == 0) continue;
      const std::uint64_t process = Memory::load(line.process, std::memory_order_relaxed);
      if (process == GuestLine::kStruckOut) continue;
      call(SegmentName{.process = static_cast<std::int32_t>(process),
                       .descriptor = Memory::load(line.descriptor, std::memory_order_relaxed),
                       .inode = Memory::load(line.segment, std::memory_order_relaxed)});
    }
  }
  // The process has ended, and the system says so after all that it wrote. Calls left(guest) for each of its lines.
  template <typename Left>
  void ended(std::int32_t process, const Left& left) {
    for (std::uint32_t i = 0; i < kLines; ++i) {
      // One that is struck out has left before: look tells of it.
      if (Memory::load(book_.lines[i].process, std::memory_order_relaxed) != static_cast<std::uint64_t>(process))
        continue;
      left(guest_of(i));
      free(i);
    }
  }

 private:
  // One that died in the middle of an access never ends it.
  static void close(GuestLine& line) {
    close_gate(line.gate);
    const std::uint64_t process = Memory::load(line.process, std::memory_order_relaxed);
    if (process == GuestLine::kStruckOut || !has_ended(static_cast<std::int32_t>(process))) close_and_drain(line.gate);
  }
  void free(std::uint32_t index) {
    known_[index] = 0;
    GuestLine& line = book_.lines[index];
    Memory::store(line.uid, std::uint64_t{0}, std::memory_order_relaxed);
    Memory::store(line.gate.closed, 0U, std::memory_order_relaxed);
    Memory::store(line.gate.accesses, 0U, std::memory_order_relaxed); // one that died inside never left
    Memory::store(line.process, GuestLine::kFree, std::memory_order_release);
  }
  [[nodiscard]] Guest guest_of(std::uint32_t index) const {
    const GuestLine& line = book_.lines[index];
    return {.process = known_[index],
            .uid = Memory::load(line.uid, std::memory_order_relaxed),
            .number = Memory::load(line.number, std::memory_order_relaxed)};
  }

  Book& book_;
  std::vector<std::int32_t> known_; // by line: the process that is known to have it
  std::uint64_t seen_ = 0;
};
using Guests = BasicGuests<base::Processor, kMostGuests>;

} // namespace heddle::segments
