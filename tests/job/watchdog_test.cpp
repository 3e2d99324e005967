// The watchdog reports who waits for what when nothing moves, and only then; once for the whole job.
#include "tests/job/job.hpp"

#include <csignal>

namespace heddle::tests {
namespace {

TEST(Watchdog, IsSilentWhileMessagesMove) {
  for (const char* waiting : {"spin", "automatic"})
    EXPECT_EQ(run_workload({.program = "watchdog_program",
                            .arguments = {"1500"},
                            .options = {{"HEDDLE_WATCHDOG_S", "1"}, {"HEDDLE_WAITING", waiting}}}),
              "");
}

TEST(Watchdog, ReportsOnceForTheJobWhatIsWaitedForAndHowLong) {
  Command command(job_command({.processes = 4, .program = "watchdog_program", .arguments = {"0", "silent"}}),
                  {{"HEDDLE_WATCHDOG_S", "1"}});
  std::string output;
  while (output.find("last moments") == std::string::npos) {
    const std::string line = command.line();
    ASSERT_NE(line, "") << output;
    output += line + "\n";
  }
  command.signal(SIGUSR1);
  output += command.rest();
  EXPECT_EQ(command.status(), 0);
  EXPECT_TRUE(output.starts_with("heddle: warning: nothing has moved for ")) << output;
  EXPECT_NE(output.find(" of 4 processes, but in rank"), std::string::npos) << output;
  // Rank 0 waits for the message, ranks 2 and 3 in the barrier; any of them may be the first to say so.
  EXPECT_TRUE(output.find("receive from rank 1 tag 0x4d: waits for a matching message, for ") != std::string::npos ||
              output.find("barrier: waits for the other processes, for ") != std::string::npos)
      << output;
  EXPECT_NE(output.find(" s\n"), std::string::npos) << output;
  EXPECT_EQ(output.find("nothing has moved", 30), std::string::npos) << output;
}

} // namespace
} // namespace heddle::tests
