// heddle sim: a workload of the library on a simulated fabric, in virtual time.
#include "sim.hpp"
#include "base/nearest.hpp"
#include "base/size_text.hpp"
#include "base/text_file.hpp"
#include "route.hpp"
#include "routing/job_hosts.hpp"
#include "routing/methods.hpp"
#include "seed.hpp"
#include "sim/description.hpp"
#include "sim/text.hpp"
#include "sim_picture.hpp"
#include "subcommands.hpp"
#include "workloads.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tool {
namespace {

constexpr std::uint64_t kLargestDrawn = 256 << 20; // bytes of a trace that can be drawn

struct Row {
  std::uint64_t bytes = 0;
  std::uint32_t peers = 0;
  double round_us = 0; // one round; of ping-pong half of it
  double mb_s = 0;     // all processes together
  double job_us = 0;   // all of it, with the round that makes the connections
  std::uint64_t hops = 0;
  std::uint64_t resent = 0;
};

Result<Workload> workload_named(const std::string& name) {
  const auto names = workload_names();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<Workload>(found - names.begin());
  return std::unexpected(
      Error{.code = ErrorCode::bad_argument,
            .fact = fmt::format("no workload is called '{}', did you mean {}?", name, base::nearest(name, names))});
}

// "CABLE@TIME", such as 3@1.5ms.
Result<simulation::Setup::CableChange> cable_change(const std::string& text, bool plugged) {
  const auto halves = sim::cut_at(text, '@');
  const auto cable = sim::parse_count(halves.before);
  const auto time = sim::parse_time(halves.after);
  if (!cable || *cable > std::numeric_limits<std::uint32_t>::max() || !time)
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = fmt::format("'{}' is not a change of a cable: expected CABLE@TIME, such as 3@1.5ms", text)});
  return simulation::Setup::CableChange{.cable = static_cast<std::uint32_t>(*cable), .at = *time, .plugged = plugged};
}

Result<void> add_cable_changes(const SimArguments& arguments, simulation::Setup& setup) {
  for (const auto& [texts, plugged] : {std::pair(&arguments.cut, false), std::pair(&arguments.plug, true)})
    for (const std::string& text : *texts) {
      const auto change = cable_change(text, plugged);
      if (!change) return std::unexpected(change.error());
      setup.cables.push_back(*change);
    }
  return {};
}

// A picture is drawn from a trace, which is kept only where it was asked for.
std::string trace_of(const SimArguments& arguments) {
  return arguments.trace.empty() && !arguments.svg.empty() ? arguments.svg + ".trace" : arguments.trace;
}

Result<void> draw(const SimArguments& arguments, const Row& row) {
  const auto trace = base::read_text_file(trace_of(arguments), {.what = "trace", .most = kLargestDrawn});
  if (!trace) return std::unexpected(trace.error());
  const std::string paths = arguments.paths.empty() ? "" : ", paths by " + arguments.paths;
  const auto svg = timeline_svg(*trace, fmt::format("{} of {} on {}, {} processes{}", arguments.workload,
                                                    base::print_size(row.bytes), arguments.fabric, row.peers, paths));
  if (!svg) return std::unexpected(svg.error());
  return write_whole_files({{arguments.svg, *svg}});
}

Result<Row> measure(const SimArguments& arguments, const WorkloadRun& job) {
  const bool all_talk = job.workload == Workload::all_to_all || job.workload == Workload::random;
  auto world = world_for(arguments, arguments.peers, all_talk);
  if (!world) return std::unexpected(std::move(world.error()));
  auto measured = run_workload(*world, job);
  if (!measured) return std::unexpected(std::move(measured.error()));
  const double us = static_cast<double>(measured->time.count()) / 1e6;
  const double ways = job.workload == Workload::ping_pong ? 2 : 1;
  return Row{.bytes = job.bytes,
             .peers = world->size(),
             .round_us = us / job.rounds / ways,
             .mb_s = us > 0 ? static_cast<double>(measured->bytes) / us : 0,
             .job_us = static_cast<double>(measured->outcome.time.count()) / 1e6,
             .hops = measured->outcome.packet_hops,
             .resent = measured->outcome.resent};
}

