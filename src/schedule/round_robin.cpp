#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"

namespace heddle::schedule {

Schedule round_robin(const Problem& problem, std::uint32_t engines) {
  Flow flow(problem);
  flow.reset(engines);
  std::vector<std::vector<std::uint32_t>> queues(flow.engines());
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    queues[request % queues.size()].push_back(request);
  return run_queues(flow, problem, queues);
}

} // namespace heddle::schedule
