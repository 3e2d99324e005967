#include "halo.hpp"

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

schedule::Problem halo_problem(const std::vector<HaloPut>& puts, const ir::Resources& resources, double link_rate) {
  schedule::Problem problem{.resources = resources,
                            .link_rates = std::vector<double>(4, link_rate),
                            .stands_for_all = true,
                            .in_order = true};
  for (const HaloPut& put : puts) {
    const Step step = step_of(put.direction);
    std::vector<std::uint32_t> links;
    if (step.column != 0) links.push_back(step.column > 0 ? 0 : 1);
    if (step.row != 0) links.push_back(step.row < 0 ? 2 : 3);
    problem.add({.bytes = put.bytes,
                 .peer = static_cast<std::uint32_t>(put.direction),
                 .direction = static_cast<std::uint32_t>(put.direction),
                 .diagonal = is_diagonal(put.direction)},
                std::span<const std::uint32_t>(links));
  }
  return problem;
}

} // namespace heddle::tool
