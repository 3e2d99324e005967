// The halo exchange of SCALE-LES3, the weather model of the report: two horizontal axes, up to eight neighbours, 14 puts.
#pragma once

#include "schedule/problem.hpp"

#include <heddle/error.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace heddle::tool {

// Opposites follow each other: whoever takes neighbours of this list at once takes those that share no link.
enum class Direction : std::uint8_t { east, west, north, south, north_west, south_east, north_east, south_west };
inline constexpr std::size_t kDirections = 8;
std::string_view to_string(Direction direction);
// Steps along the columns (east is 1), the rows (south is 1) and the layers (up is 1) of the grid, each -1, 0 or 1.
struct Step {
  int column = 0;
  int row = 0;
  int layer = 0;
  bool operator==(const Step&) const = default;
};
Step step_of(Direction direction);

// Vertical grid sizes of the report.
inline constexpr std::array<std::uint32_t, 11> kGridSizes{60, 70, 80, 109, 218, 327, 436, 545, 654, 763, 872};

struct HaloPut {
  Direction direction{};
  std::uint64_t bytes = 0;
};
// The directions of one figure: "ew", "ns", "ewns", "diagonal", "all". Diagonals come first, and puts of one direction one after
// the other, as in the report. Error: another name.
Result<std::vector<HaloPut>> scale_les3(std::uint32_t k, std::string_view directions);

struct StepPut {
  Step step;
  std::uint64_t bytes = 0;
};
// The problem of any process, when all run the same and straight neighbours are one hop apart: four links stand for all, since a
// process's diagonal takes another's straight link while that one's takes its own; six where puts go up or down, too. `link_rate` in
// bytes per nanosecond.
schedule::Problem grid_problem(std::span<const StepPut> puts, const ir::Resources& resources, double link_rate);
inline constexpr std::array<std::string_view, 6> kGridLinks{"east", "west", "north", "south", "up", "down"};
schedule::Problem halo_problem(const std::vector<HaloPut>& puts, const ir::Resources& resources, double link_rate);

} // namespace heddle::tool
