// Cartesian grids: who is whose neighbour, and which requests an exchange with neighbours consists of. Nothing of networks: where a
// grid lies on one is found out from routes (axis_order.hpp).
#pragma once

#include "pattern/plan.hpp"

#include <heddle/pattern.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace heddle::pattern {

// Places of a grid, and who has them.
class GridPlaces {
 public:
  // bad_argument: not as many places as processes, too many axes, or ranks that are not each there once.
  static Result<GridPlaces> of(const Grid& grid, std::uint32_t size);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(place_.size()); }
  // The rank at an offset of -1, 0 or 1 along each axis, or nothing where an open grid ends.
  [[nodiscard]] std::optional<std::uint32_t> neighbour(std::uint32_t rank, const std::vector<int>& offset) const;

 private:
  GridPlaces(const Grid& grid, std::uint32_t size);

  Grid grid_;
  std::vector<std::uint32_t> place_; // by rank
  std::vector<std::uint32_t> rank_;  // by place
};

struct GridMember {
  std::uint32_t own = 0;  // the rank of this process
  std::uint32_t size = 0; // of the job
};
// For each exchange that has a neighbour what goes out and what comes in, as puts where there are barriers. Exchanges with the
// same neighbour pair up in their order. bad_argument: as GridPlaces::of, or an offset that is not one of the grid's.
Result<std::vector<Declared>> neighbour_requests(const Grid& grid, const GridMember& member,
                                                 std::span<const NeighbourExchange> exchanges, bool barriers);

} // namespace heddle::pattern
