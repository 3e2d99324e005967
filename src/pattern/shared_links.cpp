#include "pattern/shared_links.hpp"

#include "pattern/grid.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pattern {

namespace {

// Every process looks at the routes of all.
constexpr std::uint32_t kMostProcesses = 1024;

// How many requests of each direction pass a link, and its rate.
struct Crossing {
  std::vector<std::uint32_t> times;
  double rate = 0;
  // Whether this one holds nobody up whom the other does not hold up as much.
  [[nodiscard]] bool within(const Crossing& other) const {
    for (std::size_t i = 0; i < times.size(); ++i)
      if (times[i] > other.times[i]) return false;
    return rate >= other.rate;
  }
  bool operator==(const Crossing&) const = default;
};

std::optional<std::vector<Crossing>> crossings(std::span<const Hint> hints, const ir::Paths* paths) {
  const GridPlaces& grid = *hints.front().places;
  if (paths == nullptr || grid.size() > kMostProcesses) return std::nullopt;
  std::map<std::uint32_t, Crossing> by_link;
  for (std::size_t i = 0; i < hints.size(); ++i)
    for (std::uint32_t from = 0; from < grid.size(); ++from) {
      const auto to = grid.neighbour(from, hints[i].offset);
      if (!to || *to == from) continue;
      const auto route = paths->route_between(ir::Peer{from}, ir::Peer{*to});
      if (!route) return std::nullopt;
      for (const ir::PathLink& link : *route) {
        Crossing& crossing =
            by_link.try_emplace(link.link, Crossing{.times = std::vector(hints.size(), 0U)}).first->second;
        ++crossing.times[i];
        crossing.rate = link.rate;
      }
    }
  std::vector<Crossing> all;
  for (auto& [link, crossing] : by_link) all.push_back(std::move(crossing));
  return all;
}

// One of each sort, without those that another stands for: the same in all processes, in the same order.
std::vector<Crossing> that_count(std::vector<Crossing> all) {
  std::ranges::sort(all, std::greater(), [](const Crossing& each) { return std::pair(each.times, -each.rate); });
  const auto rest = std::ranges::unique(all);
  all.erase(rest.begin(), rest.end());
  std::vector<Crossing> counting;
  for (const Crossing& each : all)
    if (std::ranges::none_of(all, [&](const Crossing& other) { return !(other == each) && each.within(other); }))
      counting.push_back(each);
  return counting;
}

} // namespace

std::optional<SharedLinks> SharedLinks::of(std::span<const Hint> hints, const ir::Paths* paths) {
  std::vector<Hint> directions(hints.begin(), hints.end());
  std::ranges::sort(directions, {}, &Hint::direction);
  const auto again = std::ranges::unique(directions, {}, &Hint::direction);
  directions.erase(again.begin(), again.end());
  if (directions.empty()) return std::nullopt;
  auto all = crossings(directions, paths);
  if (!all) return std::nullopt;
  SharedLinks shared;
  for (const Hint& hint : directions) shared.links_[hint.direction];
  for (const Crossing& crossing : that_count(std::move(*all))) {
    const auto link = static_cast<std::uint32_t>(shared.rates_.size());
    shared.rates_.push_back(crossing.rate);
    shared.keep_apart_ = shared.keep_apart_ && std::ranges::max(crossing.times) <= 1;
    for (std::size_t i = 0; i < directions.size(); ++i)
      shared.links_[directions[i].direction].insert(shared.links_[directions[i].direction].end(), crossing.times[i],
                                                    link);
  }
  return shared;
}

} // namespace heddle::pattern
