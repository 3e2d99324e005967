// A member's one-sided operations: an area of its own that all reach, with a counter, words under a lock and a slot per rank.
#pragma once

#include "tests/chaos/member.hpp"

#include <array>
#include <vector>

namespace heddle::tests {

class Shared {
 public:
  Shared(Context& context, const ChaosPlan& plan, Fate& fate)
      : context_(context),
        one_sided_(context.one_sided()),
        fate_(fate),
        seed_(plan.seed),
        dice_(plan.seed * 1000 + 500 + fate.rank()),
        gone_(context.size()),
        last_(context.size()),
        added_(context.size()) {
    memory_ = heddle::tests::demand(one_sided_.allocate(kArea, kSlots + kSlotBytes * context.size()), "allocate");
    heddle::tests::demand(one_sided_.create_lock(kLock), "create_lock");
  }

  // `collect` is what to do while waiting.
  template <typename Collect>
  void act(Collect&& collect) {
    const std::uint32_t home = dice_.rank(context_.size());
    if (fate_.knows_dead(home) || gone_[home]) return;
    switch (dice_.below(3)) {
      case 0: copy(home, collect); break;
      case 1: count(home, collect); break;
      default: guard(home, collect); break;
    }
  }

  [[nodiscard]] const std::vector<std::uint64_t>& added() const { return added_; }
  [[nodiscard]] std::uint64_t counted() const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_.data(), sizeof value);
    return value;
  }

 private:
  static constexpr AreaId kArea{1};
  static constexpr AreaId kLock{2};
  static constexpr std::uint64_t kGuarded = 64;
  static constexpr std::uint64_t kSlots = 128;
  static constexpr std::uint64_t kSlotBytes = 4096;

  struct Guarded {
    std::uint64_t inside = 0; // rank + 1
    std::uint64_t left = 0;
    std::uint64_t right = 0; // equal to left when nobody is inside
  };

  // True: done. False: the home is gone.
  template <typename Collect>
  bool settle(const Tracker& tracker, std::uint32_t home, const char* what, Collect& collect) {
    while (!one_sided_.test(tracker)) {
      collect();
      fate_.watch_time();
    }
    if (tracker.code() == ErrorCode::ok || tracker.code() == ErrorCode::holder_died) return true;
    fate_.demand(fate_.may_end(tracker.code(), home, true), std::string(what) + " at rank " + std::to_string(home) +
                                                                " ended with " +
                                                                std::string(to_string(tracker.code())));
    gone_[home] = true; // it may be dead, and its lock this process's for ever
    return false;
  }

  template <typename Collect>
  void copy(std::uint32_t home, Collect& collect) {
    const Place slot{Rank{home}, kArea, kSlots + kSlotBytes * fate_.rank()};
    std::vector<std::byte> data(1 + dice_.below(dice_.chance(50) ? 64 : kSlotBytes));
    const Content content(seed_, 99, fate_.rank(), home, copies_++);
    content.write(data);
    Tracker pushed;
    one_sided_.push(slot, data, pushed);
    if (!settle(pushed, home, "a push", collect)) return;
    std::ranges::fill(data, std::byte{0});
    Tracker pulled;
    one_sided_.pull(slot, data, pulled);
    if (!settle(pulled, home, "a pull", collect)) return;
    fate_.demand(content.stands_in(data), "what was pushed to rank " + std::to_string(home) + " does not stand there");
  }

  template <typename Collect>
  void count(std::uint32_t home, Collect& collect) {
    Tracker tracker;
    one_sided_.atomic({Rank{home}, kArea, 0}, Atomic::add(1), tracker);
    if (!settle(tracker, home, "an addition", collect)) return;
    fate_.demand(tracker.value() >= last_[home], "a counter went back");
    last_[home] = tracker.value() + 1;
    ++added_[home];
  }

  template <typename Collect>
  void guard(std::uint32_t home, Collect& collect) {
    Tracker locked;
    one_sided_.lock(Rank{home}, kLock, locked);
    if (!settle(locked, home, "a lock", collect)) return;
    Guarded guarded;
    if (!move(home, guarded, false, collect)) return;
    const bool whole = guarded.inside == 0 && guarded.left == guarded.right;
    fate_.demand(whole || locked.code() == ErrorCode::holder_died, "words under a lock were torn, and nobody had died");
    fate_.midway();
    guarded.inside = std::uint64_t{fate_.rank()} + 1;
    ++guarded.left;
    if (!move(home, guarded, true, collect)) return;
    fate_.midway();
    Guarded now;
    if (!move(home, now, false, collect)) return;
    fate_.demand(now.inside == guarded.inside && now.left == guarded.left, "another process came in");
    guarded.inside = 0;
    guarded.right = guarded.left;
    if (!move(home, guarded, true, collect)) return;
    Tracker unlocked;
    one_sided_.unlock(Rank{home}, kLock, unlocked);
    settle(unlocked, home, "an unlock", collect);
  }

  template <typename Collect>
  bool move(std::uint32_t home, Guarded& guarded, bool there, Collect& collect) {
    const Place place{Rank{home}, kArea, kGuarded};
    Tracker tracker;
    if (there)
      one_sided_.push(place, std::as_bytes(std::span(&guarded, 1)), tracker);
    else
      one_sided_.pull(place, std::as_writable_bytes(std::span(&guarded, 1)), tracker);
    return settle(tracker, home, "words under a lock", collect);
  }

  Context& context_;
  OneSided& one_sided_;
  Fate& fate_;
  std::uint64_t seed_;
  Dice dice_;
  std::span<std::byte> memory_;
  std::vector<bool> gone_;           // homes
  std::vector<std::uint64_t> last_;  // what each home's counter must have reached
  std::vector<std::uint64_t> added_; // to each home's counter
  std::uint64_t copies_ = 0;
};

} // namespace heddle::tests
