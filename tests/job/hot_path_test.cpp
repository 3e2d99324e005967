// The hot path between real processes: no allocation and no system call per message.
#include "tests/job/job.hpp"
#include "tests/job/system_calls.hpp"
#include "tests/traffic/slowdown.hpp"

#include <cstdio>
#include <filesystem>

namespace heddle::tests {
namespace {

constexpr std::uint64_t kRounds = 100'000;

TEST(JobHotPath, AllocatesNothingOnceWarm) {
  run_job({.program = "ping_program", .arguments = {std::to_string(kRounds / kSlowdown)}});
}

#if !HEDDLE_TESTS_SANITIZED // they make system calls of their own
TEST(JobHotPath, MakesNoSystemCallPerMessage) {
  if (!std::filesystem::exists(kStrace)) GTEST_SKIP() << "strace is not installed";
  const std::uint64_t once = system_calls("ping_program", kRounds);
  const std::uint64_t twice = system_calls("ping_program", 2 * kRounds);
  std::printf("%llu system calls for %llu round trips, %llu for twice as many\n", static_cast<unsigned long long>(once),
              static_cast<unsigned long long>(kRounds), static_cast<unsigned long long>(twice));
  EXPECT_GT(once, 0U);
  // What is left depends on the time taken: a look at the store every 20 ms.
  EXPECT_LT(twice, once + kRounds / 20);
}
#endif

} // namespace
} // namespace heddle::tests
