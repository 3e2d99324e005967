// Any bytes as a plan: an error with a message, or a plan that is written as it was read, and that the preloaded library's own checks take.
#include "paths/plan_file.hpp"

#include "base/fuzz_input.hpp"
#include "paths/plan.hpp"

namespace heddle::fuzz {

void plan_file(Input& input) {
  const std::string_view file = input.text();
  const auto plan = paths::parse_plan(file);
  if (!plan) return demand_message(plan.error());
  demand(paths::to_file(*plan) == file, "a plan is written as it was read");
  const auto* const bytes = reinterpret_cast<const paths::Byte*>(file.data());
  const paths::Shape shape{.nodes = plan->nodes(), .lmc = plan->lmc};
  const paths::Byte* const lids = bytes + paths::kHeaderBytes;
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    demand(paths::check_row(bytes + shape.row_at(node), shape) == nullptr, "every row is one that a node may use");
    const std::uint32_t lid = plan->lids[node];
    demand(paths::node_of(lids, shape, lid) == node && paths::node_of(lids, shape, lid + (1U << shape.lmc) - 1) == node,
           "a node is found by its LIDs");
  }
}

} // namespace heddle::fuzz
