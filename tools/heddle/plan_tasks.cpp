#include "plan_tasks.hpp"

#include "base/nearest.hpp"
#include "base/refusal.hpp"
#include "base/size_text.hpp"
#include "halo_on_tofu.hpp"
#include "nodes_on_tofu.hpp"
#include "route.hpp"
#include "sim/text.hpp"
#include "step_names.hpp"
#include "traffic/put_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

namespace heddle::tool {
namespace {

using traffic::Put;

// Planning takes time by the square of their number, and more than that of engines' work is seldom planned at once.
constexpr std::size_t kMostOfAProcess = 500;
// What keeps a put below the largest of the network.
constexpr std::uint64_t kLargestPut = std::uint64_t{1} << 40U;
constexpr std::uint32_t kLargestGrid = 60'000;
constexpr std::uint32_t kMostAlongAnAxis = 100'000;

Result<PlanTask> task_of(std::span<const StepPut> puts, const std::string& fabric) {
  const auto problem = grid_on_tofu(puts, fabric.empty() ? kSmallTofu : fabric);
  if (!problem) return std::unexpected(problem.error());
  PlanTask task{
      .process = {}, .from = 0, .puts = {}, .problem = *problem, .links = {kGridLinks.begin(), kGridLinks.end()}};
  for (const StepPut& put : puts) task.puts.push_back({name_of(put.step), brief_of(put.step), put.bytes});
  return task;
}

// --- scale-les3:K ---

Result<std::vector<StepPut>> scale_les3_puts(std::string_view size, const std::string& directions) {
  const auto k = sim::parse_count(size);
  if (!k || *k == 0 || *k > kLargestGrid)
    return refuse(
        fmt::format("'scale-les3:{}' is not a pattern: expected scale-les3:K with K from 1 to {}", size, kLargestGrid));
  const auto puts = scale_les3(static_cast<std::uint32_t>(*k), directions.empty() ? "all" : directions);
  if (!puts) return std::unexpected(puts.error());
  std::vector<StepPut> steps;
  for (const HaloPut& put : *puts) steps.push_back({step_of(put.direction), put.bytes});
  return steps;
}

// --- halo:AxBxC:BYTES ---

bool wanted(Step step, std::string_view directions) {
  const int axes = std::abs(step.column) + std::abs(step.row) + std::abs(step.layer);
  if (directions == "all") return true;
  if (directions == "diagonal") return axes > 1;
  if (axes > 1) return false;
  if (directions == "ew") return step.column != 0;
  if (directions == "ns") return step.row != 0;
  if (directions == "ewns") return step.layer == 0;
  return true; // straight
}

Result<std::vector<StepPut>> halo_puts(std::string_view text, const std::string& directions) {
  const auto refused = [&] {
    return refuse(
        fmt::format("'halo:{}' is not a pattern: expected halo:AxB:BYTES or halo:AxBxC:BYTES, a grid of "
                    "processes and what each sends to a neighbour",
                    text));
  };
  constexpr std::array<std::string_view, 6> kDirectionSets{"straight", "ew", "ns", "ewns", "diagonal", "all"};
  const std::string set = directions.empty() ? "straight" : directions;
  if (std::ranges::find(kDirectionSets, set) == kDirectionSets.end())
    return refuse(fmt::format("'{}' are no directions: expected straight, ew, ns, ewns, diagonal or all", set));
  const auto halves = sim::cut_at(text, ':');
  const auto bytes = base::parse_size(halves.after);
  if (!bytes || *bytes > kLargestPut) return refused();
  std::array<int, 3> reach{}; // 1 along an axis that has neighbours
  std::size_t axes = 0;
  for (std::string_view rest = halves.before; !rest.empty() || axes == 0; ++axes) {
    const auto cut = sim::cut_at(rest, 'x');
    const auto extent = sim::parse_count(cut.before);
    if (axes == reach.size() || !extent || *extent == 0 || *extent > kMostAlongAnAxis) return refused();
    reach[axes] = *extent > 1 ? 1 : 0;
    rest = cut.after;
  }
  std::vector<StepPut> puts;
  for (int layer = -reach[2]; layer <= reach[2]; ++layer)
    for (int row = -reach[1]; row <= reach[1]; ++row)
      for (int column = -reach[0]; column <= reach[0]; ++column)
        if (const Step step{column, row, layer}; step != Step{} && wanted(step, set)) puts.push_back({step, *bytes});
  if (puts.empty()) return refuse(fmt::format("'halo:{}' with --directions {} sends nothing", text, set));
  return puts;
}

// --- a file ---

Error at_put(const traffic::Place& place, const std::string& fact) {
  return traffic::wrong_at(place, fact);
}

Result<std::uint64_t> bytes_of(const Put& put) {
  if (put.stage)
    return std::unexpected(at_put(put.stage->place, "a stage: puts to plan are all begun at once, so they have none"));
  if (!put.bytes) return std::unexpected(at_put(put.place, "a put to plan needs bytes"));
  if (put.bytes->value > kLargestPut)
    return std::unexpected(
        at_put(put.bytes->place, fmt::format("bytes is larger than {}", base::print_size(kLargestPut))));
  return put.bytes->value;
}

Result<std::vector<PlanTask>> tasks_by_direction(const std::vector<Put>& file, const std::string& fabric) {
  std::vector<StepPut> puts;
  for (const Put& put : file) {
    const auto bytes = bytes_of(put);
    if (!bytes) return std::unexpected(bytes.error());
    if (!put.direction)
      return std::unexpected(at_put(put.to->place, "a file has puts by direction or puts to nodes, not both"));
    const auto step = parse_step(put.direction->value);
    if (!step)
      return std::unexpected(at_put(put.direction->place,
                                    fmt::format("{} is no direction: expected north, south, east, west, up, down, or "
                                                "several of them with hyphens, such as north-west",
                                                traffic::quoted(put.direction->value))));
    puts.push_back({*step, *bytes});
    if (puts.size() > kMostOfAProcess)
      return std::unexpected(at_put(put.place, fmt::format("a process has more than {} puts", kMostOfAProcess)));
  }
  auto task = task_of(puts, fabric);
  if (!task) return std::unexpected(std::move(task.error()));
  return std::vector{std::move(*task)};
}

Result<std::vector<PlanTask>> tasks_by_node(const std::vector<Put>& file, const std::string& fabric) {
  std::map<std::uint32_t, std::vector<NodePut>> by_sender;
  std::uint32_t last = 0;
  for (const Put& put : file) {
    const auto bytes = bytes_of(put);
    if (!bytes) return std::unexpected(bytes.error());
    if (!put.to)
      return std::unexpected(at_put(put.direction->place, "a file has puts by direction or puts to nodes, not both"));
    const std::uint32_t from = put.from ? put.from->value : 0;
    if (from == put.to->value)
      return std::unexpected(at_put(put.to->place, fmt::format("node {} puts to itself", from)));
    std::vector<NodePut>& puts = by_sender[from];
    puts.push_back({put.to->value, *bytes});
    last = std::max({last, from, put.to->value});
    if (puts.size() > kMostOfAProcess)
      return std::unexpected(at_put(put.place, fmt::format("node {} has more than {} puts", from, kMostOfAProcess)));
  }
  const auto tofu = NodesOnTofu::make(fabric, last);
  if (!tofu) return std::unexpected(tofu.error());
  for (const Put& put : file)
    for (const auto& node : {put.from, put.to})
      if (node && node->value >= tofu->nodes())
        return std::unexpected(
            at_put(node->place, fmt::format("there is no node {}: {} has nodes 0 to {}", node->value,
                                            fabric.empty() ? "a row of groups" : fabric, tofu->nodes() - 1)));
  std::vector<PlanTask> tasks;
  for (const auto& [from, puts] : by_sender) {
    PlanTask& task = tasks.emplace_back(PlanTask{.process = fmt::format("node {}", from), .from = from});
    task.problem = tofu->problem(from, puts, task.links);
    for (const NodePut& put : puts)
      task.puts.push_back({fmt::format("to {}", put.to), std::to_string(put.to), put.bytes});
  }
  return tasks;
}

Result<std::vector<PlanTask>> tasks_of_file(const PatternText& text) {
  const auto contents = read_whole_file(text.pattern);
  if (!contents) {
    Error error = contents.error();
    error.remedy = "--pattern takes scale-les3:K, halo:AxBxC:BYTES or a file of puts";
    return std::unexpected(error);
  }
  if (!text.directions.empty())
    return refuse("--directions is for scale-les3 and halo: a file says itself what is sent");
  const auto in_file = [&](Error error) {
    error.fact = fmt::format("{}: {}", text.pattern, error.fact);
    return std::unexpected(error);
  };
  const auto puts = traffic::parse_puts(*contents);
  if (!puts) return in_file(puts.error());
  auto tasks = puts->front().direction ? tasks_by_direction(*puts, text.fabric) : tasks_by_node(*puts, text.fabric);
  if (!tasks) return in_file(tasks.error());
  return tasks;
}

} // namespace

Result<std::vector<PlanTask>> open_tasks(const PatternText& text) {
  constexpr std::string_view kScale = "scale-les3:";
  constexpr std::string_view kHalo = "halo:";
  const bool scale = text.pattern.starts_with(kScale);
  if (!scale && !text.pattern.starts_with(kHalo)) return tasks_of_file(text);
  const auto puts = scale ? scale_les3_puts(std::string_view(text.pattern).substr(kScale.size()), text.directions)
                          : halo_puts(std::string_view(text.pattern).substr(kHalo.size()), text.directions);
  if (!puts) return std::unexpected(puts.error());
  auto task = task_of(*puts, text.fabric);
  if (!task) return std::unexpected(std::move(task.error()));
  return std::vector{std::move(*task)};
}

} // namespace heddle::tool
