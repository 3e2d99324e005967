// Which engine of a network interface moves a large message, where there are several: of all the one with the fewest under way, and
// of equals the one after the last. Both ends of a message have one of these and choose their own end of it, since nobody else knows
// what else they have under way. One that is alone goes on from its engine to the next ones, chunk by chunk.
// Not here: patterns, which are planned as a whole (src/pattern/planner.hpp).
#pragma once

#include "ir/command.hpp"

#include <cstdint>
#include <vector>

namespace heddle::engine {

class EngineTurns {
 public:
  EngineTurns() = default;
  explicit EngineTurns(std::uint32_t engines) : under_way_(engines, 0) {}

  // Whether there is anything to choose.
  [[nodiscard]] bool several() const { return under_way_.size() > 1; }
  [[nodiscard]] std::uint32_t engines() const { return static_cast<std::uint32_t>(under_way_.size()); }

  // kAnyEngine where there is nothing to choose.
  std::uint8_t take() {
    if (!several()) return ir::kAnyEngine;
    std::uint32_t best = (last_ + 1) % engines();
    for (std::uint32_t i = 2; i <= engines(); ++i)
      if (const std::uint32_t at = (last_ + i) % engines(); under_way_[at] < under_way_[best]) best = at;
    ++under_way_[best];
    ++messages_;
    last_ = best;
    return static_cast<std::uint8_t>(best);
  }
  void give_back(std::uint8_t engine) {
    if (engine >= under_way_.size()) return;
    --under_way_[engine];
    --messages_;
  }
  // Of a chunk of a message that begins at `first`: that one, unless the message is alone, and engines would be idle. `more_to_come`:
  // it is the first of several, which would find chunks of it on the engines that are theirs.
  [[nodiscard]] std::uint8_t engine_of(std::uint8_t first, std::uint64_t chunk, bool more_to_come = false) const {
    if (first == ir::kAnyEngine || !several()) return ir::kAnyEngine;
    const bool alone = messages_ == 1 && !more_to_come;
    return static_cast<std::uint8_t>((first + (alone ? chunk : 0)) % engines());
  }

 private:
  std::vector<std::uint32_t> under_way_; // messages, by the engine that they begin at
  std::uint32_t messages_ = 0;
  std::uint32_t last_ = ~std::uint32_t{0};
};

} // namespace heddle::engine