void print_table(const SimArguments& arguments, const std::vector<Row>& rows) {
  const bool fluid = arguments.model == "fluid";
  fmt::print("{} on {}, {} processes, {} rounds, virtual time{}\n", arguments.workload, arguments.fabric,
             rows.front().peers, arguments.rounds, fluid ? ", fluid" : "");
  fmt::print("{:>8} {:>14} {:>12} {:>14}\n", "bytes", arguments.workload == "ping-pong" ? "half round us" : "round us",
             "MB/s", fluid ? "flow-hops" : "packet-hops");
  for (const Row& row : rows)
    fmt::print("{:>8} {:>14.3f} {:>12.1f} {:>14}\n", base::print_size(row.bytes), row.round_us, row.mb_s, row.hops);
  if (arguments.cut.empty() && arguments.plug.empty()) return;
  std::uint64_t resent = 0;
  for (const Row& row : rows) resent += row.resent;
  fmt::print("{} packets were sent again because of cut cables\n", resent);
}

void print_json(const SimArguments& arguments, const std::vector<Row>& rows) {
  auto results = Json::array();
  for (const Row& row : rows)
    results.push_back({{"bytes", row.bytes},
                       {"round_us", row.round_us},
                       {"mb_s", row.mb_s},
                       {"job_us", row.job_us},
                       {"packet_hops", row.hops},
                       {"resent", row.resent}});
  fmt::print("{}\n", Json{{"workload", arguments.workload},
                          {"fabric", arguments.fabric},
                          {"model", arguments.model},
                          {"processes", rows.front().peers},
                          {"rounds", arguments.rounds},
                          {"results", std::move(results)}}
                         .dump());
}

// Removes a file at the end, whatever that is.
struct Passing {
  std::string path;
  ~Passing() {
    if (!path.empty()) std::remove(path.c_str());
  }
};

int run_sim(const SimArguments& arguments) {
  const Passing trace{arguments.trace.empty() ? trace_of(arguments) : ""};
  if (!arguments.trace_in.empty()) return run_recorded_job(arguments);
  if (arguments.workload.empty())
    return bad_usage("sim", "expected a WORKLOAD, or a recorded job with --trace-in FILE");
  const auto workload = workload_named(arguments.workload);
  if (!workload) return failed("sim", workload.error());
  const auto sizes = base::parse_size_list(arguments.bytes);
  if (!sizes) return failed("sim", sizes.error());
  if (!arguments.paths.empty())
    if (const auto method = routing::parse_method(arguments.paths); !method)
      return failed(
          "sim",
          {.code = ErrorCode::bad_option, .fact = "--paths: " + method.error().fact, .remedy = method.error().remedy});
  if (!trace_of(arguments).empty() && sizes->size() != 1)
    return bad_usage("sim", "--trace and --svg show one run: give one size with --bytes");
  if (!arguments.record.empty() && sizes->size() != 1)
    return bad_usage("sim", "--record writes one run: give one size with --bytes");
  std::string recorded(arguments.record.empty() ? "" : traffic::job_names());
  WorkloadRun job{.workload = *workload, .rounds = arguments.rounds, .seed = arguments.seed, .record = {}};
  if (!arguments.record.empty()) job.record = [&](const traffic::JobStep& step) { recorded += traffic::to_text(step); };
  std::vector<Row> rows;
  for (const std::uint64_t bytes : *sizes) {
    job.bytes = bytes;
    auto row = measure(arguments, job);
    if (!row) return failed("sim", row.error());
    rows.push_back(*row);
  }
  if (!arguments.svg.empty()) {
    const auto drawn = draw(arguments, rows.front());
    if (!drawn) return failed("sim", drawn.error());
  }
  if (!arguments.record.empty())
    if (auto written = write_whole_files({{arguments.record, recorded}}); !written)
      return failed("sim", written.error());
  if (arguments.json)
    print_json(arguments, rows);
  else
    print_table(arguments, rows);
  return 0;
}

} // namespace

