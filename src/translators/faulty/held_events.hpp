// Events that a faulty network has seen and not yet given.
#pragma once

#include "ir/event.hpp"
#include "translators/faulty/dice.hpp"

#include <cstdint>
#include <deque>
#include <span>

namespace heddle::translators {

class HeldEvents {
 public:
  // Completions may be delayed alone; what peers announce stays in order among itself, as the network gave it.
  void push(const ir::Event& event, std::uint64_t due);
  // With that probability, the newest completion changes places with another.
  void shuffle(Dice& dice, double probability);
  std::size_t pop(std::span<ir::Event> to, std::uint64_t now);
  [[nodiscard]] std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    ir::Event event;
    std::uint64_t due = 0;
  };
  std::deque<Held> held_;
};

} // namespace heddle::translators
