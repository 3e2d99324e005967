// heddle schedule: how a pattern's puts would be put onto engines, as a picture.
#include "base/nearest.hpp"
#include "halo_on_tofu.hpp"
#include "reproduce.hpp"
#include "route.hpp"
#include "schedule/algorithms.hpp"
#include "schedule_picture.hpp"

#include <fmt/core.h>

#include <charconv>

namespace heddle::tool {
namespace {

struct ScheduleArguments {
  std::string pattern;
  std::string directions = "all";
  std::string algorithm = "sharing";
  std::string svg;
  bool json = false;
};

// Sizes from 1 to what keeps a put below the largest of the network.
constexpr std::uint32_t kLargestGrid = 60'000;

Result<std::uint32_t> grid_size(const std::string& pattern) {
  constexpr std::string_view kName = "scale-les3:";
  std::uint32_t k = 0;
  if (pattern.starts_with(kName)) {
    const char* end = pattern.data() + pattern.size();
    const auto read = std::from_chars(pattern.data() + kName.size(), end, k);
    if (read.ec == std::errc{} && read.ptr == end && k > 0 && k <= kLargestGrid) return k;
  }
  return std::unexpected(Error{
      .code = ErrorCode::bad_argument,
      .fact = fmt::format("'{}' is not a pattern: expected scale-les3:K with K from 1 to {}", pattern, kLargestGrid)});
}

constexpr std::array<const char*, 4> kLinks{"east", "west", "north", "south"};

void print_json(const std::vector<HaloPut>& puts, const schedule::Problem& problem,
                const schedule::Schedule& schedule) {
  Json requests = Json::array();
  for (std::uint32_t i = 0; i < puts.size(); ++i) {
    const schedule::Placement& placed = schedule.placements[i];
    Json links = Json::array();
    for (const std::uint32_t link : problem.path(i, placed.path)) links.push_back(kLinks[link]);
    requests.push_back({{"direction", to_string(puts[i].direction)},
                        {"bytes", puts[i].bytes},
                        {"engine", placed.send_engine},
                        {"receive_engine", placed.receive_engine},
                        {"links", std::move(links)},
                        {"shares_link", placed.shares_link},
                        {"start_us", placed.start_ns / 1000},
                        {"end_us", placed.end_ns / 1000}});
  }
  fmt::print("{}\n", Json{{"requests", std::move(requests)},
                          {"makespan_us", schedule.makespan_ns / 1000},
                          {"lower_bound_us", lower_bound_ns(problem) / 1000}}
                         .dump());
}

Result<void> run_schedule(const ScheduleArguments& arguments) {
  const auto k = grid_size(arguments.pattern);
  if (!k) return std::unexpected(k.error());
  const auto puts = scale_les3(*k, arguments.directions);
  if (!puts) return std::unexpected(puts.error());
  const auto problem = halo_on_tofu(*puts);
  if (!problem) return std::unexpected(problem.error());
  const auto planned = schedule::run_algorithm(arguments.algorithm, *problem);
  if (!planned) return std::unexpected(planned.error());
  const schedule::Schedule schedule = schedule::expected(*problem, *planned);
  if (!arguments.svg.empty()) {
    const std::string title = fmt::format("{}, {}, {}", arguments.pattern, arguments.directions, arguments.algorithm);
    if (auto written = write_whole_files({{arguments.svg, schedule_svg(*puts, schedule, title)}}); !written)
      return written;
  }
  if (arguments.json) {
    print_json(*puts, *problem, schedule);
    return {};
  }
  const double bound = lower_bound_ns(*problem) / 1000;
  fmt::print("{}", schedule_text(*puts, schedule));
  fmt::print("{} puts end after {:.2f} us; none can before {:.2f} us ({:.3f} times that)\n", puts->size(),
             schedule.makespan_ns / 1000, bound, schedule.makespan_ns / 1000 / bound);
  return {};
}

} // namespace

void add_schedule(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<ScheduleArguments>();
  CLI::App* command = program.add_subcommand("schedule", "How a pattern's puts are put onto engines");
  command->add_option("--pattern", arguments->pattern, "scale-les3:K, the halo exchange with K vertical grid points")
      ->required()
      ->type_name("PATTERN");
  command->add_option("--directions", arguments->directions, "ew, ns, ewns, diagonal or all")
      ->capture_default_str()
      ->type_name("DIRECTIONS");
  std::string names;
  for (const std::string_view name : schedule::algorithm_names())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  command->add_option("--algorithm", arguments->algorithm, names)->capture_default_str()->type_name("NAME");
  command->add_option("--svg", arguments->svg, "Draw it into this file, too")->type_name("FILE");
  add_json_flag(*command, arguments->json);
  command->footer("Example: heddle schedule --pattern scale-les3:872 --directions ewns --algorithm bottom-left-4");
  command->callback([arguments, &invocation] {
    const auto done = run_schedule(*arguments);
    invocation.exit_status = done ? 0 : failed("schedule", done.error());
  });
}

} // namespace heddle::tool
