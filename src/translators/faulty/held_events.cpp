#include "translators/faulty/held_events.hpp"

#include <utility>

namespace heddle::translators {

void HeldEvents::push(const ir::Event& event, std::uint64_t due) {
  held_.push_back({.event = event, .due = due});
}

void HeldEvents::shuffle(Dice& dice, double probability) {
  if (held_.size() < 2 || !dice.chance(probability)) return;
  Held& newest = held_.back();
  Held& other = held_[dice.below(held_.size() - 1)];
  const bool both_end_commands =
      newest.event.kind == ir::EventKind::completed && other.event.kind == ir::EventKind::completed;
  if (both_end_commands) std::swap(newest, other);
}

std::size_t HeldEvents::pop(std::span<ir::Event> to, std::uint64_t now) {
  std::size_t count = 0;
  bool announcement_waits = false;
  for (auto held = held_.begin(); held != held_.end() && count < to.size();) {
    const bool announcement = held->event.kind != ir::EventKind::completed;
    if (held->due > now || (announcement && announcement_waits)) {
      announcement_waits = announcement_waits || announcement;
      ++held;
      continue;
    }
    to[count++] = held->event;
    held = held_.erase(held);
  }
  return count;
}

} // namespace heddle::translators
