#include "routing/alltoall_model.hpp"

#include <algorithm>

#include "routing/stage_loads.hpp"

namespace heddle::routing {

Result<AlltoallSpeed> alltoall_speed(const Subnet& subnet, const JobHosts& job, const Selection& selection,
                                     const AlltoallMachine& machine) {
  const std::uint32_t n = job.nodes();
  if (n < 2)
    return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "an all-to-all needs 2 nodes or more"});
  const Pattern pattern = Pattern::shift(n);
  const double volume = machine.message_bytes * machine.processes * machine.processes / 1e6; // MB between two nodes
  std::vector<double> done(n, volume / machine.in_node_mb_s);
  std::vector<double> end(n);
  std::uint64_t in_step = 0;
  AlltoallSpeed speed;
  StageLoads loads(subnet, job);
  Stage stage;
  for (std::size_t i = 0; i < pattern.stages(); ++i) {
    pattern.fill(i, stage);
    if (!loads.begin(stage, selection))
      return std::unexpected(
          Error{.code = ErrorCode::unreachable, .fact = "not every node of the job reaches every other"});
    const std::uint32_t largest = std::max(1U, loads.largest());
    in_step += largest;
    speed.hot_spot_free = speed.hot_spot_free && largest == 1;
    for (const Flow& flow : stage) {
      const std::uint32_t shared = std::max(1U, loads.largest_on_path(flow, selection));
      end[flow.from] = std::max(done[flow.from], done[flow.to]) + shared * volume / machine.link_mb_s;
    }
    for (const Flow& flow : stage) done[flow.to] = std::max(end[flow.to], end[flow.from]);
  }
  speed.relative = static_cast<double>(n - 1) / static_cast<double>(in_step);
  speed.mb_s = volume * (n - 1) / *std::ranges::max_element(done);
  return speed;
}

} // namespace heddle::routing
