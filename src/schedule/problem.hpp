// What a scheduling algorithm gets: the requests of one process's pattern and what they compete for.
// Not here: how translators and patterns make one of these (src/pattern), and what comes out (schedule.hpp).
#pragma once

#include "ir/resources.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace heddle::schedule {

struct Request {
  std::uint64_t bytes = 0;
  std::uint32_t peer = 0; // the target's rank
  // Whose receive engines it takes. Where every process runs the same pattern, what leaves in one direction arrives from the
  // other, so that a process's own receive engines stand for its targets': then this is the same for all its requests.
  std::uint32_t receiver = 0;
  std::uint32_t direction =
      0; // what the report calls its colour: orders equals, and stands for its link where only that counts
  bool diagonal = false;        // bottom_left may restrict these to fewer engines
  std::uint32_t first_path = 0; // in Problem::paths
  std::uint32_t paths = 0;      // to choose from; 0: it shares nothing with others on its way
};

struct Problem {
  ir::Resources resources;
  std::vector<double> link_rates; // bytes per nanosecond, by link
  // All processes run the same, and a link stands for that link of each of them: where routes have several links, what is
  // planned holds as far as processes run in step.
  bool stands_for_all = false;
  // And all processes' requests take the links of their paths in the same order, so that in step they meet as planned.
  bool in_order = false;
  std::vector<Request> requests; // in the order given by the program

  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  std::vector<Range> paths;         // each a range of `links`
  std::vector<std::uint32_t> links; // indices of link_rates

  // Adds a request with its only path.
  void add(Request request, std::initializer_list<std::uint32_t> path) { add(request, std::span(path)); }
  void add(Request request, std::span<const std::uint32_t> path) {
    request.first_path = static_cast<std::uint32_t>(paths.size());
    request.paths = 0;
    requests.push_back(request);
    add_path(path);
  }
  // One more path for the request added last.
  void add_path(std::span<const std::uint32_t> path) {
    paths.push_back({static_cast<std::uint32_t>(links.size()), static_cast<std::uint32_t>(path.size())});
    links.insert(links.end(), path.begin(), path.end());
    ++requests.back().paths;
  }
  [[nodiscard]] std::span<const std::uint32_t> path(std::uint32_t request, std::uint32_t which) const {
    if (requests[request].paths == 0) return {};
    const Range& range = paths[requests[request].first_path + which];
    return std::span(links).subspan(range.first, range.count);
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(requests.size()); }
};

// A rate of 0 is none.
inline constexpr double kNoLimit = 1e300;
[[nodiscard]] constexpr double limit_of(double rate) {
  return rate > 0 ? rate : kNoLimit;
}

} // namespace heddle::schedule
