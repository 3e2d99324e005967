#include "launch/warden.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace heddle::launch {

namespace {

// Only calls that are safe after fork. Keeps nothing of its parent's open but the line.
[[noreturn]] void keep_watch(int line, std::vector<pid_t>& groups) {
  ::setsid();
  ::dup2(line, STDIN_FILENO);
  ::close_range(STDOUT_FILENO, ~0U, 0);
  while (true) {
    pid_t ended = 0;
    const ssize_t got = ::read(STDIN_FILENO, &ended, sizeof ended);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof ended) break;
    std::ranges::replace(groups, ended, 0);
  }
  for (const pid_t group : groups)
    if (group != 0) ::kill(-group, SIGKILL);
  ::_exit(0);
}

} // namespace

void Warden::watch_over(std::span<const pid_t> groups) {
  int ends[2];
  std::vector<pid_t> all(groups.begin(), groups.end()); // before the fork: there is no memory to be had after it
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const base::Descriptor far(ends[0]);
  line_ = base::Descriptor(ends[1]);
  process_ = ::fork();
  if (process_ == 0) keep_watch(far.number(), all);
}

void Warden::forget(pid_t group) const {
  if (process_ <= 0) return;
  [[maybe_unused]] const auto written = ::write(line_.number(), &group, sizeof group);
}

Warden::~Warden() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

} // namespace heddle::launch
