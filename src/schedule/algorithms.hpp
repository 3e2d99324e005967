// The scheduling algorithms, one file each, and the bound that all are measured by.
// From: Hatanaka, Hori, Ishikawa, RDMA scheduling for MPI communication, IPSJ SIG-HPC 140-17, 2013 (in Japanese).
#pragma once

#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace heddle::schedule {

// As single commands go: the engine follows from the peer, nothing is ordered. immediate.cpp
Schedule immediate(const Problem& problem);

// In the order given onto engines 0 .. engines - 1 in turn. round_robin.cpp
Schedule round_robin(const Problem& problem, std::uint32_t engines);

// Longest first, then by direction; each at the earliest free time, leftmost engine. bottom_left.cpp
struct BottomLeft {
  std::uint32_t diagonal_engines = kAllEngines; // that diagonals may use at once
  // What must not be used twice at the same time: the direction alone, as in the report, or each link of the whole path.
  enum class Exclusive : std::uint8_t { direction, path } exclusive = Exclusive::direction;
  bool queue_cost =
      false; // engine e counts as taken until its queue has been written to: small patterns use fewer engines
  static constexpr std::uint32_t kAllEngines = 0xffff'ffff;
};
Schedule bottom_left(const Problem& problem, const BottomLeft& rules);

// Shares links when that ends sooner; counts start-up and queue costs; may choose among paths. sharing.cpp
Schedule sharing(const Problem& problem);

// The best that engines which work in order can do, by branch and bound. exact.cpp
struct Exact {
  Schedule schedule;
  bool proven = false; // false: given up after too many steps; the best found so far
};
inline constexpr std::uint32_t kMostExactRequests = 12;
inline constexpr std::uint64_t kMostExactSteps = 3'000'000; // a second or two
// Error: more requests than that.
Result<Exact> exact(const Problem& problem, std::uint64_t most_steps = kMostExactSteps);

// The same requests on the same engines in the same order, with the times that come about when engines run freely and share
// what they must: what a packing that leaves things out really does. flow.cpp
Schedule expected(const Problem& problem, const Schedule& planned);

// No schedule of these requests ends before: what single resources need, and what all sets of requests that can move together
// allow (prices.hpp). The simple one is without the latter, and quick. lower_bound.cpp
double lower_bound_ns(const Problem& problem);
double simple_bound_ns(const Problem& problem);

// By the name of the command line: immediate, round-robin-N, bottom-left-N, bottom-left-seeded, sharing, exact. algorithms.cpp
Result<Schedule> run_algorithm(std::string_view name, const Problem& problem);
std::vector<std::string_view> algorithm_names();

} // namespace heddle::schedule
