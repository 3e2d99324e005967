// Counts the system calls of a whole job.
#pragma once

#include "tests/job/job.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace heddle::tests {

inline constexpr const char* kStrace = "/usr/bin/strace";

// Of a job of a program whose argument is how many rounds it does; from the last line of strace -c.
inline std::uint64_t system_calls(const std::string& program, std::uint64_t rounds) {
  const std::string report = testing::TempDir() + "heddle_calls_" + std::to_string(::getpid());
  std::vector<std::string> command = job_command({.program = program, .arguments = {std::to_string(rounds)}});
  command.insert(command.begin(), {kStrace, "-f", "-c", "-o", report});
  Command started(command, {{"HEDDLE_WAITING", "spin"}});
  const std::string output = started.rest();
  EXPECT_EQ(started.status(), 0) << output;
  std::ifstream file(report);
  std::uint64_t calls = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("total") == std::string::npos) continue;
    std::istringstream words(line); // "100.00    0.012345           8      1500       100 total"
    double percent = 0;
    double seconds = 0;
    std::uint64_t each = 0;
    words >> percent >> seconds >> each >> calls;
  }
  std::filesystem::remove(report);
  return calls;
}

// Twice as many rounds make as many calls, but for what depends on the time taken: a look at the store every 20 ms.
inline void expect_no_call_per_round(const std::string& program, std::uint64_t rounds) {
  if (!std::filesystem::exists(kStrace)) GTEST_SKIP() << "strace is not installed";
  const std::uint64_t once = system_calls(program, rounds);
  const std::uint64_t twice = system_calls(program, 2 * rounds);
  std::printf("%llu system calls for %llu rounds, %llu for twice as many\n", static_cast<unsigned long long>(once),
              static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(twice));
  EXPECT_GT(once, 0U);
  EXPECT_LT(twice, once + rounds / 20);
}

} // namespace heddle::tests
