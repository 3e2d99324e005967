#include "launch/local_crew.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.hpp"

namespace heddle::launch {

ProcessPlan LocalCrew::plan_for(std::uint32_t index, int failure_pipe) const {
  const std::uint32_t rank = share_.first + index;
  ProcessPlan plan{.command = share_.command,
                   .environment = {},
                   .signal_mask = share_.signal_mask,
                   .cpu = {},
                   // A terminal would stop a process that is not in its foreground group.
                   .keeps_stdin = rank == 0 && ::isatty(STDIN_FILENO) == 0,
                   .streams = streams_ ? streams_(rank) : ProcessStreams{},
                   .failure_pipe = failure_pipe};
  for (const auto& [name, value] : share_.environment) plan.environment.push_back(name + "=" + value);
  plan.environment.push_back("HEDDLE_RANK=" + std::to_string(rank));
  const std::vector<int> cpus = allowed_cpus();
  const bool bind =
      share_.bind == Binding::always || (share_.bind == Binding::automatic && share_.count <= cpus.size());
  if (bind && !cpus.empty()) plan.cpu = cpus[index % cpus.size()];
  return plan;
}

Result<void> LocalCrew::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(system_error("cannot create a pipe", errno));
  const base::Descriptor failures(ends[0]);
  base::Descriptor report(ends[1]);
  running_.assign(share_.count, 0);
  for (std::uint32_t i = 0; i < share_.count; ++i) {
    auto process = start_process(plan_for(i, report.number()));
    if (!process) return std::unexpected(std::move(process).error());
    running_[i] = *process;
  }
  report.reset();
  // Every program that starts closes its end of the pipe; so this ends when all have started, or with the first errno.
  int code = 0;
  ssize_t count = 0;
  while ((count = ::read(failures.number(), &code, sizeof code)) < 0 && errno == EINTR) {
  }
  if (count == static_cast<ssize_t>(sizeof code)) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the program '" + share_.command.front() + "' cannot be started",
                                 .remedy = "",
                                 .peer = kNoPeer,
                                 .system_code = code});
  }
  warden_.watch_over(running_);
  return {};
}

void LocalCrew::signal_all(int number) {
  for (const pid_t process : running_)
    if (process != 0) ::kill(-process, number);
}

std::vector<Ended> LocalCrew::take_ended(bool children) {
  std::vector<Ended> ended;
  if (!children) return ended;
  for (std::uint32_t i = 0; i < running_.size(); ++i) {
    if (running_[i] == 0) continue;
    const auto ending = collect(running_[i]);
    if (!ending) continue;
    warden_.forget(running_[i]);
    running_[i] = 0;
    ended.push_back({.rank = share_.first + i, .ending = *ending});
  }
  return ended;
}

LocalCrew::~LocalCrew() {
  signal_all(SIGKILL);
  for (pid_t& process : running_) {
    while (process != 0) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
      collect(process);
      process = 0;
    }
  }
}

} // namespace heddle::launch
