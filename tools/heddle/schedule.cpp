// heddle schedule: how a pattern's puts would be put onto engines, as a picture.
#include "base/refusal.hpp"
#include "plan_tasks.hpp"
#include "progress.hpp"
#include "route.hpp"
#include "schedule/algorithms.hpp"
#include "schedule_picture.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace heddle::tool {
namespace {

using schedule::Schedule;

struct ScheduleArguments {
  PatternText pattern;
  std::string algorithm = "sharing";
  std::string svg;
  bool json = false;
};

void add_requests(Json& requests, const PlanTask& task, const Schedule& schedule) {
  for (std::uint32_t i = 0; i < task.puts.size(); ++i) {
    const schedule::Placement& placed = schedule.placements[i];
    Json links = Json::array();
    for (const std::uint32_t link : task.problem.path(i, placed.path)) links.push_back(task.links[link]);
    Json request;
    if (!task.process.empty()) {
      request["from"] = task.from;
      request["to"] = task.problem.requests[i].peer;
    } else {
      request["direction"] = task.puts[i].name;
    }
    request.update({{"bytes", task.puts[i].bytes},
                    {"engine", placed.send_engine},
                    {"receive_engine", placed.receive_engine},
                    {"links", std::move(links)},
                    {"shares_link", placed.shares_link},
                    {"start_us", placed.start_ns / 1000},
                    {"end_us", placed.end_ns / 1000}});
    requests.push_back(std::move(request));
  }
}

// Of all processes: when the last is done, and before which none could be.
struct Ends {
  double makespan_us = 0;
  double lower_bound_us = 0;
};

void print_json(const std::vector<PlanTask>& tasks, const std::vector<Schedule>& schedules, const Ends& ends) {
  Json requests = Json::array();
  for (std::size_t i = 0; i < tasks.size(); ++i) add_requests(requests, tasks[i], schedules[i]);
  fmt::print("{}\n", Json{{"requests", std::move(requests)},
                          {"makespan_us", ends.makespan_us},
                          {"lower_bound_us", ends.lower_bound_us}}
                         .dump());
}

void print_text(const std::vector<PlanTask>& tasks, const std::vector<Schedule>& schedules, const Ends& ends) {
  std::size_t puts = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].process.empty()) fmt::print("{}\n", tasks[i].process);
    fmt::print("{}", schedule_text(tasks[i], schedules[i]));
    puts += tasks[i].puts.size();
  }
  if (tasks.size() > 1)
    fmt::print("{} nodes, each planned by itself: what others send is not in its way here\n", tasks.size());
  fmt::print("{} puts end after {:.2f} us; none can before {:.2f} us ({:.3f} times that)\n", puts, ends.makespan_us,
             ends.lower_bound_us, ends.lower_bound_us > 0 ? ends.makespan_us / ends.lower_bound_us : 1);
}

Result<void> run_schedule(const ScheduleArguments& arguments) {
  Progress progress("heddle schedule");
  const auto tasks = open_tasks(arguments.pattern);
  if (!tasks) return std::unexpected(tasks.error());
  std::vector<Schedule> schedules;
  Ends ends;
  for (const PlanTask& task : *tasks) {
    progress.at(fmt::format("{} of {} nodes", schedules.size(), tasks->size()));
    const auto planned = schedule::run_algorithm(arguments.algorithm, task.problem);
    if (!planned) return std::unexpected(planned.error());
    schedules.push_back(schedule::expected(task.problem, *planned));
    ends.makespan_us = std::max(ends.makespan_us, schedules.back().makespan_ns / 1000);
    ends.lower_bound_us = std::max(ends.lower_bound_us, lower_bound_ns(task.problem) / 1000);
  }
  progress.wipe();
  if (!arguments.svg.empty()) {
    const std::string& directions = arguments.pattern.directions;
    const auto svg = schedules_svg(*tasks, schedules,
                                   fmt::format("{}{}{}, {}", arguments.pattern.pattern, directions.empty() ? "" : ", ",
                                               directions, arguments.algorithm));
    if (!svg) return std::unexpected(svg.error());
    if (auto written = write_whole_files({{arguments.svg, *svg}}); !written) return written;
  }
  if (arguments.json)
    print_json(*tasks, schedules, ends);
  else
    print_text(*tasks, schedules, ends);
  return {};
}

} // namespace

void add_schedule(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<ScheduleArguments>();
  CLI::App* command = program.add_subcommand("schedule", "How a pattern's puts are put onto engines");
  command
      ->add_option(
          "--pattern", arguments->pattern.pattern,
          "scale-les3:K, the report's halo exchange; halo:AxBxC:BYTES, a grid of processes; or a file of puts, "
          "JSON or CSV (docs/traffic.md)")
      ->required()
      ->type_name("PATTERN");
  command
      ->add_option("--directions", arguments->pattern.directions,
                   "ew, ns, ewns, diagonal or all; of halo also straight, which is its default")
      ->type_name("DIRECTIONS");
  command
      ->add_option("--fabric", arguments->pattern.fabric, "tofu:XxYxZ[,name=value], whose nodes a file's numbers mean")
      ->type_name("FABRIC");
  std::string names;
  for (const std::string_view name : schedule::algorithm_names())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  command->add_option("--algorithm", arguments->algorithm, names)->capture_default_str()->type_name("NAME");
  command->add_option("--svg", arguments->svg, "Draw it into this file, too")->type_name("FILE");
  add_json_flag(*command, arguments->json);
  command->footer(
      "A file of puts has from, to and bytes for each, or direction and bytes, such as:\n"
      "  direction,bytes\n  east,64KiB\n  north-west,8\n\n"
      "Example: heddle schedule --pattern halo:8x8x8:64KiB --algorithm bottom-left-4");
  command->callback([arguments, &invocation] {
    const auto done = run_schedule(*arguments);
    invocation.exit_status = done ? 0 : failed("schedule", done.error());
  });
}

} // namespace heddle::tool
