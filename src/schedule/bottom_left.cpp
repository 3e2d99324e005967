// Bottom-left packing: a strip as wide as there are engines, time upwards, each request a column of its duration.
//
//   sort by length, longest first, then by direction
//   for each: the earliest gap of an engine, leftmost first, in which nobody else uses its link(s), its receive engine, or
//             too many engines for diagonals
//
// Baker, Coffman, Rivest: Orthogonal packings in two dimensions, 1980; with the rules that the report adds.
#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>

namespace heddle::schedule {

namespace {

struct Interval {
  double start = 0;
  double end = 0;
};

// When a thing is taken, sorted. Gaps that no request fits into count as taken, so that the list stays short.
class Timeline {
 public:
  // The end of the first stretch that reaches into [start, start + length), or start if none does.
  [[nodiscard]] double free_from(double start, double length) const {
    const auto at = std::ranges::upper_bound(taken_, start, {}, &Interval::end);
    return at != taken_.end() && at->start < start + length ? at->end : start;
  }
  void take(Interval interval, double shortest) {
    if (interval.end <= interval.start) return; // takes no time, and may stand where another begins
    const auto after = std::ranges::upper_bound(taken_, interval.start, {}, &Interval::start);
    const bool joins_before = after != taken_.begin() && interval.start - std::prev(after)->end < shortest;
    const bool joins_after = after != taken_.end() && after->start - interval.end < shortest;
    if (joins_before && joins_after) {
      std::prev(after)->end = after->end;
      taken_.erase(after);
    } else if (joins_before) {
      std::prev(after)->end = interval.end;
    } else if (joins_after) {
      after->start = interval.start;
    } else {
      taken_.insert(after, interval);
    }
  }

 private:
  std::vector<Interval> taken_;
};

// Directions as the problem numbers them may be few and their numbers large: here those in use are 0, 1 and so on.
struct Directions {
  std::vector<std::uint32_t> of_request;
  std::uint32_t count = 0;

  explicit Directions(const Problem& problem) {
    std::vector<std::uint32_t> used;
    for (const Request& request : problem.requests)
      if (used.empty() || used.back() != request.direction) used.push_back(request.direction);
    std::ranges::sort(used);
    const auto repeated = std::ranges::unique(used);
    used.erase(repeated.begin(), repeated.end());
    count = static_cast<std::uint32_t>(used.size());
    for (const Request& request : problem.requests)
      of_request.push_back(
          static_cast<std::uint32_t>(std::ranges::lower_bound(used, request.direction) - used.begin()));
  }
};

class Packing {
 public:
  Packing(const Problem& problem, const BottomLeft& rules, const Directions& directions, double rate)
      : problem_(problem),
        rules_(rules),
        rate_(rate),
        engines_(std::min(problem.resources.engines, kMostEngines)),
        directions_(directions),
        exclusive_(rules.exclusive == BottomLeft::Exclusive::path ? problem.link_rates.size() : directions.count),
        receivers_(receiver_count() * problem.resources.receive_engines),
        diagonals_(std::min<std::size_t>(rules.diagonal_engines, engines_.size())) {
    for (std::uint32_t request = 0; request < problem.size(); ++request)
      shortest_ = std::min(shortest_, duration(request));
    if (!rules.queue_cost) return;
    for (std::size_t e = 1; e < engines_.size(); ++e)
      engines_[e].take({0, static_cast<double>(e) * problem.resources.queue_ns}, shortest_);
  }

  Schedule pack(const std::vector<std::uint32_t>& order) {
    Schedule schedule;
    schedule.placements.resize(problem_.size());
    for (const std::uint32_t request : order) schedule.placements[request] = place(request);
    put_in_order(schedule);
    return schedule;
  }

 private:
  [[nodiscard]] std::size_t receiver_count() const {
    std::size_t count = 0;
    for (const Request& request : problem_.requests) count = std::max<std::size_t>(count, request.receiver + 1);
    return count;
  }
  template <typename Visit>
  void for_each_exclusive(std::uint32_t request, Visit&& visit) {
    if (rules_.exclusive == BottomLeft::Exclusive::direction) return visit(directions_.of_request[request]);
    for (const std::uint32_t link : problem_.path(request, 0)) visit(link);
  }

  [[nodiscard]] double duration(std::uint32_t request) const {
    double rate = rate_;
    for (const std::uint32_t link : problem_.path(request, 0))
      rate = std::min(rate, limit_of(problem_.link_rates[link]));
    return problem_.resources.startup_ns + static_cast<double>(problem_.requests[request].bytes) / rate;
  }

