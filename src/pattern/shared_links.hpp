// Which requests of a grid meet on which links, wherever in the fabric: for grids that lie on it so that a process's own routes do not
// show it, with neighbours several hops apart, or diagonals that turn in different ways. Not needed where each straight neighbour is
// one hop away and all turn alike (axis_order.hpp): there a link for each direction says it all.
//
// All processes run the same, and in step: while one request moves, so does everybody's in that direction. A link that m of these
// pass gives each an m-th of its rate, and the slowest holds up all. So a request takes such a link m times, its own or not.
#pragma once

#include "ir/facets.hpp"
#include "pattern/plan.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace heddle::pattern {

class SharedLinks {
 public:
  // Of all that go in the directions of these hints. Nothing where the network cannot tell others' routes, or there are too many processes to
  // ask for them all.
  static std::optional<SharedLinks> of(std::span<const Hint> hints, const ir::Paths* paths);

  // Whether no request meets one of its own direction. Where some do, even processes in step do not keep to a plan: routers divide links
  // among the packets that wait at each, not among all that pass, so some end sooner than others.
  [[nodiscard]] bool keep_apart() const { return keep_apart_; }
  [[nodiscard]] const std::vector<double>& rates() const { return rates_; }
  // What a request in that direction takes, each link as often as requests of that direction pass it.
  [[nodiscard]] const std::vector<std::uint32_t>& links(std::uint32_t direction) const { return links_.at(direction); }

 private:
  bool keep_apart_ = true;
  std::vector<double> rates_; // of links that differ in who passes them
  std::map<std::uint32_t, std::vector<std::uint32_t>> links_;
};

} // namespace heddle::pattern
