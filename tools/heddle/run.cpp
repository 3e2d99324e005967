// heddle run: starts a job, on this machine or on several; heddle agent: its hand on the others.
#include <fmt/core.h>

#include <chrono>
#include <map>
#include <memory>

#include "host_options.hpp"
#include "launch/agent.hpp"
#include "launch/launcher.hpp"
#include "launch/slurm.hpp"
#include "subcommands.hpp"

namespace heddle::tool {
namespace {

struct RunArguments {
  launch::JobDescription job;
  HostArguments hosts;
  std::uint32_t processes = 0; // 0: not said
  double grace_seconds = 5;
  std::string bind = "automatic";
};

const std::map<std::string, launch::Binding> kBindings{
    {"automatic", launch::Binding::automatic}, {"always", launch::Binding::always}, {"never", launch::Binding::never}};

// Inside an allocation of Slurm, and not in one of its steps: its nodes are the hosts, reached by steps of it.
void take_allocation(HostArguments& arguments) {
  const base::Environment environment = base::Environment::of_process();
  if (launch::SlurmStep::of(environment)) return;
  const auto nodes = launch::slurm_allocation(environment);
  if (!nodes) return;
  arguments.hosts.emplace();
  for (const launch::Host& node : *nodes)
    *arguments.hosts += (arguments.hosts->empty() ? "" : ",") + node.name + ":" + std::to_string(node.processes);
  if (arguments.shell == "ssh") arguments.shell = "srun --overlap --quiet --mpi=none --nodes=1 --ntasks=1 --nodelist";
}

int run_workload(RunArguments& arguments, const std::vector<std::string>& command) {
  if (command.empty()) return bad_usage("run", "PROGRAM is required");
  arguments.job.command = command;
  arguments.job.bind = kBindings.at(arguments.bind);
  arguments.job.grace = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.grace_seconds * 1000));
  if (!arguments.hosts.hosts && arguments.hosts.file.empty()) take_allocation(arguments.hosts);
  if (arguments.hosts.given()) {
    if (auto applied = apply_hosts(arguments.hosts, arguments.processes, arguments.job); !applied)
      return failed("run", applied.error());
  } else if (arguments.processes == 0) {
    return bad_usage("run", "-n is required (or --hosts): how many processes");
  } else {
    arguments.job.processes = arguments.processes;
  }
  const auto status = launch::run(arguments.job);
  if (status) return *status;
  fmt::print(stderr, "heddle run: {}\n", status.error().message());
  return kBadUsage;
}

} // namespace

void add_run(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* run = program.add_subcommand(
      "run",
      "Start N processes of PROGRAM, here or on several machines: heddle run -n N [OPTIONS] [--] PROGRAM [ARGS...]");
  run->add_option("-n", arguments->processes, "How many processes")
      ->check(CLI::Range(std::uint32_t{1}, launch::kMostProcesses))
      ->type_name("N");
  run->add_option("--grace", arguments->grace_seconds,
                  "Seconds that the rest may take to end after one process failed; then SIGTERM, then SIGKILL")
      ->check(CLI::Validator( // not CLI::Range, which lets nan pass
          [](const std::string& text) {
            double seconds = -1;
            const bool read = CLI::detail::lexical_cast(text, seconds);
            return read && seconds >= 0 && seconds <= 86400 ? "" : "Value " + text + " not in range [0 - 86400]";
          },
          ""))
      ->capture_default_str()
      ->type_name("SECONDS");
  run->add_flag("--survive", arguments->job.survive, "When one process fails, let the rest go on; they are told");
  run->add_option("--bind", arguments->bind,
                  "Bind each process to one cpu, round robin: automatic (when N fits), always or never")
      ->check(CLI::IsMember(kBindings).description(""))
      ->capture_default_str()
      ->type_name("WHEN");
  add_host_options(*run, arguments->hosts);
  run->footer(
      "Each process finds HEDDLE_RANK, HEDDLE_SIZE, HEDDLE_JOB, HEDDLE_STORE and HEDDLE_SECRET in its environment; on "
      "other\n"
      "machines also the HEDDLE_ variables of this one, and it runs in the same directory.\n"
      "Standard input goes to rank 0 unless it is a terminal. The exit status is that of the first process that "
      "failed,\n"
      "128 + signal if it was killed, 1 if it ended with status 0 without leaving the job.\n"
      "A process has failed when it was killed, when it ended without leaving the job that it had joined, and when its "
      "exit\n"
      "status is not 0, even after it left; the others are told. One that is slow or stopped has not.\n\n"
      "Inside an allocation of Slurm (salloc, sbatch) it runs on the allocation's nodes, unless --hosts says "
      "others.\n\n"
      "Example: heddle run -n 4 -- ./my_program --steps 100\n"
      "         heddle run --hosts node1:4,node2:4 -- ./my_program");
  run->callback([arguments, &invocation] { invocation.exit_status = run_workload(*arguments, invocation.program); });
}

void add_agent(CLI::App& program, Invocation& invocation) {
  CLI::App* agent = program.add_subcommand("agent", "Serve a job of heddle run --hosts on this machine; started by it");
  agent->group(""); // not for people
  agent->callback([&invocation] {
    if (const auto served = launch::run_agent(); !served) invocation.exit_status = failed("agent", served.error());
  });
}

} // namespace heddle::tool
