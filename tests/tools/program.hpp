// Runs the program `heddle` to its end and keeps what it wrote, stdout and stderr apart.
#pragma once

#include "base/descriptor.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tests {

struct Outcome {
  int status = -1; // 128 + signal where it was killed
  std::string out;
  std::string err;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

inline std::string contents(const base::Descriptor& file) {
  std::string text;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t count = 0; (count = ::pread(file.number(), buffer, sizeof buffer, at)) > 0; at += count)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

inline Outcome heddle(std::vector<std::string> arguments, const Variables& variables = {}) {
  arguments.insert(arguments.begin(), HEDDLE_PROGRAM);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const base::Descriptor out(::memfd_create("out", MFD_CLOEXEC));
  const base::Descriptor err(::memfd_create("err", MFD_CLOEXEC));
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(out.number(), STDOUT_FILENO);
    ::dup2(err.number(), STDERR_FILENO);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          .out = contents(out),
          .err = contents(err)};
}

inline bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

// Status 2, nothing on stdout, one line: how bad usage and bad input are reported.
inline void expect_refused(const std::string& command, const Outcome& outcome, const std::string& fact) {
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("heddle " + command + ": ")) << outcome.err;
  EXPECT_NE(outcome.err.find(fact), std::string::npos) << outcome.err;
}

} // namespace heddle::tests
