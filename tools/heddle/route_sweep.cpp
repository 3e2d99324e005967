// heddle route sweep: many random node sets, all methods side by side.
#include "route.hpp"
#include "seed.hpp"
#include "sweep.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace heddle::tool {
namespace {

struct SweepArguments {
  FabricArguments fabric;
  SweepRequest request;
  std::string methods = "conventional,node,pair,colouring";
  bool json = false;
};

constexpr double kGoodSweepSpeed = 1500; // MB/s: the reports count the sets above it

Result<std::vector<routing::Method>> parse_methods(std::string_view text) {
  std::vector<routing::Method> methods;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto method = routing::parse_method(text.substr(0, comma));
    if (!method) return std::unexpected(method.error());
    if (std::ranges::find(methods, *method) == methods.end()) methods.push_back(*method);
    if (comma == std::string_view::npos) return methods;
    text.remove_prefix(comma + 1);
  }
}

void print_json(const std::vector<SweepResult>& results) {
  Json methods = Json::object();
  for (const SweepResult& result : results) {
    const auto relative = statistics_of(result.relative);
    const auto speed = statistics_of(result.mb_s);
    methods[std::string(to_string(result.method))] = {
        {"sets", result.mb_s.size()},
        {"hot_spot_free", result.hot_spot_free},
        {"average", relative.average},
        {"best", relative.best},
        {"worst", relative.worst},
        {"average_mb_s", speed.average},
        {"best_mb_s", speed.best},
        {"worst_mb_s", speed.worst},
        {"above_1500", std::ranges::count_if(result.mb_s, [](double value) { return value > kGoodSweepSpeed; })}};
  }
  fmt::print("{}\n", Json{{"methods", std::move(methods)}}.dump());
}

void print_table(const SweepArguments& arguments, const std::vector<SweepResult>& results) {
  fmt::print("{}, {} sets of {} nodes, seed {}\n", name_of(arguments.fabric), arguments.request.sets,
             arguments.request.pick, arguments.request.seed);
  fmt::print("{:<14}{:>10} {:>26} {:>30} {:>12}\n", "", "free of", "speed, stages in step", "MB/s per node, modelled",
             "sets above");
  fmt::print("{:<14}{:>10} {:>10} {:>7} {:>7} {:>12} {:>8} {:>8} {:>12}\n", "method", "hot spots", "average", "best",
             "worst", "average", "best", "worst", "1500 MB/s");
  for (const SweepResult& result : results) {
    const auto relative = statistics_of(result.relative);
    const auto speed = statistics_of(result.mb_s);
    fmt::print("{:<14}{:>10} {:>10.3f} {:>7.3f} {:>7.3f} {:>12.0f} {:>8.0f} {:>8.0f} {:>12}\n",
               to_string(result.method), result.hot_spot_free, relative.average, relative.best, relative.worst,
               speed.average, speed.best, speed.worst,
               std::ranges::count_if(result.mb_s, [](double value) { return value > kGoodSweepSpeed; }));
  }
}

int run_sweep(SweepArguments& arguments) {
  const auto subnet = open_subnet(arguments.fabric);
  if (!subnet) return failed("route sweep", subnet.error());
  auto methods = parse_methods(arguments.methods);
  if (!methods) return failed("route sweep", methods.error());
  arguments.request.methods = std::move(*methods);
  const auto results = sweep(*subnet, arguments.request);
  if (!results) return failed("route sweep", results.error());
  if (arguments.json)
    print_json(*results);
  else
    print_table(arguments, *results);
  return 0;
}

} // namespace

void add_route_sweep(CLI::App& route, Invocation& invocation) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* sweep =
      route.add_subcommand("sweep", "Many random node sets: how often a method has hot spots, and how slow");
  add_fabric_options(*sweep, arguments->fabric);
  sweep->add_option("--pick", arguments->request.pick, "Nodes in a set")->required()->type_name("N");
  sweep->add_option("--sets", arguments->request.sets, "How many sets")
      ->required()
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("COUNT");
  add_seed_option(*sweep, arguments->request.seed, "The same seed draws the same sets");
  sweep->add_option("--methods", arguments->methods, "Methods to compare")->capture_default_str()->type_name("LIST");
  add_json_flag(*sweep, arguments->json);
  sweep->footer(
      "MB/s are those of an all-to-all with 8 processes a node, 1 MiB messages and 4xDDR, by the model of "
      "docs/routing.md.\n\n"
      "Example: heddle route sweep --tree 6-ary-2-tree:30 --pick 16 --sets 1000 --seed 1");
  sweep->callback([arguments, &invocation] { invocation.exit_status = run_sweep(*arguments); });
}

} // namespace heddle::tool
