#include "pattern/grid.hpp"

#include "base/refusal.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace heddle::pattern {

namespace {

// Offsets are told apart by numbers of the order of 3 to the power of axes.
constexpr std::size_t kMostAxes = 8;

// One number for each offset: 3 to the power of axes, opposite ones next to each other.
std::uint32_t code_of(const std::vector<int>& offset, int sign) {
  std::uint32_t code = 0;
  for (const int each : offset) code = code * 3 + static_cast<std::uint32_t>(sign * each + 1);
  return code;
}

// Straight ones first, then by axis; opposites next to each other.
std::uint32_t direction_of(const std::vector<int>& offset) {
  const auto steps = static_cast<std::uint32_t>(std::ranges::count_if(offset, [](int each) { return each != 0; }));
  const std::uint32_t own = code_of(offset, 1);
  const std::uint32_t opposite = code_of(offset, -1);
  std::uint32_t all = 1;
  for (std::size_t axis = 0; axis < offset.size(); ++axis) all *= 3;
  return steps * 2 * all + 2 * std::min(own, opposite) + (own < opposite ? 0 : 1);
}

Hint hint_of(const std::vector<int>& offset, const std::shared_ptr<const GridPlaces>& places, std::uint32_t own) {
  Hint hint{.given = true, .direction = direction_of(offset), .steps = {}, .offset = offset, .places = places};
  for (std::uint32_t axis = 0; axis < offset.size(); ++axis) {
    if (offset[axis] == 0) continue;
    std::vector<int> straight(offset.size(), 0);
    straight[axis] = offset[axis];
    hint.steps.push_back(
        {.axis = axis, .down = offset[axis] < 0, .neighbour = places->neighbour(own, straight).value_or(own)});
  }
  return hint;
}

} // namespace

Result<GridPlaces> GridPlaces::of(const Grid& grid, std::uint32_t size) {
  if (grid.size.empty() || grid.size.size() > kMostAxes)
    return refuse("a grid of " + std::to_string(grid.size.size()) + " axes, expected 1 to " +
                  std::to_string(kMostAxes));
  std::uint64_t count = 1;
  for (const std::uint32_t each : grid.size)
    if (count <= size) count *= each; // and no further: the product of all might wrap
  if (count != size)
    return refuse("a grid of " +
                  std::string(count > size ? "more than " + std::to_string(size) : std::to_string(count)) +
                  " places for a job of " + std::to_string(size));
  if (!grid.periodic.empty() && grid.periodic.size() != grid.size.size())
    return refuse("a grid of " + std::to_string(grid.size.size()) + " axes says of " +
                  std::to_string(grid.periodic.size()) + " whether they are periodic");
  GridPlaces places(grid, size);
  for (std::uint32_t place = 0; place < size && !grid.ranks.empty(); ++place) {
    const auto rank = place < grid.ranks.size() ? static_cast<std::uint32_t>(grid.ranks[place]) : size;
    if (rank >= size || places.place_[rank] != size || grid.ranks.size() != size)
      return refuse("the ranks of a grid are not 0 to " + std::to_string(size - 1) + ", each once");
    places.place_[rank] = place;
    places.rank_[place] = rank;
  }
  return places;
}

std::optional<std::uint32_t> GridPlaces::neighbour(std::uint32_t rank, const std::vector<int>& offset) const {
  std::uint32_t rest = place_[rank];
  std::uint32_t place = 0;
  std::uint32_t stride = 1;
  for (std::size_t axis = grid_.size.size(); axis-- > 0;) {
    const auto size = static_cast<std::int64_t>(grid_.size[axis]);
    std::int64_t at = std::int64_t{rest % grid_.size[axis]} + offset[axis];
    rest /= grid_.size[axis];
    if (at < 0 || at >= size) {
      if (grid_.periodic.empty() || !grid_.periodic[axis]) return std::nullopt;
      at = (at + size) % size;
    }
    place += static_cast<std::uint32_t>(at) * stride;
    stride *= grid_.size[axis];
  }
  return rank_[place];
}

GridPlaces::GridPlaces(const Grid& grid, std::uint32_t size)
    : grid_(grid), place_(size, grid.ranks.empty() ? 0 : size), rank_(size, 0) {
  for (std::uint32_t i = 0; i < size && grid.ranks.empty(); ++i) place_[i] = rank_[i] = i;
}

Result<std::vector<Declared>> neighbour_requests(const Grid& grid, const GridMember& member,
                                                 std::span<const NeighbourExchange> exchanges, bool barriers) {
  auto made = GridPlaces::of(grid, member.size);
  if (!made) return std::unexpected(made.error());
  const auto places = std::make_shared<const GridPlaces>(std::move(*made));
  std::vector<Declared> items;
  std::map<std::uint32_t, std::uint32_t> ordinals; // how many with the same offset came before
  for (const NeighbourExchange& exchange : exchanges) {
    const auto outside = [](int each) { return each < -1 || each > 1; };
    if (exchange.offset.size() != grid.size.size() || std::ranges::any_of(exchange.offset, outside))
      return refuse("an offset has -1, 0 or 1 for each of the grid's " + std::to_string(grid.size.size()) + " axes");
    const std::uint64_t ordinal = ordinals[code_of(exchange.offset, 1)]++;
    const auto neighbour = places->neighbour(member.own, exchange.offset);
    if (!neighbour) continue;
    // The neighbour sees this process at the opposite offset.
    const std::uint64_t sent_as = ordinal << 32U | code_of(exchange.offset, 1);
    const std::uint64_t received_as = ordinal << 32U | code_of(exchange.offset, -1);
    items.push_back({.kind = barriers ? Declared::Kind::put : Declared::Kind::send,
                     .rank = *neighbour,
                     .tag = sent_as,
                     .source = exchange.out,
                     .hint = hint_of(exchange.offset, places, member.own)});
    items.push_back({.kind = barriers ? Declared::Kind::expose : Declared::Kind::receive,
                     .rank = *neighbour,
                     .tag = received_as,
                     .target = exchange.in});
  }
  return items;
}

} // namespace heddle::pattern
