// A compiled pattern at work: hands over what may be, takes what has come, and says when all is done.
// Nothing here allocates, plans or matches.
#pragma once

#include "base/reserve.hpp"
#include "engine/engine.hpp"
#include "pattern/give_ups.hpp"
#include "pattern/meeting.hpp"
#include "pattern/plan.hpp"
#include "pattern/sender.hpp"
#include "pattern/turns.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::pattern {

class Runner {
 public:
  struct Compiled { // what the compiler leaves to it
    std::uint32_t serial = 0;
    std::uint64_t failures_before = 0;
  };
  // `number` comes back in the upper half of the number of commands' events.
  Runner(engine::Engine& engine, Plan& plan, const Compiled& compiled, std::uint32_t serial, std::uint32_t number,
         bool barriers);

  void start();
  // True when the round is over.
  bool progress();
  // One of its commands has ended.
  void command_ended(std::uint32_t out, ir::Status status) { sender_.command_ended(out, status); }
  [[nodiscard]] bool failed() const { return failed_; }
  // Why the last round was not whole, or the next cannot be.
  [[nodiscard]] ErrorCode reason() const;
  // Whether the next round could be whole: no partner has failed or let go before it. With barriers all meet, so that all hear
  // of one that lets go: only those who cannot come to the meeting count.
  [[nodiscard]] bool sound() const { return !failed_ && !(barriers_ ? somebody_has_died() : somebody_is_missing()); }
  [[nodiscard]] std::vector<Pattern::Item> incomplete() const;
  // Partners are told that nothing more will come, and why. Who frees comes to the next meeting, and says there that it does.
  void say_farewell(Farewell::Why why);
  // The meetings that this process comes to no more since somebody has died, and to which others may still send; none: nothing.
  [[nodiscard]] std::optional<std::uint32_t> abandoned_serial() const {
    const bool over = barriers_ && somebody_has_died() && meeting_.state() != Meeting::State::running;
    return over || meeting_.abandoned() ? std::optional(meeting_.serial()) : std::nullopt;
  }
  // While no round is under way: whether no message of its meetings is either, or of one that gave up.
  [[nodiscard]] bool wound_up() {
    const bool heard_out = give_ups_.wound_up();
    return (meeting_.state() == Meeting::State::running || meeting_.wound_up()) && heard_out;
  }
  // Whether nobody writes here any more, so that memory can be given back.
  [[nodiscard]] bool forgotten();

 private:
  enum class Phase : std::uint8_t { gathering, moving, parting, over };

  void begin_moving();
  void move();
  bool take(In& in);
  void copy_within();
  void drop_the_lost();
  [[nodiscard]] bool all_have_begun() const;
  [[nodiscard]] bool somebody_has_died() const { return engine_.failures() != compiled_.failures_before; }
  [[nodiscard]] bool somebody_is_missing() const;
  // Whether what the partner has for this round, or takes in it, may be missing.
  [[nodiscard]] bool is_missing(const Partner& partner) const;
  static Farewell farewell_of(const Partner& partner) { return pattern::farewell_of(*partner.line); }

  engine::Engine& engine_;
  Plan& plan_;
  const bool barriers_;
  const Compiled compiled_;
  Meeting meeting_;
  Sender sender_;
  GiveUps give_ups_;
  Phase phase_ = Phase::over;
  std::uint64_t round_ = 0;
  std::uint64_t gone_seen_ = 0;
  bool failed_ = false;
  bool copied_within_ = false;
  base::BackedVector<std::uint32_t> waiting_; // outs, in order

  // What comes from one partner, in the order in which it was declared there. Only the first that is missing is looked at: a
  // look at a word that is about to be written takes its cache line from the writer.
  struct Lane {
    std::uint32_t partner = 0;
    std::uint32_t next = 0; // into arrivals_
    std::uint32_t end = 0;
    std::uint32_t begin = 0;
  };
  base::BackedVector<std::uint32_t> arrivals_; // ins, by partner
  base::BackedVector<Lane> lanes_;
  std::uint32_t coming_ = 0; // ins that are missing
};

} // namespace heddle::pattern
