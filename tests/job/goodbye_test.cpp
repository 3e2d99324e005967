// Who leaves in good order is dead nowhere, however many leave at once and however slow the launcher is to hear of it.
#include "tests/job/job.hpp"

#include <algorithm>
#include <csignal>

namespace heddle::tests {
namespace {

TEST(Goodbye, OfManyAtOnceIsNoDeath) {
  EXPECT_EQ(run_workload({.processes = 200 / kSlowdown, .program = "goodbye_program", .run_options = {"--survive"}}),
            "told of 0 deaths\n");
}

TEST(Goodbye, IsHeardByALauncherThatWasStopped) {
  Command command(job_command({.processes = 40 / kSlowdown,
                               .program = "goodbye_program",
                               .arguments = {"stopped"},
                               .run_options = {"--survive"}}));
  const std::string ready = command.line();
  ASSERT_TRUE(ready.starts_with("ready ")) << ready;
  command.signal(SIGSTOP);
  ::kill(static_cast<pid_t>(std::stol(ready.substr(6))), SIGUSR1);
  EXPECT_EQ(command.line(), "ended");
  command.signal(SIGCONT);
  EXPECT_EQ(command.rest(), "told of 0 deaths\n");
  EXPECT_EQ(command.status(), 0);
}

TEST(Goodbye, BeforeABadStatusIsADeathAllTheSame) {
  Command command(job_command(
      {.processes = 3, .program = "goodbye_program", .arguments = {"badly"}, .run_options = {"--survive"}}));
  const std::string output = command.rest();
  for (const char* part :
       {"heddle: error: rank 1 ended with status 3", "heddle: error: rank 2 ended with status 3", "told of 2 deaths\n"})
    EXPECT_NE(output.find(part), std::string::npos) << output;
  EXPECT_EQ(std::ranges::count(output, '\n'), 3) << output;
  EXPECT_EQ(command.status(), 3);
}

} // namespace
} // namespace heddle::tests
