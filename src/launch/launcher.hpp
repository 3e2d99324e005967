// `heddle run` as a library: starts the processes of a job on this machine or on several, serves their store, sees them end.
// Not here: the command line (tools/heddle/run.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/error.hpp"
#include "launch/hosts.hpp"
#include "net/sockets.hpp"

namespace heddle::launch {

enum class Binding : std::uint8_t {
  automatic, // one cpu each where there are at least as many cpus as processes, none otherwise
  always,    // round robin over the allowed cpus
  never,
};

struct JobDescription {
  std::vector<std::string> command;
  std::uint32_t processes = 1;
  // A process has died when it was killed, when it ended without leaving the job, and when its exit status is not 0, also
  // where it had left in good order before.
  std::chrono::milliseconds grace{5000}; // for the rest to end on their own after one died
  bool survive = false;                  // the rest goes on when one dies
  Binding bind = Binding::automatic;

  // --- on several machines; empty: on this one ---
  std::vector<Host> hosts{};                     // ranks are numbered in this order
  std::vector<std::string> shell{"ssh"};         // how a command is run on a host: SHELL... HOST COMMAND...
  std::string agent{};                           // the heddle program there
  std::vector<std::string> passed_environment{}; // names of variables, beside all of HEDDLE_
  bool label = false;                            // a rank before every line that it writes
  in6_addr address = net::loopback();            // of this machine, by which the hosts reach it
  net::PortRange ports{};
};

inline constexpr std::uint32_t kMostProcesses = 65536;

// Runs the job to its end and returns the exit status to pass on: that of the first process that did not succeed, 128 +
// signal where it was killed, 1 where it ended with status 0 without leaving the job, 0 when all succeeded. When this returns, no process and no socket of the job is left; and
// none survives this process even if it is killed. Forwards SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2, which it blocks
// in the calling thread for the time. An error means that the job was not started: bad_argument where the program cannot
// be. For programs with one thread. Standard error gets one line per cause, not per process.
Result<int> run(const JobDescription& job);

} // namespace heddle::launch
