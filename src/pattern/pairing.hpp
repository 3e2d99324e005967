// Which send or put goes with which receive or exposure, and where it lands: this process's side of a compile, without messages.
#pragma once

#include "base/reserve.hpp"
#include "engine/engine.hpp"
#include "pattern/first_error.hpp"
#include "pattern/plan.hpp"

#include <cstdint>

namespace heddle::pattern {

[[nodiscard]] constexpr bool goes_out(Declared::Kind kind) {
  return kind == Declared::Kind::send || kind == Declared::Kind::put;
}
// Of what a record of a send stands in, at the receiver.
[[nodiscard]] std::uint64_t slot_bytes(std::uint64_t payload);

class Pairing {
 public:
  // All outlive it. What goes out and does not fit is noted in `error`.
  Pairing(engine::Engine& engine, Plan& plan, FirstError& error)
      : engine_(engine), plan_(plan), error_(error), paired_(plan.items.size(), false) {}

  // Sends to itself and puts into its own memory need nobody else.
  void pair_up_within();
  // What a partner, with this index in the plan, wants of this process: a place for it, or the reason why not.
  Answer answer(Partner& partner, std::uint32_t index, const Want& want);
  // When all wants are answered: a receive that nobody sends for is an error.
  void check_receives();

 private:
  Answer answer_put(Partner& partner, std::uint32_t index, const Want& want);
  Answer land(Partner& partner, std::uint32_t index, In in, const Declared& item);

  engine::Engine& engine_;
  Plan& plan_;
  FirstError& error_;
  base::BackedVector<bool> paired_; // by item
};

} // namespace heddle::pattern
