// The hot path between real processes: no allocation and no system call per message.
#include "tests/job/job.hpp"
#include "tests/traffic/slowdown.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace heddle::tests {
namespace {

constexpr std::uint64_t kRounds = 100'000;

TEST(JobHotPath, AllocatesNothingOnceWarm) {
  run_job({.program = "ping_program", .arguments = {std::to_string(kRounds / kSlowdown)}});
}

#if !HEDDLE_TESTS_SANITIZED // they make system calls of their own
// All system calls of a job of so many round trips, from the last line of strace -c.
std::uint64_t system_calls(std::uint64_t rounds) {
  const std::string report = testing::TempDir() + "heddle_calls_" + std::to_string(::getpid());
  std::vector<std::string> command = job_command({.program = "ping_program", .arguments = {std::to_string(rounds)}});
  command.insert(command.begin(), {"/usr/bin/strace", "-f", "-c", "-o", report});
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

TEST(JobHotPath, MakesNoSystemCallPerMessage) {
  if (!std::filesystem::exists("/usr/bin/strace")) GTEST_SKIP() << "strace is not installed";
  const std::uint64_t once = system_calls(kRounds);
  const std::uint64_t twice = system_calls(2 * kRounds);
  std::printf("%llu system calls for %llu round trips, %llu for twice as many\n", static_cast<unsigned long long>(once),
              static_cast<unsigned long long>(kRounds), static_cast<unsigned long long>(twice));
  EXPECT_GT(once, 0U);
  // What is left depends on the time taken: a look at the store every 20 ms.
  EXPECT_LT(twice, once + kRounds / 20);
}
#endif

} // namespace
} // namespace heddle::tests
