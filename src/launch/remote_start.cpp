// How a job on several machines begins: an agent on each host, then the processes.
#include "launch/agent.hpp"
#include "launch/agent_wire.hpp"
#include "launch/remote_crew.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace heddle::launch {

namespace {

// A remote shell may hand the words to a shell there; one such as `ip netns exec` does not. So quotes only where it must be.
std::string quoted_if_needed(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-:=@%,";
  if (word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

} // namespace

std::vector<std::string> RemoteCrew::command_for(const Host& host) const {
  if (host.is_here()) return {job_.agent, "agent"};
  std::vector<std::string> command = job_.shell;
  if (command == std::vector<std::string>{"ssh"}) // nobody is there to answer questions
    for (const char* word : {"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"}) command.emplace_back(word);
  command.push_back(host.name);
  command.push_back(quoted_if_needed(job_.agent));
  command.emplace_back("agent");
  return command;
}

Result<void> RemoteCrew::start_agent(Place& place) {
  int ends[2];
  int failures[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(system_error("cannot create a pipe", errno));
  const base::Descriptor reads(ends[0]);
  const base::Descriptor writes(ends[1]);
  if (::pipe2(failures, O_CLOEXEC) != 0) return std::unexpected(system_error("cannot create a pipe", errno));
  const base::Descriptor failed(failures[0]);
  base::Descriptor report(failures[1]);
  ProcessPlan plan{.command = command_for(*place.host),
                   .environment = {},
                   .signal_mask = signal_mask_,
                   .cpu = {},
                   // What a remote shell says is for people.
                   .streams = {.in = reads.number(), .out = STDERR_FILENO, .error = STDERR_FILENO},
                   // An agent ends what its processes have started, too.
                   .death_signal = SIGTERM,
                   .failure_pipe = report.number()};
  const base::Environment own = base::Environment::of_process();
  for (const auto& [name, value] : own.variables()) plan.environment.push_back(name + "=" + value);
  auto process = start_process(plan);
  if (!process) return std::unexpected(std::move(process.error()));
  place.shell = *process;
  report.reset();
  int code = 0;
  ssize_t count = 0;
  while ((count = ::read(failed.number(), &code, sizeof code)) < 0 && errno == EINTR) {
  }
  if (count == static_cast<ssize_t>(sizeof code))
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = (place.host->is_here() ? "the agent '" : "the remote shell '") + plan.command.front() +
                      "' cannot be started",
              .remedy = place.host->is_here() ? "name another by --agent" : "name another by --shell",
              .system_code = code});
  // A pipe has room for it.
  const std::string line = AgentTicket{.secret = secret_, .launcher = door_->endpoint(), .host = place.number}.line();
  [[maybe_unused]] const auto written = ::write(writes.number(), line.data(), line.size());
  return {};
}

void RemoteCrew::start_processes() {
  all_ordered_ = true;
  // A terminal is not passed on: as on one machine.
  reads_input_ = ::isatty(STDIN_FILENO) == 0;
  Variables variables = passed_on(job_.passed_environment);
  std::erase_if(variables, [&](const auto& each) {
    return each.first == auth::kSecretVariable ||
           std::ranges::find(variables_, each.first, &base::Environment::Variable::first) != variables_.end();
  });
  variables.insert(variables.end(), variables_.begin(), variables_.end());
  std::error_code unknown;
  const std::string directory = std::filesystem::current_path(unknown).string();
  if (unknown)
    return fail({.code = ErrorCode::bad_argument,
                 .fact = "the working directory has no name that other machines could enter",
                 .system_code = unknown.value()});
  for (Place& place : places_) {
    StartOrder order{.first = place.first,
                     .count = place.host->processes,
                     .bind = job_.bind,
                     .gets_input = place.first == 0 && reads_input_,
                     .directory = directory,
                     .command = job_.command,
                     .variables = variables};
    // Two hosts of one name are one machine.
    order.variables.emplace_back("HEDDLE_NODE", place.host->name);
    place.link->send(order.encode());
    for (std::uint32_t i = 0; i < place.host->processes; ++i) runs_[place.first + i] = true;
  }
}

} // namespace heddle::launch
