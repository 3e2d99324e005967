// Jobs that have no descriptors left: whoever cannot go on without says so, and whoever can does, without asking for one again and again.
#include "tests/hosts/strangers.hpp"
#include "tests/traffic/slowdown.hpp"

#include <unistd.h>

#include <cstdio>

namespace heddle::tests {
namespace {

// The sanitizers open files of their own: no limit can be set for the library alone.
#if !HEDDLE_TESTS_SANITIZED

// Seconds that a process has had a processor.
double processor_time(const std::string& process) {
  const std::string text = all_of("/proc/" + process + "/stat");
  unsigned long user = 0;
  unsigned long system = 0;
  std::sscanf(text.c_str() + text.rfind(')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
              &system);
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

TEST(Descriptors, ThatAreLackingToMeetAreSaidWithTheRemedy) {
  const std::string program = test_program("steady_program");
  int refusals = 0;
  for (int limit = 4; limit <= 8; ++limit) {
    const auto began = std::chrono::steady_clock::now();
    Command command({"/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null", HEDDLE_PROGRAM, "run", "-n", "2", "--",
                     "/bin/sh", "-c", "ulimit -n " + std::to_string(limit) + "; exec " + program},
                    {{"HEDDLE_TRANSLATORS", "tcp"}});
    const std::string said = command.rest();
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60)) << limit << ": " << said;
    const int status = command.status();
    if (status == 127 || status == 0) continue; // too few even for the libraries, or enough
    ++refusals;
    EXPECT_NE(said.find("ulimit -n"), std::string::npos) << limit << ": " << said;
  }
  EXPECT_GT(refusals, 0);
}

TEST(Descriptors, ThatAreLackingForAWhileKeepNobodyFromWhomHeKnows) {
  Command command({HEDDLE_PROGRAM, "run", "-n", "3", "--", test_program("short_program")},
                  {{"HEDDLE_TRANSLATORS", "tcp"}, {"HEDDLE_TCP_NETWORK", "lo"}});
  EXPECT_EQ(command.rest(), "went on\n");
  EXPECT_EQ(command.status(), 0);
}

class DescriptorsOfAJob : public AroundAJob {};

TEST_F(DescriptorsOfAJob, ThatStrangersUseUpKeepNobodyBusyAndReturn) {
  begin("ulimit -n 60; "); // the launcher, the agents and the processes
  std::vector<base::Descriptor> silent;
  for (int i = 0; i < 70; ++i)
    for (const std::uint16_t port : ports_) {
      auto socket = net::begin_connect({.host = net::loopback(), .port = port});
      ASSERT_TRUE(socket);
      silent.push_back(std::move(*socket));
    }
  const std::string launcher = std::to_string(command_->id());
  const double before = processor_time(launcher);
  ::poll(nullptr, 0, 1000);
  EXPECT_LT(processor_time(launcher) - before, 0.5) << "of one second";
  silent.clear();
  for (const std::uint16_t port : ports_) service_at(port); // who belongs here comes in again
  bool told = false;
  for (const std::string& line : finish()) {
    EXPECT_TRUE(line.ends_with("no further connection can be accepted for now: Too many open files")) << line;
    told = true;
  }
  EXPECT_TRUE(told);
}

#endif

} // namespace
} // namespace heddle::tests
