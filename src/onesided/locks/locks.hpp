// Locks by tickets (lock_memory.hpp): taking one and handing it on, by the steps of machine.hpp. What they do to the lock's words is the same
// in direct memory and by commands (words.hpp); passing over the dead is in recovery.hpp.
#pragma once

#include "onesided/common.hpp"
#include "onesided/locks/recovery.hpp"
#include "onesided/locks/words.hpp"
#include "onesided/records.hpp"

namespace heddle::onesided {

// `Memory` is how words are reached in direct memory (base/shared_words.hpp).
template <typename Memory>
class BasicLocks final : private RecoveryHost {
 public:
  explicit BasicLocks(Common& common) : common_(common), words_(common), recovery_(common, words_, *this) {}

  [[nodiscard]] std::uint64_t bytes() const { return words_.layout().bytes(); }
  // Whether the area can be a lock of this job: what a peer says of it is not believed further than that.
  [[nodiscard]] bool fits(const KnownArea& area) const { return area.bytes >= bytes() && area.atomics; }

  // At once, where the lock is free and nobody comes in between. False: nothing has happened, and the general form is to be used.
  [[nodiscard]] bool lock_now(KnownArea& area);
  // At once, where nobody waits. False as above.
  [[nodiscard]] bool unlock_now(KnownArea& area);

  // The area is open. The tracker has begun, and is ended here.
  void lock(KnownArea& area, Tracker& tracker) { call(area, lock::Input::lock, tracker); }
  void try_lock(KnownArea& area, Tracker& tracker) { call(area, lock::Input::try_lock, tracker); }
  void unlock(KnownArea& area, Tracker& tracker) { call(area, lock::Input::unlock, tracker); }

  void command_ended(const ir::Event& event);
  // A record says that a ticket is served.
  void passed(const LockPassed& record);
  // The lock is gone: calls that wait for it here end.
  void lost(KnownArea& area, ErrorCode code);
  // A process has died: whoever waits looks whether that concerns it.
  void peer_failed();
  // Looks at a lock that is waited for. True: it is waited for no longer.
  bool look(KnownArea& area);

 private:
  void call(KnownArea& area, lock::Input input, Tracker& tracker);
  // `word` is what came with the input: the deaths, or the code of a loss.
  void feed(KnownArea& area, lock::Input input, std::uint64_t word = 0) override;
  void carry_out(KnownArea& area, lock::Effect effect, std::uint64_t word);
  void end(KnownArea& area, ErrorCode code);

  // Effects.
  void take_ticket(KnownArea& area);
  void look_first(KnownArea& area);
  void try_ticket(KnownArea& area);
  void claim_and_look(KnownArea& area);
  void wait(KnownArea& area);
  void ask(KnownArea& area);
  void serve_next(KnownArea& area);
  void tell_next(KnownArea& area, std::uint32_t ticket, std::uint64_t claim) override;

  // What a word of the lock says, as an input.
  void step_ended(KnownArea& area, std::uint64_t word);
  void got_ticket(KnownArea& area, std::uint64_t old);
  void tried(KnownArea& area, std::uint64_t old);
  void left(KnownArea& area, std::uint64_t old);
  [[nodiscard]] lock::Input busy_or_doubt(const KnownArea& area) const;
  static lock::Input served_or_not(const KnownArea& area, LockState state) {
    return state.serving == area.seat.ticket ? lock::Input::served : lock::Input::not_yet;
  }

  Common& common_;
  BasicLockWords<Memory> words_;
  BasicRecovery<Memory> recovery_;
};
using Locks = BasicLocks<base::Processor>;
extern template class BasicLocks<base::Processor>;

// From away to held and back as the machine steps, but for the ticket, which is taken only if it is served at once.
template <typename Memory>
inline bool BasicLocks<Memory>::lock_now(KnownArea& area) {
  LockSeat& seat = area.seat;
  if (!seat.direct.exists() || seat.state != lock::State::away || !seat.direct.enter()) [[unlikely]]
    return false;
  std::uint64_t& state = words_.word(area, LockLayout::kState);
  std::uint64_t seen = Memory::load(state, std::memory_order_relaxed);
  const LockState now = LockState::unpack(seen);
  std::uint64_t& trying = words_.word(area, words_.layout().trying(common_.engine.rank));
  bool taken = now.next == now.serving;
  if (taken) {
    Memory::store(trying, 1, std::memory_order_relaxed);
    taken = Memory::compare_exchange(state, seen, seen + LockState::kTakeTicket, std::memory_order_acq_rel);
    if (taken) {
      Memory::store(words_.word(area, words_.layout().claim(now.next)),
                    LockClaim::pack(now.next, common_.engine.rank, true),
                    std::memory_order_relaxed); // released with `trying`
      seat.ticket = now.next;
      seat.state = lock::State::held;
    }
    Memory::store(trying, 0, std::memory_order_release);
  }
  seat.direct.leave();
  return taken;
}

template <typename Memory>
inline bool BasicLocks<Memory>::unlock_now(KnownArea& area) {
  LockSeat& seat = area.seat;
  if (!seat.direct.exists() || seat.state != lock::State::held || !seat.direct.enter()) [[unlikely]]
    return false;
  std::uint64_t seen = LockState{.next = seat.ticket + 1, .serving = seat.ticket}.pack();
  const bool left = Memory::compare_exchange(words_.word(area, LockLayout::kState), seen,
                                             seen + LockState::serve_next(seat.ticket), std::memory_order_release);
  if (left) seat.state = lock::State::away;
  seat.direct.leave();
  return left;
}

} // namespace heddle::onesided
