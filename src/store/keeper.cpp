#include "store/keeper.hpp"

#include "base/descriptor_limit.hpp"
#include "net/sockets.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <utility>

namespace heddle::store {

namespace {

constexpr int kReport = STDERR_FILENO + 1;

// Signals that are meant for the job: its processes end by them, or not, and the keeper after them.
constexpr std::array kJobsSignals{SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGCONT};

// What the starter reads: '+' and the address; or '-', the error's number, a space, and why there is none.
void report(const std::string& text) {
  [[maybe_unused]] const auto written = ::write(kReport, text.data(), text.size());
}
void report(const Error& error) {
  report("-" + std::to_string(error.system_code) + " " + error.fact +
         (error.remedy.empty() ? "" : "; " + error.remedy));
}

// Nothing of the program stays open or set: not the launcher's pipes, which it would take for life.
void shed(int report_pipe) {
  ::setsid();
  ::prctl(PR_SET_NAME, "heddle-keeper");
  [[maybe_unused]] const int moved = ::chdir("/");
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (report_pipe != kReport) ::dup2(report_pipe, kReport);
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard) ::dup2(nothing, standard);
  ::close_range(kReport + 1, ~0U, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  for (const int number : kJobsSignals) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// A server with room for a connection of every process: a keeper could only be silent about those that it must leave waiting.
Result<std::unique_ptr<Server>> start_server(Server::Config config) {
  const std::uint32_t size = config.size;
  base::make_room_for_descriptors(size); // of the keeper alone: the program's limit stays as it is
  auto server = Server::start(std::move(config));
  if (!server) return server;
  if (auto room = base::check_room_for_descriptors(size, 0, "the process that keeps the job's store, beside rank 0");
      !room)
    return std::unexpected(std::move(room.error()));
  return server;
}

// Until `starter` has ended and nobody is connected.
void serve(Server& server, int starter) {
  bool alone = false;
  while (!alone || server.connections() > 0) {
    std::array<pollfd, 2> entries{{{.fd = server.descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = alone ? -1 : starter, .events = POLLIN, .revents = 0}}};
    ::poll(entries.data(), entries.size(), -1);
    server.serve();
    if (const auto abort = server.take_abort()) server.tell_all(*abort);
    if (entries[1].revents != 0 && !std::exchange(alone, true)) server.first_has_ended();
  }
  server.stop_listening();
}

[[noreturn]] void keep(Server::Config config, pid_t starter_id, int report_pipe) {
  shed(report_pipe);
  const base::Descriptor starter(static_cast<int>(::syscall(SYS_pidfd_open, starter_id, 0)));
  if (!starter.open()) {
    report(Error{.fact = "the system tells nobody when a process has ended (pidfd_open)", .system_code = errno});
    ::_exit(1);
  }
  config.ends_with_connection = true;
  config.log = base::Log(LogLevel::silent);
  auto server = start_server(std::move(config));
  if (server)
    report("+" + (*server)->address());
  else
    report(server.error());
  ::close(kReport);
  if (server) serve(**server, starter.number());
  ::_exit(0);
}

Error cannot_start(std::string fact, int code = 0) {
  return {.code = ErrorCode::store_failed,
          .fact = "the job's store cannot be started: " + std::move(fact),
          .remedy = "",
          .peer = kNoPeer,
          .system_code = code};
}

} // namespace

Result<std::string> start_keeper(const Server::Config& config, base::Deadline deadline) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(cannot_start("no pipe", errno));
  const base::Descriptor reads(ends[0]);
  base::Descriptor writes(ends[1]);
  const pid_t self = ::getpid();
  // A child's child, so that the program never finds a child that it has not started.
  const pid_t child = ::fork();
  if (child < 0) return std::unexpected(cannot_start("no further process", errno));
  if (child == 0) {
    const pid_t keeper = ::fork();
    if (keeper == 0) keep(config, self, writes.number());
    ::_exit(keeper < 0 ? 1 : 0);
  }
  writes.reset();
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  std::string said;
  while (net::wait_for(reads.number(), POLLIN, deadline)) {
    std::array<char, 512> some{};
    const ssize_t count = ::read(reads.number(), some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    said.append(some.data(), static_cast<std::size_t>(count));
  }
  if (said.starts_with('+')) return said.substr(1);
  const std::size_t space = said.find(' ');
  if (!said.starts_with('-') || space == std::string::npos)
    return std::unexpected(cannot_start("its process has ended, or says nothing"));
  int code = 0;
  std::from_chars(said.data() + 1, said.data() + space, code);
  return std::unexpected(cannot_start(said.substr(space + 1), code));
}

} // namespace heddle::store
