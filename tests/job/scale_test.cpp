// Many processes: connections only to those talked to, ring memory under its option, and no collapse on few cores.
#include "tests/job/job.hpp"

#include <cstdio>

namespace heddle::tests {
namespace {

TEST(Scale, AProcessIsConnectedOnlyToThoseItTalksTo) {
  run_workload({.processes = kSlowdown == 1 ? 64U : 16U, .program = "scale_program", .arguments = {"few"}});
}

TEST(Scale, RingMemoryStaysUnderItsOptionWithHundredsOfPeers) {
  const std::uint32_t processes = kSlowdown == 1 ? 256 : 24;
  const std::string output = run_workload({.processes = processes,
                                           .program = "scale_program",
                                           .arguments = {"gather"},
                                           .options = {{"HEDDLE_RING_MEMORY", kSlowdown == 1 ? "4MiB" : "1MiB"},
                                                       {"HEDDLE_RING_BYTES", "64KiB"},
                                                       {"HEDDLE_EAGER_LIMIT", "4KiB"}}});
  std::printf("%s", output.c_str());
}

TEST(Scale, SixteenProcessesOnFewCoresGoOn) {
  const std::string output =
      run_workload({.processes = 16, .program = "crowd_program", .arguments = {std::to_string(1000 / kSlowdown)}});
  std::printf("%s", output.c_str());
}

} // namespace
} // namespace heddle::tests
