// Who has attached to this process in an open world, where no launcher or store knows it. Each guest signs the guest book in the
// host's segment when it attaches, and strikes itself out when it detaches: from then on it writes nothing here. A line is free
// again when the host has seen that, so that none comes and goes unseen.
#pragma once

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
  std::atomic<std::uint64_t> uid;       // 0: it is just being signed
  std::atomic<std::uint64_t> segment;   // the inode of the guest's
  std::atomic<std::int32_t> descriptor; // of it, in the guest
  std::atomic<std::uint64_t> number;    // by which the guest knows the host
  AccessGate gate;                      // to the host's private memory, for this guest
};

inline constexpr std::uint32_t kMostGuests = 4096;

struct GuestBook {
  std::atomic<std::uint64_t> changes;
  alignas(64) GuestLine lines[kMostGuests];

  // The guest's side: the line that it has signed; none where the book is full.
  std::optional<std::uint32_t> sign(const Guest& guest) {
    for (std::uint32_t i = 0; i < kMostGuests; ++i) {
      std::uint64_t found = GuestLine::kFree;
      if (lines[i].process.load(std::memory_order_relaxed) != GuestLine::kFree ||
          !lines[i].process.compare_exchange_strong(found, static_cast<std::uint64_t>(guest.process),
                                                    std::memory_order_acquire))
        continue;
      lines[i].segment.store(guest.segment.inode, std::memory_order_relaxed);
      lines[i].descriptor.store(guest.segment.descriptor, std::memory_order_relaxed);
      lines[i].number.store(guest.number, std::memory_order_relaxed);
      lines[i].uid.store(guest.uid, std::memory_order_release);
      changes.fetch_add(1, std::memory_order_release);
      return i;
    }
    return {};
  }
  // After all that the guest has written.
  void strike_out(std::uint32_t line) {
    lines[line].process.store(GuestLine::kStruckOut, std::memory_order_release);
    changes.fetch_add(1, std::memory_order_release);
  }
};

// The host's side: what has changed in the book.
class Guests {
 public:
  explicit Guests(GuestBook& book) : book_(book), known_(kMostGuests) {}

  [[nodiscard]] bool changed() const { return book_.changes.load(std::memory_order_acquire) != seen_; }
  // Calls arrived(process) for each that has signed, and left(guest) for each that is struck out. Where left returns false, it is
  // called again later. The guest's process is 0 where arrived was never called for it.
  template <typename Arrived, typename Left>
  void look(const Arrived& arrived, const Left& left) {
    const std::uint64_t changes = book_.changes.load(std::memory_order_acquire);
    bool all = true;
    for (std::uint32_t i = 0; i < kMostGuests; ++i) {
      const std::uint64_t process = book_.lines[i].process.load(std::memory_order_acquire);
      if (process == GuestLine::kFree) continue;
      if (process == GuestLine::kStruckOut) {
        if (left(guest_of(i)))
          free(i);
        else
          all = false;
      } else if (known_[i] == 0 && book_.lines[i].uid.load(std::memory_order_acquire) != 0) {
        arrived(static_cast<std::int32_t>(process));
        known_[i] = static_cast<std::int32_t>(process);
      }
    }
    if (all) seen_ = changes;
  }
  // Private memory is no longer that guest's to read or write, nor is it doing so.
  void turn_away(std::int32_t process, std::uint64_t segment) {
    for (GuestLine& line : book_.lines)
      if (line.process.load(std::memory_order_relaxed) == static_cast<std::uint64_t>(process) &&
          line.segment.load(std::memory_order_relaxed) == segment)
        close(line);
  }
  // The same for all.
  void turn_all_away() {
    for (GuestLine& line : book_.lines) close_gate(line.gate);
    for (GuestLine& line : book_.lines)
      if (line.process.load(std::memory_order_relaxed) != GuestLine::kFree) close(line);
  }
  // The segments of all who are there.
  [[nodiscard]] std::vector<SegmentName> segments() const {
    std::vector<SegmentName> all;
    for (const GuestLine& line : book_.lines) {
      const std::uint64_t process = line.process.load(std::memory_order_acquire);
      if (process == GuestLine::kFree || process == GuestLine::kStruckOut) continue;
      all.push_back({.process = static_cast<std::int32_t>(process),
                     .descriptor = line.descriptor.load(std::memory_order_relaxed),
                     .inode = line.segment.load(std::memory_order_relaxed)});
    }
    return all;
  }
  // The process has ended. Calls left(guest) for each of its lines.
  template <typename Left>
  void ended(std::int32_t process, const Left& left) {
    for (std::uint32_t i = 0; i < kMostGuests; ++i) {
      // One that is struck out had left before: look reports it.
      if (book_.lines[i].process.load(std::memory_order_acquire) != static_cast<std::uint64_t>(process)) continue;
      left(guest_of(i));
      free(i);
    }
  }

 private:
  // One that died in the middle of an access never ends it.
  static void close(GuestLine& line) {
    close_gate(line.gate);
    const std::uint64_t process = line.process.load(std::memory_order_relaxed);
    if (process == GuestLine::kStruckOut || !has_ended(static_cast<std::int32_t>(process))) close_and_drain(line.gate);
  }
  void free(std::uint32_t line) {
    known_[line] = 0;
    book_.lines[line].uid.store(0, std::memory_order_relaxed);
    book_.lines[line].gate.closed.store(0, std::memory_order_relaxed);
    book_.lines[line].gate.accesses.store(0, std::memory_order_relaxed); // one that died in an access never ended it
    book_.lines[line].process.store(GuestLine::kFree, std::memory_order_release);
  }
  [[nodiscard]] Guest guest_of(std::uint32_t line) const {
    return {.process = known_[line],
            .uid = book_.lines[line].uid.load(std::memory_order_acquire),
            .number = book_.lines[line].number.load(std::memory_order_relaxed)};
  }

  GuestBook& book_;
  std::vector<std::int32_t> known_; // by line: the process that is known to have it
  std::uint64_t seen_ = 0;
};

} // namespace heddle::segments
