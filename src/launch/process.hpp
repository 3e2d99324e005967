// One process of a job: started so that it cannot outlive its launcher, in a process group of its own.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/refusal.hpp"
#include "heddle/error.hpp"

namespace heddle::launch {

// Descriptors that a process has as its standard streams; -1: as said below.
struct ProcessStreams {
  int in = -1;    // see ProcessPlan::keeps_stdin
  int out = -1;   // what this process has
  int error = -1; // likewise
};

// What fork and exec need, made before so that the child only calls the system.
struct ProcessPlan {
  std::vector<std::string> command;     // looked up in PATH
  std::vector<std::string> environment; // "NAME=VALUE", complete
  sigset_t signal_mask{};               // of the program
  std::optional<int> cpu;               // bind to this one
  bool keeps_stdin = false;             // otherwise it reads /dev/null, where `streams` names nothing
  ProcessStreams streams{};
  int death_signal = SIGKILL; // that it gets from the system when this process ends
  int failure_pipe = -1;      // close-on-exec; gets the errno as an int where the program cannot be started
};

// The process's id. The system signals it when this process ends, however it ends.
Result<pid_t> start_process(const ProcessPlan& plan);

// How a process ended.
struct Ending {
  bool killed = false;
  int number = 0; // the signal, or the exit status

  [[nodiscard]] bool success() const { return !killed && number == 0; }
  [[nodiscard]] int exit_status() const { return killed ? 128 + number : number; } // as shells count
};

// "was killed by signal 9 (Killed)", "ended with status 3".
std::string describe(const Ending& ending);

// Collects the process if it has ended, after killing what is left of its process group. Never blocks.
std::optional<Ending> collect(pid_t process);

// The cpus this process may use, in order; empty where the system does not say.
std::vector<int> allowed_cpus();

} // namespace heddle::launch
