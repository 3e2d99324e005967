// What a process sends in a round of a pattern, and the words that it writes to its partners.
//
//   record   may go when the slot is free: its target has consumed the round before the last
//   data     may go when the target has started this round, as it lands in the program's memory
//   put      may go at once, unless the target has freed the pattern
//
// Nothing here allocates, plans or matches.
#pragma once

#include "engine/engine.hpp"
#include "pattern/plan.hpp"

#include <cstdint>

namespace heddle::pattern {

class Sender {
 public:
  // `number` comes back in the upper half of the number of commands' events.
  Sender(Plan& plan, std::uint32_t number) : plan_(plan), number_(std::uint64_t{number} << 32U) {}

  void begin_round(std::uint64_t round) { round_ = round; }
  // Hands over what may go. False: not yet.
  bool hand_over(Out& out, std::uint32_t index);
  // One of its commands has ended.
  void command_ended(std::uint32_t index, ir::Status status);
  // Outs whose commands have not ended.
  [[nodiscard]] std::uint32_t under_way() const { return under_way_; }
  // Into the partner's line, at that offset.
  static void put_word(const Partner& partner, std::uint64_t at, std::uint64_t word);

 private:
  bool hand_over_record(Out& out, std::uint32_t index, const Partner& partner);
  void hand_over_data(Out& out, std::uint32_t index, const Partner& partner);
  void raise_flag(const Out& out, const Partner& partner) const;
  static void put_word(engine::ScheduleQueue& queue, const ir::Command& command, const ir::DirectRing& direct,
                       std::uint64_t word);

  Plan& plan_;
  const std::uint64_t number_;
  std::uint64_t round_ = 0;
  std::uint32_t under_way_ = 0;
};

} // namespace heddle::pattern
