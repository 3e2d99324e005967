// What moving a byte of each request costs in time, at least: prices under which no set of requests that moves at one moment
// earns more than a nanosecond in a nanosecond. Whatever the schedule, it lasts as long as all its bytes cost together.
//
//   at any moment some set S of requests moves, at most one for each engine, at the max-min rates of S
//   engines open one after the other: while i are open, S has at most i, and earns at most early[i]; at the end at most 1
//   the time in which each S moves, so that all bytes arrive and engines rest as long as start-ups make them:
//     least total  =  most that bytes and rest can cost, less what has been earned early   (linear programme and its dual)
//
// Prices know what the sum of a link or of the node does not: that a request over two links leaves no four others that keep
// apart from it. They do not know that a request stays on its engine.
#pragma once

#include "schedule/problem.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::schedule {

struct Prices {
  std::vector<double> byte; // ns, by request
  double rest = 0;          // ns for each ns of an open engine that moves nothing
  // What can be earned in a ns while fewer engines are open than there are, by their number. As many values as engines.
  std::vector<double> early;
  double startup_ns = 0; // engine e moves something from startup_ns + e * queue_ns on
  double queue_ns = 0;

  // When something that costs this much, from `now` on, has been earned: not before.
  [[nodiscard]] double earned_at(double now, double cost) const;
};

// For schedules that use that many engines at most. Nothing where there are too many sets to look at them all.
std::optional<Prices> prices(const Problem& problem, std::uint32_t engines);

// What all requests cost, with the start-ups of those that are not the first on their engine.
double cost_of_all(const Problem& problem, const Prices& prices);

} // namespace heddle::schedule
