// Programs to try a fabric with: what `heddle sim` runs. Each is measured in virtual time, after a round that makes the connections.
#pragma once

#include "traffic/job_file.hpp"

#include <heddle/simulation.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace heddle::tool {

enum class Workload : std::uint8_t {
  ping_pong,  // between the first and the last process
  stream,     // from the first to the last, many messages under way
  all_to_all, // the library's alltoall
  halo,       // with the four neighbours on a periodic grid, as square as the number of processes allows
  random,     // every process to others at random
};
// "ping-pong", "stream", ... in the order above.
std::span<const std::string_view> workload_names();

struct WorkloadRun {
  Workload workload{};
  std::uint64_t bytes = 8; // of each message
  std::uint32_t rounds = 10;
  std::uint64_t seed = 1; // of random
  std::uint64_t first_bytes =
      0; // of an all-to-all's round that makes the connections, at most `bytes`; 0: as the others
  std::function<void(const traffic::JobStep&)> record; // told of every step of every process; may be empty
};

struct Measured {
  simulation::Time time{}; // of all rounds; of a recorded job, all of it
  std::uint64_t bytes = 0; // of messages in that time
  simulation::Outcome outcome;
};

// Options for so many processes that all talk to each other: rings so small that all of them together take 128 MiB, or
// the least there is. Their memory is real, though the network is not.
Options options_for(std::uint64_t processes);

// Runs the job as the only program of the world. Error as World::run, and when a process fails.
Result<Measured> run_workload(simulation::World& world, const WorkloadRun& job);

// Does again what a recorded job did, with messages of the same sizes and nothing in them. Error as run_workload; a step that fails is
// named by its place in the file.
Result<Measured> replay_job(simulation::World& world, const traffic::Job& job);

} // namespace heddle::tool
