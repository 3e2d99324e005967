// All that one-sided operations still have to do: what has become ready, which is done before the call that it came up in returns, and what
// waits for room or for its turn, which is tried at every call of progress. Whoever makes something ready puts it here and goes on; nobody
// carries out another's work in the middle of its own.
#pragma once

#include "base/reserve.hpp"
#include "onesided/areas/known_area.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace heddle::onesided {

struct Gathering;

// Ready.
struct Granted { // the area's key is here: what has waited for it runs
  KnownArea* area = nullptr;
};
struct Closed { // the area cannot be used any more; if it is a lock, it is lost
  KnownArea* area = nullptr;
};
struct Gathered { // an mcast has the keys of all its receivers
  Gathering* gathering = nullptr;
};
using Ready = std::variant<Granted, Closed, Gathered>;

// Tried again.
struct LockTurn { // a lock is waited for
  KnownArea* area = nullptr;
};
struct Scattering { // records of a push wait for room
  Transfer* transfer = nullptr;
};
struct RelayMessage { // a relay's record waits for room or for a connection
  base::BackedVector<std::byte> bytes;
};
struct Missed { // a relay of this process has not reached one of its receivers
  std::uint64_t number = 0;
  std::uint64_t rank = 0;
};
using Attempt = std::variant<std::monostate, LockTurn, Scattering, RelayMessage, Missed>; // monostate: dropped

class WorkList {
 public:
  void add(Ready task) {
    ready_.push_back(task);
    busy_ = true;
  }
  void retry(Attempt attempt) {
    attempts_.push_back(std::move(attempt));
    busy_ = true;
  }
  // It is no longer waited for.
  void drop(const KnownArea& lock) {
    drop_if<LockTurn>([&lock](const LockTurn& turn) { return turn.area == &lock; });
  }
  template <typename Kind, typename Predicate>
  void drop_if(const Predicate& unwanted) {
    for (Attempt& attempt : attempts_)
      if (const Kind* kind = std::get_if<Kind>(&attempt); kind != nullptr && unwanted(*kind))
        attempt = std::monostate{};
  }

  // Carries out what is ready, and what becomes ready by that. In the middle of that it does nothing: the outer call goes on.
  template <typename CarryOut>
  void settle(const CarryOut& carry_out) {
    if (!busy_ || settling_) return;
    const Mark mark(settling_);
    while (next_ready_ < ready_.size()) {
      const Ready task = ready_[next_ready_++];
      std::visit(carry_out, task);
    }
    tidy();
  }
  // Tries each that is there now; those of which `attempt` says no stay, in their order. Returns how many are done.
  template <typename Try>
  std::size_t try_all(const Try& attempt) {
    const Mark mark(settling_);
    std::size_t done = 0;
    for (std::size_t i = 0, count = attempts_.size(); i < count; ++i) {
      Attempt one = std::exchange(attempts_[i], std::monostate{});
      if (std::holds_alternative<std::monostate>(one)) continue;
      bool is_done = false;
      try {
        is_done = std::visit(attempt, one);
      } catch (...) {
        attempts_[i] = std::move(one);
        throw;
      }
      if (is_done)
        ++done;
      else
        attempts_[i] = std::move(one);
    }
    return done;
  }

  // Something is to be done at the next call of progress.
  [[nodiscard]] const bool& busy() const { return busy_; }
  // And no event will say when. A lock's turn is announced by whoever unlocks, unless processes have died.
  [[nodiscard]] bool tries_again() const {
    return std::ranges::any_of(attempts_, [](const Attempt& attempt) {
      const LockTurn* turn = std::get_if<LockTurn>(&attempt);
      return turn != nullptr ? turn->area->seat.alert : !std::holds_alternative<std::monostate>(attempt);
    });
  }

 private:
  class Mark {
   public:
    explicit Mark(bool& flag) : flag_(flag) { flag_ = true; }
    ~Mark() { flag_ = false; }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

   private:
    bool& flag_;
  };
  void tidy() {
    ready_.clear();
    next_ready_ = 0;
    if (!attempts_.empty())
      std::erase_if(attempts_, [](const Attempt& attempt) { return std::holds_alternative<std::monostate>(attempt); });
    busy_ = !attempts_.empty();
  }

  base::BackedVector<Ready> ready_;
  std::size_t next_ready_ = 0;
  base::BackedVector<Attempt> attempts_;
  bool busy_ = false;
  bool settling_ = false;
};

} // namespace heddle::onesided