  struct Place {
    double start = 0;
    std::uint32_t engine = 0;
    std::uint32_t receive_engine = 0;
    std::uint32_t lane = 0;
  };
  struct Choice {
    std::uint32_t index = 0;
    double free = kNoLimit;
  };
  // Of several equal things the one that is free first, from `first` on in turn.
  static Choice first_free(std::span<const Timeline> things, std::uint32_t first, double start, double length) {
    Choice best;
    const auto count = static_cast<std::uint32_t>(things.size());
    for (std::uint32_t i = 0; i < count && best.free > start; ++i) {
      const std::uint32_t candidate = (first + i) % count;
      const double free = things[candidate].free_from(start, length);
      if (free < best.free) best = {candidate, free};
    }
    return best;
  }

  // The earliest time at which an engine and everything else is free; each pass moves on to where one of them is.
  Place earliest(std::uint32_t request, double length) {
    Place place;
    for (;;) {
      const double before = place.start;
      const Choice engine = first_free(engines_, 0, place.start, length);
      place.engine = engine.index;
      place.start = engine.free;
      for_each_exclusive(request,
                         [&](std::uint32_t thing) { place.start = exclusive_[thing].free_from(place.start, length); });
      if (problem_.requests[request].diagonal && diagonals_.size() < engines_.size()) {
        const Choice lane = first_free(diagonals_, 0, place.start, length);
        place.lane = lane.index;
        place.start = lane.free;
      }
      const Choice receiver = first_free(receivers_of(request), place.engine, place.start, length);
      place.receive_engine = receiver.index;
      place.start = receiver.free;
      if (place.start == before) return place;
    }
  }
  std::span<Timeline> receivers_of(std::uint32_t request) {
    const std::uint32_t count = problem_.resources.receive_engines;
    return std::span(receivers_).subspan(std::size_t{problem_.requests[request].receiver} * count, count);
  }

  Placement place(std::uint32_t request) {
    const double length = duration(request);
    const Place found = earliest(request, length);
    const Interval taken{found.start, found.start + length};
    engines_[found.engine].take(taken, shortest_);
    receivers_of(request)[found.receive_engine].take(taken, shortest_);
    for_each_exclusive(request, [&](std::uint32_t thing) { exclusive_[thing].take(taken, shortest_); });
    if (problem_.requests[request].diagonal) diagonals_[found.lane].take(taken, shortest_);
    return {.send_engine = static_cast<std::uint8_t>(found.engine),
            .receive_engine = static_cast<std::uint8_t>(found.receive_engine),
            .path = 0,
            .shares_link = false,
            .start_ns = taken.start,
            .end_ns = taken.end};
  }

  const Problem& problem_;
  const BottomLeft& rules_;
  const double rate_;
  std::vector<Timeline> engines_;
  const Directions& directions_;
  std::vector<Timeline> exclusive_; // by link or direction
  std::vector<Timeline> receivers_;
  std::vector<Timeline> diagonals_; // one for each engine that diagonals may use at once
  double shortest_ = kNoLimit;
};

std::uint32_t engines_used(const Schedule& schedule) {
  std::uint64_t used = 0;
  for (const Placement& placement : schedule.placements) used |= std::uint64_t{1} << placement.send_engine;
  return static_cast<std::uint32_t>(__builtin_popcountll(used));
}

} // namespace

Schedule bottom_left(const Problem& problem, const BottomLeft& rules) {
  std::vector<std::uint32_t> order(problem.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const Request& left = problem.requests[a];
    const Request& right = problem.requests[b];
    return left.bytes != right.bytes ? left.bytes > right.bytes : left.direction < right.direction;
  });
  const Directions directions(problem);
  const double alone = limit_of(problem.resources.engine_rate);
  Schedule schedule = Packing(problem, rules, directions, alone).pack(order);
  // Engines that together outrun the node are packed again at the pace that the node allows; and again if, slower, they have
  // become more.
  double pace = alone;
  for (;;) {
    const double together = limit_of(problem.resources.node_rate) / std::max(engines_used(schedule), 1U);
    if (together >= pace) break;
    pace = together;
    schedule = Packing(problem, rules, directions, pace).pack(order);
  }
  if (rules.exclusive == BottomLeft::Exclusive::direction) mark_shared_links(problem, schedule);
  return schedule;
}

} // namespace heddle::schedule
