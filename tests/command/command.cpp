#include "tests/command/command.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace heddle::tests {

Command::Command(const std::vector<std::string>& arguments, const Variables& variables) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  output_ = base::Descriptor(ends[0]);
  const base::Descriptor input(ends[1]);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  id_ = ::fork();
  if (id_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input.number(), STDOUT_FILENO);
  ::dup2(input.number(), STDERR_FILENO);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

Command::~Command() {
  if (id_ < 0) return;
  signal(SIGKILL);
  status();
}

bool Command::fill() {
  char buffer[4096];
  while (true) {
    const ssize_t count = ::read(output_.number(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    pending_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }
}

std::string Command::line() {
  std::size_t end = 0;
  while ((end = pending_.find('\n')) == std::string::npos) {
    if (!fill()) return std::exchange(pending_, {});
  }
  std::string text = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return text;
}

std::string Command::rest() {
  while (fill()) {
  }
  return std::exchange(pending_, {});
}

int Command::status() {
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void Command::signal(int number) const {
  ::kill(id_, number);
}

} // namespace heddle::tests
