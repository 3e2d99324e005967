// The hot path between real processes: no allocation and no system call per message.
#include "tests/job/job.hpp"
#include "tests/job/system_calls.hpp"
#include "tests/traffic/slowdown.hpp"

#include <cstdint>
#include <string>

namespace heddle::tests {
namespace {

constexpr std::uint64_t kRounds = 100'000;

TEST(JobHotPath, AllocatesNothingOnceWarm) {
  run_workload({.program = "ping_program", .arguments = {std::to_string(kRounds / kSlowdown)}});
}

#if !HEDDLE_TESTS_SANITIZED // they make system calls of their own
TEST(JobHotPath, MakesNoSystemCallPerMessage) {
  expect_no_call_per_round("ping_program", kRounds);
}
#endif

} // namespace
} // namespace heddle::tests
