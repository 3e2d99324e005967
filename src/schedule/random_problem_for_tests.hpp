// Random patterns for property tests, from a seed.
#pragma once

#include "schedule/problem.hpp"

#include <algorithm>
#include <random>

namespace heddle::schedule {

// As the simulated Tofu describes itself.
inline constexpr ir::Resources kTofuLike{
    .engines = 4, .receive_engines = 4, .engine_rate = 4, .node_rate = 14, .startup_ns = 1000, .queue_ns = 1000};
inline constexpr double kTofuLinkRate = 4.9;

struct RandomShape {
  std::uint32_t most_requests = 12;
  std::uint32_t links = 10;
  std::uint32_t longest_path = 3;
  std::uint32_t most_paths = 1;
  bool extremes =
      false; // some requests of no bytes, some networks without start-up or limits, some links without theirs
};

// Requests of 1 KiB to 256 KiB, evenly in the logarithm, each over one to a few links.
inline Problem random_problem(std::uint64_t seed, const RandomShape& shape) {
  std::mt19937_64 dice(seed);
  const auto below = [&dice](std::uint64_t bound) { return static_cast<std::uint32_t>(dice() % bound); };
  Problem problem{.resources = kTofuLike, .link_rates = std::vector<double>(shape.links, kTofuLinkRate)};
  problem.resources.engines = 1 + below(4);
  problem.resources.receive_engines = below(4) == 0 ? 1 + below(problem.resources.engines) : 4;
  if (shape.extremes) {
    if (below(3) == 0) problem.resources.startup_ns = 0;
    if (below(3) == 0) problem.resources.engine_rate = 0;
    if (below(3) == 0) problem.resources.node_rate = 0;
    for (double& rate : problem.link_rates)
      if (below(4) == 0) rate = 0;
  }
  const std::uint32_t count = 1 + below(shape.most_requests);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t scale = std::uint64_t{1024} << below(8);
    const bool empty = shape.extremes && below(4) == 0;
    const Request request{.bytes = empty ? 0 : scale + below(scale),
                          .peer = below(16),
                          .receiver = below(4),
                          .direction = below(8),
                          .diagonal = below(2) == 0};
    const auto path = [&] {
      std::vector<std::uint32_t> links;
      for (std::uint32_t hop = 0, hops = 1 + below(shape.longest_path); hop < hops; ++hop) {
        const std::uint32_t link = below(shape.links);
        if (std::ranges::find(links, link) == links.end()) links.push_back(link);
      }
      return links;
    };
    problem.add(request, path());
    for (std::uint32_t more = below(shape.most_paths); more > 0; --more) problem.add_path(path());
  }
  return problem;
}

} // namespace heddle::schedule
