// Any text as a tree, what has failed of it, a list of nodes, a method and a pattern: an error, or paths and their load. Together
// they are all that `heddle route` is told.
#include "routing/job_hosts.hpp"

#include "base/fuzz_input.hpp"
#include "routing/load.hpp"
#include "routing/methods.hpp"
#include "routing/tree.hpp"

namespace heddle::fuzz {

void job_hosts(Input& input) {
  using namespace routing;
  const auto shape = parse_tree(input.line());
  if (!shape) return demand_message(shape.error());
  demand(to_text(*shape) == to_text(*parse_tree(to_text(*shape))), "a tree's name is read back");
  if (shape->nodes > 64 || shape->uplinks > 16 || shape->k > 16 || shape->levels > 3)
    return; // large tables find nothing more
  Fabric fabric = build_tree(*shape);
  if (const std::string_view failed = input.line(); !failed.empty())
    if (const auto done = fail(fabric, failed); !done) demand_message(done.error());
  const auto nodes = parse_node_list(input.line());
  if (!nodes) return demand_message(nodes.error());
  const auto subnet = make_subnet(std::move(fabric), std::nullopt);
  if (!subnet) return demand_message(subnet.error());
  const auto job = make_job(subnet->fabric, *nodes);
  if (!job) return demand_message(job.error());
  const auto method = parse_method(input.line());
  if (!method) return demand_message(method.error());
  const auto pattern = parse_pattern(input.text(), job->nodes());
  if (!pattern) return demand_message(pattern.error());
  const auto selection = select(*subnet, *job, *method, *pattern);
  if (!selection) return demand_message(selection.error());
  const auto load = check_load(*subnet, *job, *selection, *pattern);
  if (!load) demand_message(load.error());
}

} // namespace heddle::fuzz
