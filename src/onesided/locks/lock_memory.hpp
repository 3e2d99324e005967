// A lock as it lies in its home's area, and what one process holds about it. First come, first served, by tickets:
//
//   state    next ticket in the high half, ticket that is served in the low half; free while they are equal
//   deaths   tickets before this one were taken while a dead process held the lock, or before
//   claims   of ticket t at t mod slots: which process has it, and whether that process knows that it holds the lock
//   trying   of each process: 1 from before it takes a ticket until its claim is written
//
// All state is in the home's memory and changes by single words, so that whoever waits can tell from it, at any moment, whose
// turn it is, and pass a dead process over. The `trying` words are for the one gap: a ticket taken and not yet claimed.
// Lamport's bakery and Mellor-Crummey and Scott's ticket lock, 1991, with the claims added for recovery.
#pragma once

#include "base/reserve.hpp"
#include "ir/direct_area.hpp"
#include "onesided/locks/machine.hpp"

#include <heddle/onesided.hpp>

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace heddle::onesided {

struct LockState {
  std::uint32_t next = 0;
  std::uint32_t serving = 0;

  static constexpr std::uint64_t kTakeTicket = std::uint64_t{1} << 32U; // to add
  static constexpr LockState unpack(std::uint64_t word) {
    return {.next = static_cast<std::uint32_t>(word >> 32U), .serving = static_cast<std::uint32_t>(word)};
  }
  [[nodiscard]] constexpr std::uint64_t pack() const { return (std::uint64_t{next} << 32U) | serving; }
  // To add where `ticket` is served, so that the next one is: no carry into the other half.
  static constexpr std::uint64_t serve_next(std::uint32_t ticket) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(ticket + 1)) - ticket;
  }
};

struct LockClaim {
  std::uint32_t ticket = 0;
  std::uint32_t rank = 0;
  bool holds = false; // it knows that it holds the lock
  bool valid = false;

  static constexpr std::uint64_t kHolds = std::uint64_t{1} << 31U;
  static constexpr std::uint64_t pack(std::uint32_t ticket, std::uint32_t rank, bool holds) {
    return (std::uint64_t{ticket} << 32U) | (holds ? kHolds : 0) | (rank + 1);
  }
  static constexpr LockClaim unpack(std::uint64_t word) {
    const auto owner = static_cast<std::uint32_t>(word & (kHolds - 1));
    return {.ticket = static_cast<std::uint32_t>(word >> 32U),
            .rank = owner - 1,
            .holds = (word & kHolds) != 0,
            .valid = owner != 0};
  }
};

// Offsets of the words in the area, for a job of that size.
struct LockLayout {
  std::uint32_t size = 1;

  static constexpr std::uint64_t kState = 0;
  static constexpr std::uint64_t kDeaths = 64; // another cache line
  static constexpr std::uint64_t kClaims = 128;
  // Every process has one ticket at most.
  [[nodiscard]] std::uint32_t slots() const { return std::bit_ceil(size); }
  [[nodiscard]] std::uint64_t claim(std::uint32_t ticket) const { return kClaims + 8 * (ticket & (slots() - 1)); }
  [[nodiscard]] std::uint64_t trying(std::uint32_t rank) const { return kClaims + 8ULL * slots() + 8ULL * rank; }
  [[nodiscard]] std::uint64_t bytes() const { return trying(size); }
};

// `deaths`: a ticket, and a mark that there has been a death at all.
inline constexpr std::uint64_t kDeathMark = std::uint64_t{1} << 32U;
constexpr bool waited_through_death(std::uint64_t deaths, std::uint32_t ticket, std::uint32_t slots) {
  const std::uint32_t ahead = static_cast<std::uint32_t>(deaths) - ticket;
  return deaths != 0 && ahead >= 1 && ahead <= slots;
}

// The lock's memory as it was read; `before` is an earlier reading, empty at first.
struct LockReading {
  LockLayout layout;
  std::span<const std::uint64_t> words;

  [[nodiscard]] std::uint64_t at(std::uint64_t offset) const { return words[offset / 8]; }
  [[nodiscard]] LockState state() const { return LockState::unpack(at(LockLayout::kState)); }
  [[nodiscard]] LockClaim claim(std::uint32_t ticket) const { return LockClaim::unpack(at(layout.claim(ticket))); }
};

// What a process that waits with `ticket` does about the dead. One that tries the lock, and has none, looks at it as if it had the
// next: then `mine` is a free lock, and passing over the last of the dead makes that ticket its own.
struct LockVerdict {
  enum class Kind : std::uint8_t {
    mine,       // its ticket is served
    wait,       // whoever is served lives, and so do all before this ticket
    stay_alert, // a dead process is before it, or may be: look again
    pass_over,  // the served ticket is a dead process's: serve the next one
  };
  Kind kind{};
  bool held =
      false; // pass_over: the dead process may have held the lock, or was itself still to be told that an earlier holder had died
};
LockVerdict judge_lock(const LockReading& before, const LockReading& now, std::uint32_t ticket,
                       const std::function<bool(std::uint32_t)>& is_dead);

// What this process has of a lock.
struct LockSeat {
  lock::State state = lock::State::away;
  bool alert = false;      // the dead may be before it: looks again and again
  bool told = false;       // while it looks: its ticket is served
  bool inspecting = false; // a reading or what follows from it is under way
  std::uint32_t ticket = 0;
  std::uint32_t generation = 0; // of its use: answers to an earlier one are ignored
  Tracker* tracker = nullptr;
  ir::DirectArea direct;                     // onto an open lock's memory, where there is one
  std::uint64_t word = 0;                    // what a read brings; the state that try_lock or pass_over expects
  base::BackedVector<std::uint64_t> reading; // of the whole lock
  base::BackedVector<std::uint64_t> before;  // what can be counted on of the readings before it
  std::uint32_t readings = 0;                // so far
  std::uint64_t state_read = 0;              // in the last one
  void forget_readings() {
    before.clear();
    readings = 0;
  }
};

} // namespace heddle::onesided
