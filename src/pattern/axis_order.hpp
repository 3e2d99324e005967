// Along which axis of a grid diagonal requests go first. A network that routes dimension after dimension takes the same order
// everywhere only if the grid lies on it that way; then a diagonal of one process meets those of others just as it would meet
// this process's own, and a plan for one holds for all. Each process looks at its own routes; all put together what they have
// seen (Meeting).
#pragma once

#include "engine/engine.hpp"
#include "pattern/plan.hpp"

#include <cstdint>
#include <span>

namespace heddle::pattern {

class AxisOrder {
 public:
  AxisOrder() = default;
  // What a process sees of the requests that it sends over the network.
  static AxisOrder seen_in(std::span<const Declared> items, engine::Engine& engine);

  // As bits, for a Meeting: those of several processes are put together by "or".
  static AxisOrder from_news(std::uint8_t news) { return AxisOrder(news & kAll); }
  [[nodiscard]] std::uint8_t news() const { return bits_; }

  // Whether nobody has seen two orders, a neighbour to whom more than its own link leads, or one in two directions.
  [[nodiscard]] bool is_one() const;

 private:
  static constexpr std::uint32_t kMostAxes = 3;
  static constexpr std::uint8_t kNone = 0x80; // routes are not along axes, or there are too many axes to tell
  static constexpr std::uint8_t kAll = 0xfe;  // without Meeting::kWrong

  explicit AxisOrder(std::uint32_t bits) : bits_(static_cast<std::uint8_t>(bits)) {}
  // For the axes of each pair whether anybody goes along it before the other.
  static std::uint8_t bit_of(std::uint32_t first, std::uint32_t then);
  void see(const Declared& item, engine::Engine& engine);

  std::uint8_t bits_ = 0;
};

} // namespace heddle::pattern
