// Patterns between real processes on shared memory.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

TEST(Pattern, ExchangesHalosOfAllSizes) {
  for (const char* bytes : {"0", "8", "5000", "300000"})
    run_workload({.processes = 3, .program = "pattern_program", .arguments = {"halo", bytes, "20"}});
}

TEST(Pattern, ExchangesHalosWithoutCrossMemory) {
  for (const char* bytes : {"8", "100000"})
    run_workload({.processes = 3,
                  .program = "pattern_program",
                  .arguments = {"halo", bytes, "20"},
                  .options = {{"HEDDLE_SHM_CROSS_MEMORY", "off"}}});
}

TEST(Pattern, ReceivesHalosIntoStridedMemoryBetweenBarriers) {
  for (const char* bytes : {"0", "8", "5000", "300000"})
    run_workload({.processes = 3, .program = "pattern_program", .arguments = {"strided", bytes, "20"}});
}

TEST(Pattern, EndsAStartWhenAPeerDies) {
  Command command(job_command({.processes = 3, .program = "pattern_program", .arguments = {"death"}}), {});
  const std::string output = command.rest();
  EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
  const std::size_t first = output.find("told ");
  ASSERT_NE(first, std::string::npos) << output;
  EXPECT_NE(output.find("told ", first + 1), std::string::npos) << output;
}

} // namespace
} // namespace heddle::tests
