#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"

#include <algorithm>

namespace heddle::schedule {

Schedule round_robin(const Problem& problem, std::uint32_t engines) {
  const std::uint32_t used = std::clamp<std::uint32_t>(engines, 1, std::min(problem.resources.engines, kMostEngines));
  Schedule planned;
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    planned.placements.push_back({.send_engine = static_cast<std::uint8_t>(request % used)});
  put_in_order(planned);
  return expected(problem, planned);
}

} // namespace heddle::schedule
