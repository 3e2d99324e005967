#include "launch/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle::launch {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

void read_nothing() {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
}

// Runs in the child; only calls that are safe after fork.
[[noreturn]] void become(const ProcessPlan& plan, pid_t launcher, char* const* arguments, char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, plan.death_signal);
  if (::getppid() != launcher) ::_exit(128 + SIGKILL); // it ended before the line above took effect
  ::setpgid(0, 0);
  if (plan.streams.in >= 0)
    ::dup2(plan.streams.in, STDIN_FILENO);
  else if (!plan.keeps_stdin)
    read_nothing();
  if (plan.streams.out >= 0) ::dup2(plan.streams.out, STDOUT_FILENO);
  if (plan.streams.error >= 0) ::dup2(plan.streams.error, STDERR_FILENO);
  if (plan.cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<std::size_t>(*plan.cpu), &cpus);
    ::sched_setaffinity(0, sizeof cpus, &cpus); // a hint: a program that cannot be bound still runs
  }
  ::sigprocmask(SIG_SETMASK, &plan.signal_mask, nullptr);
  ::execvpe(arguments[0], arguments, environment);
  const int code = errno;
  [[maybe_unused]] const auto written = ::write(plan.failure_pipe, &code, sizeof code);
  ::_exit(127);
}

} // namespace

Result<pid_t> start_process(const ProcessPlan& plan) {
  const std::vector<char*> arguments = pointers(plan.command);
  const std::vector<char*> environment = pointers(plan.environment);
  const pid_t launcher = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return std::unexpected(Error{.code = ErrorCode::system_failed,
                                 .fact = "a process cannot be started",
                                 .remedy = "raise the limit on processes (ulimit -u) or free memory",
                                 .peer = kNoPeer,
                                 .system_code = errno});
  }
  if (child == 0) become(plan, launcher, arguments.data(), environment.data());
  ::setpgid(child, child); // also here, so that the group exists before anyone signals it; fails harmlessly after exec
  return child;
}

std::string describe(const Ending& ending) {
  if (!ending.killed) return "ended with status " + std::to_string(ending.number);
  const char* name = ::sigdescr_np(ending.number);
  return "was killed by signal " + std::to_string(ending.number) + " (" + (name != nullptr ? name : "unknown") + ")";
}

// The ended leader stays in its group until it is waited for, so the group's number cannot have passed to others yet.
std::optional<Ending> collect(pid_t process) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  ::kill(-process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return Ending{.killed = true, .number = WTERMSIG(status)};
  return Ending{.killed = false, .number = WEXITSTATUS(status)};
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

} // namespace heddle::launch
