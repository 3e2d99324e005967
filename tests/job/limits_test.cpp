// Waits with a time limit, between real processes.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

TEST(Limits, EndWaitsAndNothingElse) {
  run_workload({.program = "limits_program"});
}

TEST(Limits, EndWaitsThatSleep) {
  run_workload({.program = "limits_program", .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}});
}

} // namespace
} // namespace heddle::tests