Result<simulation::World> world_for(const SimArguments& arguments, std::uint32_t processes, bool all_talk) {
  const auto fabric = sim::parse_fabric(arguments.fabric);
  if (!fabric) return std::unexpected(fabric.error());
  const std::uint64_t count = processes != 0 ? processes : std::uint64_t{fabric->nodes} * arguments.per_node;
  simulation::Setup setup{
      .fabric = arguments.fabric,
      .model = arguments.model == "fluid" ? simulation::Setup::Model::fluid : simulation::Setup::Model::packets,
      .peers = processes,
      .peers_per_node = arguments.per_node,
      .options = all_talk ? options_for(count) : Options{},
      .trace = trace_of(arguments)};
  if (!arguments.nodes.empty()) {
    auto nodes = routing::parse_node_list(arguments.nodes);
    if (!nodes) return std::unexpected(std::move(nodes.error()));
    setup.nodes = std::move(*nodes);
  }
  if (!arguments.paths.empty()) setup.options.paths = arguments.paths;
  setup.options.schedule = arguments.schedule;
  if (auto added = add_cable_changes(arguments, setup); !added) return std::unexpected(std::move(added.error()));
  return simulation::World::create(setup);
}

void add_sim(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<SimArguments>();
  CLI::App* sim = program.add_subcommand("sim", "Run a workload of the library on a simulated fabric");
  CLI::Option* const workload =
      sim->add_option("workload", arguments->workload, "ping-pong, stream, all-to-all, halo or random")
          ->type_name("WORKLOAD");
  sim->add_option("--fabric", arguments->fabric,
                  "infiniband:TREE|FILE, tofu:XxYxZ, rhinet:FILE|star:N|ring:N, with ,name=value")
      ->required()
      ->type_name("FABRIC");
  CLI::Option* const bytes =
      sim->add_option("--bytes", arguments->bytes, "Sizes of the messages")->capture_default_str()->type_name("LIST");
  CLI::Option* const peers =
      sim->add_option("--peers,-n", arguments->peers, "Processes; 0: one on each place")->capture_default_str();
  sim->add_option("--per-node", arguments->per_node, "Processes on each node")->capture_default_str();
  sim->add_option("--nodes", arguments->nodes, "Nodes of the fabric to run on, such as 0-5,9; default: all")
      ->type_name("LIST");
  sim->add_option("--schedule", arguments->schedule, "How messages are spread over the engines of a network (tofu)")
      ->check(CLI::IsMember(std::vector<std::string>{base::kSchedules.begin(), base::kSchedules.end()}))
      ->capture_default_str();
  sim->add_option("--paths", arguments->paths,
                  "Plan paths for the job: conventional, node, pair or colouring (infiniband)")
      ->type_name("METHOD");
  sim->add_option("--model", arguments->model, "packets, or fluid: fair rates, for large messages between many")
      ->check(CLI::IsMember({"packets", "fluid"}))
      ->capture_default_str()
      ->type_name("MODEL");
  sim->add_option("--cut", arguments->cut,
                  "Cut a cable of a rhinet fabric at that time, such as 3@1.5ms; again for more")
      ->type_name("CABLE@TIME");
  sim->add_option("--plug", arguments->plug, "Plug one; a cable that was not cut before is not plugged until then")
      ->type_name("CABLE@TIME");
  CLI::Option* const rounds = sim->add_option("--rounds", arguments->rounds, "Rounds that are measured")
                                  ->capture_default_str()
                                  ->check(CLI::Range(1U, 1'000'000U));
  add_seed_option(*sim, arguments->seed, "For random");
  CLI::Option* const record =
      sim->add_option("--record", arguments->record, "Write what every process does into this file (docs/traffic.md)")
          ->type_name("FILE");
  CLI::Option* const trace_in =
      sim->add_option("--trace-in", arguments->trace_in, "Do again what the processes of a recorded job did")
          ->type_name("FILE");
  sim->add_option("--trace", arguments->trace, "Write what peers, engines and links do, for Perfetto")
      ->type_name("FILE");
  CLI::Option* const svg =
      sim->add_option("--svg", arguments->svg, "Draw the same as a timeline into this file")->type_name("FILE");
  for (CLI::Option* const each : {workload, bytes, peers, rounds, record, svg}) trace_in->excludes(each);
  sim->add_flag("--json", arguments->json, "One JSON object on stdout");
  sim->footer("Example: heddle sim all-to-all --fabric infiniband:6-ary-2-tree:30 --bytes 64KiB");
  sim->callback([arguments, &invocation] { invocation.exit_status = run_sim(*arguments); });
}

} // namespace heddle::tool
