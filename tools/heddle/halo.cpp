#include "halo.hpp"

#include <algorithm>
#include <string>

namespace heddle::tool {

namespace {

constexpr std::uint64_t kHalo = 2;  // grid points
constexpr std::uint64_t kSide = 16; // horizontal grid points of a process, both ways
constexpr std::uint64_t kReal = 8;  // bytes

struct Name {
  std::string_view text;
  Step step;
};
constexpr std::array<Name, kDirections> kNames{{{"east", {1, 0}},
                                                {"west", {-1, 0}},
                                                {"north", {0, -1}},
                                                {"south", {0, 1}},
                                                {"north-west", {-1, -1}},
                                                {"south-east", {1, 1}},
                                                {"north-east", {1, -1}},
                                                {"south-west", {-1, 1}}}};

} // namespace

std::string_view to_string(Direction direction) {
  return kNames[static_cast<std::size_t>(direction)].text;
}

Step step_of(Direction direction) {
  return kNames[static_cast<std::size_t>(direction)].step;
}

Result<std::vector<HaloPut>> scale_les3(std::uint32_t k, std::string_view directions) {
  const bool all = directions == "all";
  const bool four = all || directions == "ewns";
  const bool diagonal = all || directions == "diagonal";
  const bool east_west = four || directions == "ew";
  const bool north_south = four || directions == "ns";
  if (!diagonal && !east_west && !north_south)
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "'" + std::string(directions) + "' are no directions: expected ew, ns, ewns, diagonal or all"});
  const std::uint64_t column = (k + 2 * kHalo) * kReal;
  std::vector<HaloPut> puts;
  const auto add = [&puts](Direction direction, std::uint64_t bytes, int count) {
    puts.insert(puts.end(), static_cast<std::size_t>(count), HaloPut{direction, bytes});
  };
  if (diagonal)
    for (const Direction direction :
         {Direction::north_west, Direction::north_east, Direction::south_west, Direction::south_east})
      add(direction, column * kHalo, 2);
  if (east_west)
    for (const Direction direction : {Direction::east, Direction::west}) add(direction, column * kHalo * kSide, 1);
  if (north_south)
    for (const Direction direction : {Direction::north, Direction::south}) add(direction, column * kSide, 2);
  return puts;
}

namespace {

// What orders equals in bottom-left: the report's directions first, in its order.
std::uint32_t number_of(Step step) {
  for (std::uint32_t i = 0; i < kDirections; ++i)
    if (kNames[i].step == step) return i;
  return static_cast<std::uint32_t>(kDirections) +
         static_cast<std::uint32_t>(9 * (step.layer + 1) + 3 * (step.row + 1) + step.column + 1);
}

std::vector<std::uint32_t> links_of(Step step) {
  std::vector<std::uint32_t> links;
  if (step.column != 0) links.push_back(step.column > 0 ? 0 : 1);
  if (step.row != 0) links.push_back(step.row < 0 ? 2 : 3);
  if (step.layer != 0) links.push_back(step.layer > 0 ? 4 : 5);
  return links;
}

} // namespace

schedule::Problem grid_problem(std::span<const StepPut> puts, const ir::Resources& resources, double link_rate) {
  const bool planar = std::ranges::all_of(puts, [](const StepPut& put) { return put.step.layer == 0; });
  schedule::Problem problem{.resources = resources,
                            .link_rates = std::vector<double>(planar ? 4 : 6, link_rate),
                            .stands_for_all = true,
                            .in_order = true};
  for (const StepPut& put : puts) {
    const std::vector<std::uint32_t> links = links_of(put.step);
    problem.add({.bytes = put.bytes,
                 .peer = number_of(put.step),
                 .direction = number_of(put.step),
                 .diagonal = links.size() > 1},
                std::span<const std::uint32_t>(links));
  }
  return problem;
}

schedule::Problem halo_problem(const std::vector<HaloPut>& puts, const ir::Resources& resources, double link_rate) {
  std::vector<StepPut> steps;
  for (const HaloPut& put : puts) steps.push_back({step_of(put.direction), put.bytes});
  return grid_problem(steps, resources, link_rate);
}

} // namespace heddle::tool
