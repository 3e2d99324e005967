// heddle route select: the root and the LID for every ordered pair of a job's nodes.
#include "route.hpp"
#include "routing/load.hpp"

#include <fmt/core.h>

namespace heddle::tool {
namespace {

struct SelectArguments {
  FabricArguments fabric;
  JobArguments job;
  bool json = false;
};

// The root that the pair's packets pass, found by following the tables; nothing where they turn below the roots.
std::optional<std::uint32_t> root_of(const routing::Subnet& subnet, const routing::JobHosts& job,
                                     const routing::Selection& selection, std::uint32_t s, std::uint32_t d) {
  std::optional<std::uint32_t> root;
  const routing::Lid lid = routing::lid_of(subnet, job, selection, s, d);
  routing::follow(subnet, job.hosts[s], job.hosts[d], lid, [&](routing::SwitchIndex at, routing::Port) {
    if (subnet.fabric.levels > 1 && at >= subnet.fabric.first_root()) root = at - subnet.fabric.first_root();
  });
  return root;
}

void print_json(const SelectArguments& arguments, const routing::Subnet& subnet, const routing::JobHosts& job,
                const routing::Selection& selection) {
  Json roots = Json::array();
  Json lids = Json::array();
  for (std::uint32_t s = 0; s < job.nodes(); ++s) {
    Json root_row = Json::array();
    Json lid_row = Json::array();
    for (std::uint32_t d = 0; d < job.nodes(); ++d) {
      const auto root = root_of(subnet, job, selection, s, d);
      root_row.push_back(root ? Json(*root) : Json());
      lid_row.push_back(routing::lid_of(subnet, job, selection, s, d));
    }
    roots.push_back(std::move(root_row));
    lids.push_back(std::move(lid_row));
  }
  fmt::print("{}\n", Json{{"tree", name_of(arguments.fabric)},
                          {"nodes", job.hosts},
                          {"method", arguments.job.method},
                          {"lmc", subnet.lids.lmc},
                          {"limit", subnet.lids.limit.empty() ? Json() : Json(subnet.lids.limit)},
                          {"roots", std::move(roots)},
                          {"lids", std::move(lids)}}
                         .dump());
}

void print_table(const SelectArguments& arguments, const routing::Subnet& subnet, const routing::JobHosts& job,
                 const routing::Selection& selection) {
  fmt::print("{}, method {}, lmc {}: root/LID from each node (row) to each (column)\n", name_of(arguments.fabric),
             arguments.job.method, subnet.lids.lmc);
  if (!subnet.lids.limit.empty()) fmt::print("limit: {}\n", subnet.lids.limit);
  fmt::print("{:>7}", "");
  for (const routing::HostIndex host : job.hosts) fmt::print(" {:>9}", host);
  fmt::print("\n");
  for (std::uint32_t s = 0; s < job.nodes(); ++s) {
    fmt::print("{:>7}", job.hosts[s]);
    for (std::uint32_t d = 0; d < job.nodes(); ++d) {
      const auto root = root_of(subnet, job, selection, s, d);
      fmt::print(" {:>9}", s == d ? "."
                                  : fmt::format("{}/{}", root ? std::to_string(*root) : "-",
                                                routing::lid_of(subnet, job, selection, s, d)));
    }
    fmt::print("\n");
  }
}

int run_select(const SelectArguments& arguments) {
  const auto subnet = open_subnet(arguments.fabric);
  if (!subnet) return failed("route select", subnet.error());
  const auto job = open_job(*subnet, arguments.job.nodes);
  if (!job) return failed("route select", job.error());
  const auto method = routing::parse_method(arguments.job.method);
  if (!method) return failed("route select", method.error());
  const auto pattern = open_pattern(arguments.job.pattern, job->nodes());
  if (!pattern) return failed("route select", pattern.error());
  const auto selection = routing::select(*subnet, *job, *method, *pattern);
  if (!selection) return failed("route select", selection.error());
  // LIDs that lead nowhere are no answer.
  if (const auto reached = routing::check_load(*subnet, *job, *selection, *pattern); !reached)
    return failed("route select", reached.error());
  if (arguments.json)
    print_json(arguments, *subnet, *job, *selection);
  else
    print_table(arguments, *subnet, *job, *selection);
  return 0;
}

} // namespace

void add_route_select(CLI::App& route, Invocation& invocation) {
  auto arguments = std::make_shared<SelectArguments>();
  CLI::App* select = route.add_subcommand("select", "The root and the LID for every ordered pair of nodes");
  add_fabric_options(*select, arguments->fabric);
  select->add_option("--nodes", arguments->job.nodes, "Nodes of the job, such as 0-5,9")->required()->type_name("LIST");
  select->add_option("--method", arguments->job.method, "conventional, node, pair or colouring")
      ->required()
      ->type_name("METHOD");
  select->add_option("--pattern", arguments->job.pattern, "What to plan for: shift, doubling, neighbour or a file")
      ->capture_default_str()
      ->type_name("PATTERN");
  add_json_flag(*select, arguments->json);
  select->footer("Example: heddle route select --tree 6-ary-2-tree:30 --nodes 3,5,6,9 --method pair");
  select->callback([arguments, &invocation] { invocation.exit_status = run_select(*arguments); });
}

} // namespace heddle::tool
