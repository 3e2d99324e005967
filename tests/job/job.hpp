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
inline std::string run_job(const JobPlan& plan) {
  Command command(job_command(plan), plan.options);
  std::string output = command.rest();
  EXPECT_EQ(command.status(), 0) << output;
  return output;
}

// HEDDLE_TEST_SEED alone when it is set; otherwise `count` new ones, that differ from run to run. The variable is taken
// out of the environment, because the library would refuse it as an option that it does not know.
inline std::vector<std::uint64_t> new_seeds(std::uint64_t count) {
  static const char* wanted = [] {
    const char* text = std::getenv("HEDDLE_TEST_SEED");
    static std::string kept;
    if (text == nullptr) return static_cast<const char*>(nullptr);
    kept = text;
    ::unsetenv("HEDDLE_TEST_SEED");
    return kept.c_str();
  }();
  if (wanted != nullptr) return {std::strtoull(wanted, nullptr, 0)};
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < count; ++i) seeds.push_back((machine_ns() / 1000 + i) % 1'000'000);
  return seeds;
}

} // namespace heddle::tests
