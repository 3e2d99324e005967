#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"

namespace heddle::schedule {

Schedule immediate(const Problem& problem) {
  Flow flow(problem);
  flow.reset(problem.resources.engines);
  std::vector<std::vector<std::uint32_t>> queues(flow.engines());
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    queues[problem.requests[request].peer % queues.size()].push_back(request);
  return run_queues(flow, problem, queues);
}

} // namespace heddle::schedule
