// One-sided operations between real processes: against a model, and with processes killed.
#include "tests/job/job.hpp"
#include "tests/job/system_calls.hpp"
#include "tests/traffic/slowdown.hpp"

#include <csignal>
#include <cstdio>
#include <map>
#include <random>

namespace heddle::tests {
namespace {

TEST(OneSidedJob, AgreesWithTheModel) {
  struct Setting {
    std::uint32_t processes;
    Command::Variables options;
  };
  const std::vector<Setting> settings{
      {2, {}}, {4, {}}, {7, {}}, {4, {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}}};
  for (const Setting& setting : settings)
    for (const std::uint64_t seed : new_seeds(2)) {
      SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed << " processes " << setting.processes);
      std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
      const std::string output = run_workload({.processes = setting.processes,
                                               .program = "onesided_program",
                                               .arguments = {std::to_string(seed), std::to_string(60 / kSlowdown)},
                                               .options = setting.options,
                                               .run_options = {}});
      EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    }
}

TEST(OneSidedJob, EndsWhatOneThatLeftIsNeededFor) {
  run_workload({.processes = 3, .program = "departed_program", .arguments = {}, .options = {}, .run_options = {}});
}

TEST(OneSidedJob, SaysOfADeadOwnerThatItIsDead) {
  Command command(job_command({.processes = 2,
                               .program = "owner_program",
                               .arguments = {"killed"},
                               .options = {},
                               .run_options = {"--survive"}}),
                  {});
  const std::string output = command.rest();
  EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
  EXPECT_EQ(command.status(), 128 + SIGKILL) << output;
}

#if !HEDDLE_TESTS_SANITIZED // they need more address space than a limit can leave
TEST(OneSidedJob, SaysThatAnAreaNeedsMoreMemoryThanThereIs) {
  run_workload({.program = "owner_program", .arguments = {"memory"}, .options = {}, .run_options = {}});
}
#endif

TEST(OneSidedJob, LearnsOfADeathBySeldomCallsThatEndAtOnce) {
  for (const char* call : {"push", "pull", "atomic", "try"}) {
    SCOPED_TRACE(call);
    Command command(job_command({.processes = 2,
                                 .program = "seldom_program",
                                 .arguments = {call},
                                 .options = {},
                                 .run_options = {"--survive"}}),
                    {});
    const std::string output = command.rest();
    EXPECT_EQ(command.status(), 128 + SIGKILL) << output;
    EXPECT_NE(output.find("found out"), std::string::npos) << output;
  }
}

TEST(OneSidedJob, KeepsInterleavedWordsOfTwoWriters) {
  for (const std::uint32_t processes : {2U, 3U})
    run_workload({.processes = processes,
                  .program = "region_program",
                  .arguments = {std::to_string(50 / kSlowdown)},
                  .options = {},
                  .run_options = {}});
}

TEST(OneSidedJob, AllocatesNothingOnceWarm) {
  run_workload(
      {.program = "hot_program", .arguments = {std::to_string(20'000 / kSlowdown)}, .options = {}, .run_options = {}});
}

#if !HEDDLE_TESTS_SANITIZED // they make system calls of their own
TEST(OneSidedJob, MakesNoSystemCallPerOperation) {
  expect_no_call_per_round("hot_program", 20'000); // of some fifteen operations each
}
#endif

TEST(OneSidedJob, KeepsLocksAndMemoryApart) {
  run_workload({.processes = 3, .program = "lock_program", .arguments = {"kinds"}, .options = {}, .run_options = {}});
}

TEST(OneSidedJob, SharesALockFairly) {
  const std::string output = run_workload(
      {.processes = 16, .program = "lock_program", .arguments = {"share", "1"}, .options = {}, .run_options = {}});
  unsigned long fewest = ~0UL;
  unsigned long all = 0;
  for (std::size_t at = 0; (at = output.find(" had it ", at)) != std::string::npos; ++at) {
    const unsigned long times = std::strtoul(output.c_str() + at + 8, nullptr, 10);
    fewest = std::min(fewest, times);
    all += times;
  }
  std::printf("16 processes: %lu times in all, the least lucky %lu, fair would be %lu\n", all, fewest, all / 16);
  EXPECT_GE(2 * fewest + 2, all / 16) << output;
}

// Kills one of several processes that all want the lock, which do so as the argument says.
void kill_one_of_many(const std::vector<std::string>& arguments) {
  for (const std::uint64_t seed : new_seeds(6)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    const std::uint32_t processes = random() % 2 == 0 ? 3 : 6;
    Command command(job_command({.processes = processes,
                                 .program = "lock_program",
                                 .arguments = arguments,
                                 .options = {},
                                 .run_options = {"--survive"}}),
                    {});
    std::map<int, pid_t> members;
    for (std::uint32_t joined = 0; joined < processes;) {
      const std::string line = command.line();
      int process = 0;
      int rank = 0;
      if (std::sscanf(line.c_str(), "pid %d of rank %d", &process, &rank) == 2) members[rank] = process;
      joined += line.starts_with("joined ") ? 1U : 0U;
      ASSERT_EQ(line.find("FAILED"), std::string::npos) << line;
    }
    const int victim = 1 + static_cast<int>(random() % (processes - 1)); // not the lock's home
    for (const std::uint64_t end = machine_ns() + random() % 20'000'000; machine_ns() < end;) {
    }
    ::kill(members.at(victim), SIGKILL);
    const std::string output = command.rest();
    EXPECT_EQ(command.status(), 128 + SIGKILL) << output;
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    std::size_t told = 0;
    for (std::size_t at = 0; (at = output.find(" fail at ", at)) != std::string::npos; ++at) ++told;
    EXPECT_EQ(told, processes - 1) << output;
  }
}

TEST(OneSidedJob, LocksGoOnWhenAProcessIsKilled) {
  kill_one_of_many({"kill"});
}

TEST(OneSidedJob, LocksThatAreOnlyTriedGoOnWhenAProcessIsKilled) {
  kill_one_of_many({"kill", "try"});
}

} // namespace
} // namespace heddle::tests
