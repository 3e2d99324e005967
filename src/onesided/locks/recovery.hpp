// Passing over the dead: whoever waits for a lock, or tries it, reads the whole of it, judges whose turn it is (lock_memory.hpp), and where
// that is a dead process's, serves the next ticket in its place.
//
//   inspect --all words are read--> judge --mine--> served, or free for one that tries
//                                         --wait--> nothing, or busy for one that tries
//                                         --stay_alert--> looks again
//                                         --pass_over--> raise_deaths --> pass_over --> served, or looks again
#pragma once

#include "onesided/locks/machine.hpp"
#include "onesided/locks/words.hpp"

#include <cstdint>

namespace heddle::onesided {

// Whose lock it is.
class RecoveryHost {
 public:
  virtual ~RecoveryHost() = default;
  // What has come of it, for the lock's machine: served, free or busy.
  virtual void feed(KnownArea& area, lock::Input input, std::uint64_t word = 0) = 0;
  // The ticket is served now: its owner must be told.
  virtual void tell_next(KnownArea& area, std::uint32_t ticket, std::uint64_t claim) = 0;
};

template <typename Memory>
class BasicRecovery {
 public:
  BasicRecovery(Common& common, BasicLockWords<Memory>& words, RecoveryHost& host)
      : common_(common), words_(words), host_(host) {}

  // Reads the lock, and does what follows. For one that waits or probes.
  void inspect(KnownArea& area);
  // One of its commands has ended well.
  void command_ended(KnownArea& area, LockErrand errand, const ir::Event& event);

 private:
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
    return {words_.layout(), words};
  }

  Common& common_;
  BasicLockWords<Memory>& words_;
  RecoveryHost& host_;
};
extern template class BasicRecovery<base::Processor>;

} // namespace heddle::onesided
