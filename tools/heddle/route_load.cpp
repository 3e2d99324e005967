// heddle route load: what a method does to the links, stage by stage; with --job, of several jobs at once.
#include "route.hpp"
#include "route_picture.hpp"
#include "routing/load.hpp"
#include "routing/several_jobs.hpp"

#include <fmt/core.h>

#include <map>

namespace heddle::tool {
namespace {

struct LoadArguments {
  FabricArguments fabric;
  JobArguments job;
  std::vector<std::string> jobs;
  std::string svg;
  bool json = false;
};

// --- one job ---

void print_json(const routing::Subnet& subnet, const routing::Pattern& pattern, const routing::LoadReport& report) {
  const char* const stage_name = pattern.is_shift() ? "shift" : "stage";
  const routing::Links links(subnet.fabric);
  Json stages = Json::array();
  for (std::size_t i = 0; i < report.largest.size(); ++i)
    stages.push_back({{stage_name, pattern.label(i)}, {"largest", report.largest[i]}, {"bound", report.bound[i]}});
  Json spots = Json::array();
  for (const routing::HotSpot& spot : report.hot_spots)
    spots.push_back(
        {{stage_name, pattern.label(spot.stage)}, {"link", links.name(subnet.fabric, spot.link)}, {"load", spot.load}});
  fmt::print("{}\n", Json{{"largest", report.overall()},
                          {"bound", report.overall_bound()},
                          {"limit", subnet.lids.limit.empty() ? Json() : Json(subnet.lids.limit)},
                          {"stages", std::move(stages)},
                          {"hot_spots", std::move(spots)}}
                         .dump());
}

// Neighbouring stages that are alike share a line.
void print_stages(const routing::Pattern& pattern, const routing::LoadReport& report) {
  fmt::print("{:>11} {:>8} {:>8}\n", pattern.is_shift() ? "shift" : "stage", "largest", "bound");
  for (std::size_t i = 0; i < report.largest.size();) {
    std::size_t end = i + 1;
    while (end < report.largest.size() && report.largest[end] == report.largest[i] &&
           report.bound[end] == report.bound[i])
      ++end;
    const std::string stages = end == i + 1 ? std::to_string(pattern.label(i))
                                            : fmt::format("{}-{}", pattern.label(i), pattern.label(end - 1));
    fmt::print("{:>11} {:>8} {:>8}\n", stages, report.largest[i], report.bound[i]);
    i = end;
  }
}

// What fewer LIDs than up-paths still promise (Galvin's theorem; src/routing/list_colouring.hpp).
std::string guarantee(const routing::Subnet& subnet, const routing::JobHosts& job) {
  std::map<routing::SwitchIndex, std::uint32_t> on_leaf;
  std::uint32_t most = 0;
  for (const routing::SwitchIndex leaf : job.leaves) most = std::max(most, ++on_leaf[leaf]);
  return fmt::format(
      "colouring is certain to have no hot spot while no leaf has more than {} nodes of the job; here one has {}",
      subnet.lids.per_host(), most);
}

void print_text(const LoadArguments& arguments, const routing::Subnet& subnet, const routing::JobHosts& job,
                const routing::Pattern& pattern, const routing::LoadReport& report) {
  constexpr std::size_t kMostNamed = 40;
  fmt::print("{}, {} nodes, method {}, pattern {}: largest load {}, no choice of paths below {}\n",
             name_of(arguments.fabric), pattern.nodes(), arguments.job.method, pattern.name(), report.overall(),
             report.overall_bound());
  if (!subnet.lids.limit.empty()) fmt::print("limit: {}\n", subnet.lids.limit);
  if (!subnet.lids.limit.empty() && subnet.fabric.levels == 2) fmt::print("{}\n", guarantee(subnet, job));
  print_stages(pattern, report);
  fmt::print("{} hot spots\n", report.hot_spots.empty() ? "no" : std::to_string(report.hot_spots.size()));
  const routing::Links links(subnet.fabric);
  for (std::size_t i = 0; i < std::min(report.hot_spots.size(), kMostNamed); ++i) {
    const routing::HotSpot& spot = report.hot_spots[i];
    fmt::print("{:>11} {} carries {}\n", pattern.label(spot.stage), links.name(subnet.fabric, spot.link), spot.load);
  }
  if (report.hot_spots.size() > kMostNamed) fmt::print("{:>11} --json names the rest\n", "");
}

Result<void> draw(const LoadArguments& arguments, const routing::Subnet& subnet, const routing::JobHosts& job,
                  const routing::Selection& selection, const routing::Pattern& pattern) {
  const auto loads = routing::largest_by_link(subnet, job, selection, pattern);
  if (!loads) return std::unexpected(loads.error());
  const std::string title = fmt::format("{}, {} of {} nodes, {}: {}", name_of(arguments.fabric), job.nodes(),
                                        subnet.fabric.hosts.size(), pattern.name(), arguments.job.method);
  const auto svg = load_svg(subnet, job, *loads, title);
  if (!svg) return std::unexpected(svg.error());
  return write_whole_files({{arguments.svg, *svg}});
}

int run_one_job(const LoadArguments& arguments, const routing::Subnet& subnet) {
  const auto job = open_job(subnet, arguments.job.nodes);
  if (!job) return failed("route load", job.error());
  const auto method = routing::parse_method(arguments.job.method);
  if (!method) return failed("route load", method.error());
  const auto pattern = open_pattern(arguments.job.pattern, job->nodes());
  if (!pattern) return failed("route load", pattern.error());
  const auto selection = routing::select(subnet, *job, *method, *pattern);
  if (!selection) return failed("route load", selection.error());
  const auto report = routing::check_load(subnet, *job, *selection, *pattern);
  if (!report) return failed("route load", report.error());
  if (!arguments.svg.empty())
    if (auto drawn = draw(arguments, subnet, *job, *selection, *pattern); !drawn)
      return failed("route load", drawn.error());
  if (arguments.json)
    print_json(subnet, *pattern, *report);
  else
    print_text(arguments, subnet, *job, *pattern, *report);
  return report->hot_spots.empty() ? 0 : 1;
}

// --- several jobs ---

Json as_json(const routing::JobsLoad& load) {
  return {{"in_step", load.in_step}, {"any_step", load.any_step}};
}

void print_jobs(const LoadArguments& arguments, const std::vector<routing::JobHosts>& jobs,
                const routing::JobsLoad& alone, const routing::JobsLoad& together, bool separate) {
  if (arguments.json) {
    Json list = Json::array();
    for (const routing::JobHosts& job : jobs) list.push_back({{"nodes", job.hosts}});
    Json plan = as_json(together);
    plan["separate"] = separate;
    fmt::print("{}\n",
               Json{{"jobs", std::move(list)}, {"alone", as_json(alone)}, {"together", std::move(plan)}}.dump());
    return;
  }
  fmt::print("{}, {} jobs, each in its own all-to-all; largest link load\n", name_of(arguments.fabric), jobs.size());
  fmt::print("{:<32} {:>8} {:>10}\n", "", "in step", "any steps");
  fmt::print("{:<32} {:>8} {:>10}\n", fmt::format("each planned alone ({})", arguments.job.method), alone.in_step,
             alone.any_step);
  fmt::print("{:<32} {:>8} {:>10}\n", "planned together (colouring)", together.in_step, together.any_step);
  fmt::print("{}\n", separate
                         ? "planned together, jobs that share a leaf have up-paths of their own: steps do not matter"
                         : "the up-paths are too few for each job to have its own: planned for jobs that keep step");
}

int run_jobs(const LoadArguments& arguments, const routing::Subnet& subnet) {
  if (arguments.job.pattern != "shift")
    return bad_usage("route load", "several jobs are planned for --pattern shift only");
  if (!arguments.svg.empty()) return bad_usage("route load", "--svg draws one job: use --nodes");
  const auto method = routing::parse_method(arguments.job.method);
  if (!method) return failed("route load", method.error());
  std::vector<routing::JobHosts> jobs;
  for (const std::string& nodes : arguments.jobs) {
    auto job = open_job(subnet, nodes);
    if (!job) return failed("route load", job.error());
    jobs.push_back(std::move(*job));
  }
  if (auto disjoint = routing::check_disjoint(jobs); !disjoint) return failed("route load", disjoint.error());
  const auto alone_plan = routing::plan_alone(subnet, jobs, *method);
  if (!alone_plan) return failed("route load", alone_plan.error());
  const routing::JobsPlan plan = routing::plan_together(subnet, jobs);
  const auto alone = routing::load_of_jobs(subnet, jobs, *alone_plan);
  if (!alone) return failed("route load", alone.error());
  const auto together = routing::load_of_jobs(subnet, jobs, plan);
  if (!together) return failed("route load", together.error());
  print_jobs(arguments, jobs, *alone, *together, plan.separate);
  return together->in_step > 1 ? 1 : 0;
}

int run_load(const LoadArguments& arguments) {
  const auto subnet = open_subnet(arguments.fabric);
  if (!subnet) return failed("route load", subnet.error());
  return arguments.jobs.empty() ? run_one_job(arguments, *subnet) : run_jobs(arguments, *subnet);
}

} // namespace

void add_route_load(CLI::App& route, Invocation& invocation) {
  auto arguments = std::make_shared<LoadArguments>();
  CLI::App* load = route.add_subcommand("load", "The largest link load of every stage, and the hot spots by name");
  add_fabric_options(*load, arguments->fabric);
  CLI::Option_group* who = load->add_option_group("who");
  who->add_option("--nodes", arguments->job.nodes, "Nodes of the job, such as 0-5,9")->type_name("LIST");
  who->add_option("--job", arguments->jobs, "Nodes of one of several jobs that run at once; give it once for each")
      ->type_name("LIST")
      ->expected(1)
      ->take_all();
  who->require_option(1);
  load->add_option("--method", arguments->job.method, "conventional, node, pair or colouring")
      ->capture_default_str()
      ->type_name("METHOD");
  load->add_option("--pattern", arguments->job.pattern,
                   "shift, doubling, neighbour or a file: a stage per line, or puts (docs/traffic.md)")
      ->capture_default_str()
      ->type_name("PATTERN");
  load->add_option("--svg", arguments->svg, "Draw the tree with the load of every link into this file, too")
      ->type_name("FILE");
  add_json_flag(*load, arguments->json);
  load->footer(
      "Exit status 1 where a link carries more than one flow of a stage.\n\n"
      "Example: heddle route load --tree 6-ary-2-tree:30 --nodes 0-15 --method conventional");
  load->callback([arguments, &invocation] { invocation.exit_status = run_load(*arguments); });
}

} // namespace heddle::tool
