// Locks by tickets (lock_memory.hpp): taking one, handing it on, and passing over the dead. By plain memory operations where the
// lock's area is direct memory, by commands elsewhere; the steps are the same.
//
//   away --lock--> taking --ticket--> held                       the ticket is served already
//                                     looking --not yet--> waiting --told or seen--> asking --> held
//   away --try--> trying --free--> held | --busy--> away, or where processes have died: probing
//                 probing --free--> trying | --all dead--> asking --> held | --somebody lives--> away
//   held --unlock--> leaving --nobody waits--> away | naming --> away      tells whoever is next
#pragma once

#include "base/reserve.hpp"
#include "base/shared_words.hpp"
#include "onesided/common.hpp"
#include "onesided/records.hpp"

#include <vector>

namespace heddle::onesided {

// `Memory` is how words are reached in direct memory (base/shared_words.hpp).
template <typename Memory>
class BasicLocks {
 public:
  explicit BasicLocks(Common& common) : common_(common), layout_{.size = common.engine.size} {}

  [[nodiscard]] std::uint64_t bytes() const { return layout_.bytes(); }
  // Whether the area can be a lock of this job: what a peer says of it is not believed further than that.
  [[nodiscard]] bool fits(const KnownArea& area) const { return area.bytes >= layout_.bytes() && area.atomics; }

  // At once, where the lock is free and nobody comes in between; the next, where nobody waits. False: nothing has happened,
  // and the general form is to be used.
  [[nodiscard]] bool lock_now(KnownArea& area);
  [[nodiscard]] bool unlock_now(KnownArea& area);

  // The area is open. The tracker has begun, and is ended here.
  void lock(KnownArea& area, Tracker& tracker);
  void try_lock(KnownArea& area, Tracker& tracker);
  void unlock(KnownArea& area, Tracker& tracker);

  void command_ended(const ir::Event& event);
  // A record says that a ticket is served.
  void passed(const LockPassed& record);
  // The lock is gone: whoever waits here hears of it.
  void lost(KnownArea& area, ErrorCode code);
  // A process has died: whoever waits looks whether that concerns it.
  void peer_failed();

  [[nodiscard]] bool idle() const { return waiting_.empty(); }
  // Looks at what waits. Returns how much was done.
  std::size_t progress();
  // A wait here depends on what nobody will tell of.
  [[nodiscard]] bool tries_again() const;
  // Direct memory that could not be entered: their areas are closed.
  [[nodiscard]] base::BackedVector<KnownArea*>& closed() { return closed_; }

 private:
  enum class Step : std::uint8_t { main, read, raise, pass };

  bool usable(KnownArea& area, Tracker& tracker, LockSeat::State wanted);
  void begin(KnownArea& area, Tracker& tracker, LockSeat::State state);
  void end(KnownArea& area, LockSeat::State state, ErrorCode code);

  // The steps.
  void got_ticket(KnownArea& area, std::uint64_t old);
  void try_free(KnownArea& area);
  void tried(KnownArea& area, std::uint64_t old);
  void found_busy(KnownArea& area);
  void probe(KnownArea& area);
  void wait(KnownArea& area);
  void served(KnownArea& area);
  void learned_deaths(KnownArea& area, std::uint64_t deaths);
  void served_next(KnownArea& area, std::uint64_t old);
  void tell_next(KnownArea& area, std::uint32_t ticket, std::uint64_t claim);
  void advance(KnownArea& area, const ir::Event& event);

  // Passing over the dead.
  void inspect(KnownArea& area);
  void judge(KnownArea& area);
  void remember_reading(LockSeat& seat, bool in_order);
  void act_on(KnownArea& area, LockVerdict verdict);
  void act_on_probe(KnownArea& area, LockVerdict verdict);
  void start_passing(KnownArea& area, bool held);
  void raise_deaths(KnownArea& area);
  void raised_deaths(KnownArea& area, bool done);
  void pass_over(KnownArea& area);
  void passed_over(KnownArea& area, bool done);
  void took_over(KnownArea& area, bool done);
  void look_again(KnownArea& area);
  // One that probes takes the next ticket with this step: there is none but the served one.
  [[nodiscard]] static bool takes_over(const LockSeat& seat);
  [[nodiscard]] LockReading reading_of(const base::BackedVector<std::uint64_t>& words) const {
    return {layout_, words};
  }

  // One word of the lock: at once in direct memory, otherwise a command whose event comes with that step.
  bool add(KnownArea& area, std::uint64_t offset, std::uint64_t value, std::uint64_t& old);
  bool swap(KnownArea& area, std::uint64_t offset, std::uint64_t expected, std::uint64_t value, Step step,
            std::uint64_t& old);
  void store(KnownArea& area, std::uint64_t offset, std::uint64_t value);
  bool read_claim(KnownArea& area, std::uint32_t ticket);
  ir::Command command(KnownArea& area, std::uint64_t offset, Step step) const;
  static std::uint64_t& word(const KnownArea& area, std::uint64_t offset) {
    return base::word_at(area.seat.direct.memory + offset);
  }

  Common& common_;
  LockLayout layout_;
  base::BackedVector<KnownArea*> waiting_;
  base::BackedVector<KnownArea*> closed_;
};
using Locks = BasicLocks<base::Processor>;
extern template class BasicLocks<base::Processor>;

// The steps are those of the general form (locks.cpp), but for the ticket, which is taken only if it is served at once.
template <typename Memory>
inline bool BasicLocks<Memory>::lock_now(KnownArea& area) {
  LockSeat& seat = area.seat;
  if (!seat.direct.exists() || seat.state != LockSeat::State::away || !seat.direct.enter()) [[unlikely]]
    return false;
  std::uint64_t& state = word(area, LockLayout::kState);
  std::uint64_t seen = Memory::load(state, std::memory_order_relaxed);
  const LockState now = LockState::unpack(seen);
  std::uint64_t& trying = word(area, layout_.trying(common_.engine.rank));
  bool taken = now.next == now.serving;
  if (taken) {
    Memory::store(trying, 1, std::memory_order_relaxed);
    taken = Memory::compare_exchange(state, seen, seen + LockState::kTakeTicket, std::memory_order_acq_rel);
    if (taken) {
      Memory::store(word(area, layout_.claim(now.next)), LockClaim::pack(now.next, common_.engine.rank, true),
                    std::memory_order_relaxed); // released with `trying`
      seat.ticket = now.next;
      seat.state = LockSeat::State::held;
    }
    Memory::store(trying, 0, std::memory_order_release);
  }
  seat.direct.leave();
  return taken;
}

template <typename Memory>
inline bool BasicLocks<Memory>::unlock_now(KnownArea& area) {
  LockSeat& seat = area.seat;
  if (!seat.direct.exists() || seat.state != LockSeat::State::held || !seat.direct.enter()) [[unlikely]]
    return false;
  std::uint64_t seen = LockState{.next = seat.ticket + 1, .serving = seat.ticket}.pack();
  const bool left = Memory::compare_exchange(word(area, LockLayout::kState), seen,
                                             seen + LockState::serve_next(seat.ticket), std::memory_order_release);
  if (left) seat.state = LockSeat::State::away;
  seat.direct.leave();
  return left;
}

} // namespace heddle::onesided
