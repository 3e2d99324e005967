// heddle paths plan: by which LID every node of a job addresses every other, as a file for libheddle-paths.so.
#include "base/refusal.hpp"
#include "paths.hpp"
#include "paths/plan_file.hpp"
#include "route.hpp"
#include "routing/load.hpp"

#include <fmt/core.h>

#include <memory>

namespace heddle::tool {
namespace {

struct PlanArguments {
  FabricArguments fabric;
  NodeSource source;
  std::string method = "colouring";
  std::string pattern = "shift";
  std::string out;
  bool json = false;
};

// With the LMC that the subnet has, where the file says one and the user does not.
Result<routing::Subnet> open_as_discovered(const FabricArguments& arguments) {
  auto subnet = open_subnet(arguments);
  if (!subnet || arguments.lmc || subnet->fabric.hosts.empty()) return subnet;
  const routing::Host& first = subnet->fabric.hosts.front();
  if (first.lid == 0 || first.lmc == subnet->lids.lmc) return subnet;
  const auto rule = subnet->lids.rule;
  return routing::make_subnet(std::move(subnet->fabric), first.lmc, rule);
}

// The plan speaks of LIDs as `heddle route tables` gives them out. Other LIDs lead elsewhere, or nowhere.
Result<void> check_lids(const routing::Subnet& subnet, const routing::JobHosts& job, const std::string& file) {
  for (const routing::HostIndex index : job.hosts) {
    const routing::Host& host = subnet.fabric.hosts[index];
    const routing::Lid planned = subnet.lids.lid(index, 0);
    if (host.lid == 0)
      return refuse(fmt::format("{}: host '{}' has no LID", file, host.name),
                    "run ibnetdiscover again when OpenSM has brought the subnet up");
    if (host.lid != planned || host.lmc != subnet.lids.lmc)
      return refuse(fmt::format("{}: host '{}' has LID {} with LMC {}, by the tables of `heddle route tables` it would "
                                "have LID {} with LMC {}",
                                file, host.name, host.lid, host.lmc, planned, subnet.lids.lmc),
                    "load those tables with their guid2lid, then run ibnetdiscover with all hosts up");
  }
  return {};
}

paths::Plan to_plan(const routing::Subnet& subnet, const routing::JobHosts& job, const routing::Selection& selection) {
  paths::Plan plan{.lmc = subnet.lids.lmc};
  for (const routing::HostIndex host : job.hosts) plan.lids.push_back(subnet.lids.lid(host, 0));
  plan.offsets.reserve(std::size_t{job.nodes()} * job.nodes());
  for (std::uint32_t s = 0; s < job.nodes(); ++s)
    for (std::uint32_t d = 0; d < job.nodes(); ++d) plan.offsets.push_back(selection.offset(s, d));
  return plan;
}

struct Loads {
  routing::LoadReport planned;
  routing::LoadReport unplanned; // all by base LIDs
};

void print(const PlanArguments& arguments, const routing::Subnet& subnet, std::uint32_t nodes, const Loads& loads) {
  const std::string name = name_of(arguments.fabric);
  if (arguments.json) {
    fmt::print("{}\n", Json{{"topology", name},
                            {"nodes", nodes},
                            {"lmc", subnet.lids.lmc},
                            {"method", arguments.method},
                            {"largest", loads.planned.overall()},
                            {"largest_without", loads.unplanned.overall()},
                            {"bound", loads.planned.overall_bound()},
                            {"limit", subnet.lids.limit.empty() ? Json() : Json(subnet.lids.limit)},
                            {"out", arguments.out}}
                           .dump());
    return;
  }
  fmt::print("{}: {} nodes with {} LIDs each, method {}\n", name, nodes, subnet.lids.per_host(), arguments.method);
  fmt::print("largest link load of pattern {}: {} with the plan, {} without; no choice of paths is below {}\n",
             arguments.pattern, loads.planned.overall(), loads.unplanned.overall(), loads.planned.overall_bound());
  if (!subnet.lids.limit.empty()) fmt::print("limit: {}\n", subnet.lids.limit);
  fmt::print("written to {}: heddle paths --plan {} -- mpiexec ...\n", arguments.out, arguments.out);
}

Result<void> plan(const PlanArguments& arguments) {
  const auto subnet = open_as_discovered(arguments.fabric);
  if (!subnet) return std::unexpected(subnet.error());
  const auto hosts = find_nodes(subnet->fabric, arguments.source);
  if (!hosts) return std::unexpected(hosts.error());
  const auto job = routing::make_job(subnet->fabric, *hosts);
  if (!job) return std::unexpected(job.error());
  if (!arguments.fabric.topology.empty())
    if (auto same = check_lids(*subnet, *job, arguments.fabric.topology); !same) return same;
  const auto method = routing::parse_method(arguments.method);
  if (!method) return std::unexpected(method.error());
  const auto pattern = open_pattern(arguments.pattern, job->nodes());
  if (!pattern) return std::unexpected(pattern.error());
  const auto selection = routing::select(*subnet, *job, *method, *pattern);
  if (!selection) return std::unexpected(selection.error());
  auto planned = routing::check_load(*subnet, *job, *selection, *pattern);
  if (!planned) return std::unexpected(planned.error());
  auto unplanned = routing::check_load(*subnet, *job, routing::Selection(job->nodes()), *pattern);
  if (!unplanned) return std::unexpected(unplanned.error());
  if (auto written = write_whole_files({{arguments.out, paths::to_file(to_plan(*subnet, *job, *selection))}}); !written)
    return written;
  print(arguments, *subnet, job->nodes(), {std::move(*planned), std::move(*unplanned)});
  return {};
}

int run_plan(const PlanArguments& arguments) {
  const auto left = leaves_it_to_another(arguments.source);
  if (!left) return failed("paths plan", left.error());
  if (*left) return 0;
  const auto done = plan(arguments);
  return done ? 0 : failed("paths plan", done.error());
}

} // namespace

void add_paths_plan(CLI::App& paths, Invocation& invocation) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* plan = paths.add_subcommand("plan", "Plan the paths of a job's nodes, into a file");
  add_fabric_options(*plan, arguments->fabric);
  plan->add_option("--nodes", arguments->source.nodes,
                   "Nodes of the job: 0-5,9 or n1,n[4-7] or hostfile:FILE or slurm or pmix")
      ->required()
      ->type_name("LIST");
  plan->add_option("--adapter", arguments->source.adapter,
                   "Which port of a node that has several: what follows its name in the topology, such as mlx5_0")
      ->type_name("NAME");
  plan->add_option("--method", arguments->method, "conventional, node, pair or colouring")
      ->capture_default_str()
      ->type_name("METHOD");
  plan->add_option("--pattern", arguments->pattern, "What to plan for: shift, doubling, neighbour or a file")
      ->capture_default_str()
      ->type_name("PATTERN");
  plan->add_option("--out", arguments->out, "The file of the plan, where all nodes can read it")
      ->required()
      ->type_name("PLAN");
  add_json_flag(*plan, arguments->json);
  plan->footer("Example: heddle paths plan --topology fabric.topo --nodes slurm --out $HOME/plan");
  plan->callback([arguments, &invocation] { invocation.exit_status = run_plan(*arguments); });
}

} // namespace heddle::tool
