#include "schedule/path_loads.hpp"

#include <algorithm>
#include <utility>

namespace heddle::schedule {

namespace {

constexpr int kPathPasses = 3; // after that hardly anything moves

double time_on(const Problem& problem, std::uint32_t link, std::uint32_t request) {
  return static_cast<double>(problem.requests[request].bytes) / limit_of(problem.link_rates[link]);
}

void add_times(const Problem& problem, std::uint32_t request, std::uint8_t path, double times,
               std::vector<double>& load) {
  for (const std::uint32_t link : problem.path(request, path)) load[link] += times * time_on(problem, link, request);
}

std::uint8_t best_path(const Problem& problem, std::uint32_t request, const std::vector<double>& load) {
  std::pair least{kNoLimit, kNoLimit}; // time of the fullest link, of all together
  std::uint8_t best = 0;
  for (std::uint32_t path = 0; path < problem.requests[request].paths; ++path) {
    std::pair<double, double> time;
    for (const std::uint32_t link : problem.path(request, path)) {
      const double busy = load[link] + time_on(problem, link, request);
      time.first = std::max(time.first, busy);
      time.second += busy;
    }
    if (time >= least) continue;
    least = time;
    best = static_cast<std::uint8_t>(path);
  }
  return best;
}

} // namespace

std::vector<std::uint8_t> least_loaded_paths(const Problem& problem) {
  std::vector<std::uint8_t> paths(problem.size(), 0);
  std::vector<double> load(problem.link_rates.size(), 0);
  std::vector<std::uint32_t> order; // of those that can choose
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    if (problem.requests[request].paths > 1)
      order.push_back(request);
    else
      add_times(problem, request, 0, 1, load);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::uint32_t request) { return problem.requests[request].bytes; });
  for (int pass = 0; pass < kPathPasses; ++pass)
    for (const std::uint32_t request : order) {
      if (pass > 0) add_times(problem, request, paths[request], -1, load);
      paths[request] = best_path(problem, request, load);
      add_times(problem, request, paths[request], 1, load);
    }
  return paths;
}

std::vector<double> link_times(const Problem& problem, const std::vector<std::uint8_t>& paths) {
  std::vector<double> load(problem.link_rates.size(), 0);
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    add_times(problem, request, paths[request], 1, load);
  return load;
}

} // namespace heddle::schedule
