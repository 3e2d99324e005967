// The watchdog reports who waits for what when nothing moves, and only then.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

std::string watched(const std::string& busy_ms, const std::string& silent_ms, const char* waiting) {
  return run_job({.program = "watchdog_program",
                  .arguments = {busy_ms, silent_ms},
                  .options = {{"HEDDLE_WATCHDOG_S", "1"}, {"HEDDLE_WAITING", waiting}}});
}

TEST(Watchdog, IsSilentWhileMessagesMove) {
  for (const char* waiting : {"spin", "automatic"}) EXPECT_EQ(watched("1500", "0", waiting), "");
}

TEST(Watchdog, ReportsOnceWhatIsWaitedFor) {
  const std::string output = watched("0", "2500", "automatic");
  const std::size_t report = output.find("nothing has moved for 1 s");
  ASSERT_NE(report, std::string::npos) << output;
  EXPECT_NE(output.find("receive", report), std::string::npos) << output;
  EXPECT_NE(output.find("tag 0x4d", report), std::string::npos) << output;
  EXPECT_EQ(output.find("nothing has moved", report + 1), std::string::npos) << output;
}

} // namespace
} // namespace heddle::tests
