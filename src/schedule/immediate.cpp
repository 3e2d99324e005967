#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"

#include <algorithm>

namespace heddle::schedule {

Schedule immediate(const Problem& problem) {
  const std::uint32_t engines = std::clamp<std::uint32_t>(problem.resources.engines, 1, kMostEngines);
  Schedule planned;
  for (const Request& request : problem.requests)
    planned.placements.push_back({.send_engine = static_cast<std::uint8_t>(request.peer % engines)});
  put_in_order(planned);
  return expected(problem, planned);
}

} // namespace heddle::schedule
