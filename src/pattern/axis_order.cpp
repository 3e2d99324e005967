#include "pattern/axis_order.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace heddle::pattern {

std::uint8_t AxisOrder::bit_of(std::uint32_t first, std::uint32_t then) {
  const std::uint32_t pair = first + then - 1; // 0 and 1, 0 and 2, 1 and 2
  return static_cast<std::uint8_t>(2U << (2 * pair + (first < then ? 0 : 1)));
}

AxisOrder AxisOrder::seen_in(std::span<const Declared> items, engine::Engine& engine) {
  AxisOrder order;
  std::map<std::uint32_t, Hint::Step> straight; // by neighbour
  for (const Declared& item : items) {
    if (!item.hint.given || item.rank == engine.rank()) continue;
    order.see(item, engine);
    for (const Hint::Step& step : item.hint.steps) {
      const Hint::Step& first = straight.emplace(step.neighbour, step).first->second;
      if (first.axis != step.axis || first.down != step.down) order.bits_ |= kNone; // one cable serves both
    }
  }
  return order;
}

void AxisOrder::see(const Declared& item, engine::Engine& engine) {
  const auto route_to = [&engine](std::uint32_t rank) {
    return ir::route_to(engine.queue_to(rank).translator(), ir::Peer{rank}, 0);
  };
  const std::vector<Hint::Step>& steps = item.hint.steps;
  const std::vector<ir::PathLink> route = route_to(item.rank);
  if (route.size() != steps.size() || steps.size() > kMostAxes || steps.back().axis >= kMostAxes) {
    bits_ |= kNone;
    return;
  }
  if (steps.size() == 1) return;
  const auto leads = [&](const Hint::Step& step) {
    const auto straight = route_to(step.neighbour);
    return straight.size() == 1 && straight.front().link == route.front().link;
  };
  const auto first = std::ranges::find_if(steps, leads);
  if (first == steps.end()) {
    bits_ |= kNone;
    return;
  }
  for (const Hint::Step& other : steps)
    if (other.axis != first->axis) bits_ |= bit_of(first->axis, other.axis);
}

bool AxisOrder::is_one() const {
  if ((bits_ & kNone) != 0) return false;
  for (std::uint32_t then = 1; then < kMostAxes; ++then)
    for (std::uint32_t first = 0; first < then; ++first)
      if ((bits_ & bit_of(first, then)) != 0 && (bits_ & bit_of(then, first)) != 0) return false;
  return true;
}

} // namespace heddle::pattern
