// Jobs as the tests start them: `heddle run` with one of the programs of this folder, options in the environment.
#pragma once

#include "tests/command/command.hpp"
#include "tests/job/member.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace heddle::tests {

struct JobPlan {
  std::uint32_t processes = 2;
  std::string program; // traffic_program, ...
  std::vector<std::string> arguments;
  Command::Variables options;
  std::vector<std::string> run_options; // of heddle run
};

inline std::vector<std::string> job_command(const JobPlan& plan) {
  std::vector<std::string> command{HEDDLE_PROGRAM, "run", "-n", std::to_string(plan.processes)};
  command.insert(command.end(), plan.run_options.begin(), plan.run_options.end());
  command.insert(command.end(), {"--", std::string(HEDDLE_TEST_PROGRAMS) + "/" + plan.program});
  command.insert(command.end(), plan.arguments.begin(), plan.arguments.end());
  return command;
}

// Runs the job to its end; the status of `heddle run` and all output must be as of a job without a complaint.
inline std::string run_workload(const JobPlan& plan) {
  Command command(job_command(plan), plan.options);
  std::string output = command.rest();
  EXPECT_EQ(command.status(), 0) << output;
  return output;
}

// TEST_SEED alone when it is set; otherwise `count` new ones, that differ from run to run. Variables of tests do not begin with
// HEDDLE_: a job that inherited one would refuse it as an unknown option (checks/options).
inline std::vector<std::uint64_t> new_seeds(std::uint64_t count) {
  if (const char* wanted = std::getenv("TEST_SEED")) return {std::strtoull(wanted, nullptr, 0)};
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < count; ++i) seeds.push_back((machine_ns() / 1000 + i) % 1'000'000);
  return seeds;
}

} // namespace heddle::tests
