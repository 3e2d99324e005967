// `heddle run` as users meet it: real processes, real signals.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>

#include "tests/command/command.hpp"

namespace heddle::tests {
namespace {

const std::string kMember = std::string(HEDDLE_TEST_PROGRAMS) + "/member_program";

std::vector<std::string> heddle_run(std::vector<std::string> rest) {
  std::vector<std::string> arguments{HEDDLE_PROGRAM, "run"};
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return arguments;
}

std::vector<std::string> shell(std::vector<std::string> options, const std::string& script) {
  options.insert(options.end(), {"--", "/bin/sh", "-c", script, kMember});
  return heddle_run(options);
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  std::ranges::sort(lines);
  return lines;
}

// Reads the "joined" lines of all members; process ids by rank.
std::map<int, pid_t> wait_joined(Command& command, int size) {
  std::map<int, pid_t> ids;
  while (static_cast<int>(ids.size()) < size) {
    const std::string line = command.line();
    int rank = 0;
    int id = 0;
    if (std::sscanf(line.c_str(), "joined %d of %*d pid %d", &rank, &id) != 2) {
      ADD_FAILURE() << "expected a joined line, got: " << line;
      return ids;
    }
    ids[rank] = id;
  }
  return ids;
}

using Lines = std::vector<std::string>;

// Sorted lines, without what the launcher says about the others: that depends on how many are left when it looks.
Lines causes(const std::string& text) {
  Lines lines = sorted_lines(text);
  for (std::string& line : lines) line = line.substr(0, line.find("; the others"));
  return lines;
}

Lines without_joined(Lines lines) {
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("joined "); });
  return lines;
}

TEST(Run, GivesEveryProcessItsRankAndSize) {
  Command command(shell({"-n", "3"}, "echo $HEDDLE_RANK of $HEDDLE_SIZE"));
  EXPECT_EQ(sorted_lines(command.rest()), (Lines{"0 of 3", "1 of 3", "2 of 3"}));
  EXPECT_EQ(command.status(), 0);
}

TEST(Run, SaysThatOutputIsLost) {
  Command command({"/bin/sh", "-c", std::string(HEDDLE_PROGRAM) + " run --label -n 2 echo hi >/dev/full"});
  EXPECT_EQ(command.rest(),
            "heddle: warning: output of the job is lost: it cannot be written: No space left on device\n");
  EXPECT_EQ(command.status(), 1);
}

TEST(Run, LetsSixteenProcessesMeetAndLeave) {
  Command command(heddle_run({"-n", "16", kMember, "leave"}));
  EXPECT_EQ(wait_joined(command, 16).size(), 16U);
  EXPECT_EQ(command.rest(), "");
  EXPECT_EQ(command.status(), 0);
}

TEST(Run, PassesTheFirstFailureOnWithOneLine) {
  Command command(heddle_run({"-n", "2", kMember, "fail-after", "7"}));
  const Lines said = without_joined(causes(command.rest()));
  ASSERT_EQ(said.size(), 1U) << testing::PrintToString(said); // of both
  EXPECT_TRUE(said[0].starts_with("heddle: error: rank ") && said[0].ends_with(" ended with status 7")) << said[0];
  EXPECT_EQ(command.status(), 7);
}

TEST(Run, TellsTheRestOfOneThatLeftAndThenFailed) {
  Command command(
      shell({"-n", "3", "--grace", "60"}, "test $HEDDLE_RANK = 1 && exec \"$0\" fail-after 7; exec \"$0\" notice"));
  EXPECT_EQ(without_joined(causes(command.rest())),
            (Lines{"heddle: error: rank 1 ended with status 7", "told of 1", "told of 1"}));
  EXPECT_EQ(command.status(), 7);
}

TEST(Run, EndsAllAtOnceWhenOneAborts) {
  Command command(
      shell({"-n", "3", "--grace", "60"}, "test $HEDDLE_RANK = 1 && exec \"$0\" abort 9; exec \"$0\" hang"));
  EXPECT_EQ(without_joined(causes(command.rest())), (Lines{"heddle: error: rank 1 has ended the job with status 9"}));
  EXPECT_EQ(command.status(), 9);
}

TEST(Run, EndsAllAtOnceWhenOneAbortsThoughOthersMaySurviveADeath) {
  Command command(shell({"-n", "3", "--survive"}, "test $HEDDLE_RANK = 1 && exec \"$0\" abort 9; exec \"$0\" hang"));
  EXPECT_EQ(without_joined(causes(command.rest())), (Lines{"heddle: error: rank 1 has ended the job with status 9"}));
  EXPECT_EQ(command.status(), 9);
}

TEST(Run, SeesProcessesEndThoughItsParentIgnoresThat) {
  Command command({"/bin/bash", "-c", "trap '' CHLD; exec \"$0\" run -n 2 /bin/true", HEDDLE_PROGRAM});
  EXPECT_EQ(command.rest(), "");
  EXPECT_EQ(command.status(), 0);
}

TEST(Run, TellsTheRestAndPassesTheSignalOnWhenOneIsKilled) {
  Command command(heddle_run({"-n", "3", "--grace", "60", kMember, "notice"}));
  const auto ids = wait_joined(command, 3);
  ::kill(ids.at(1), SIGKILL);
  EXPECT_EQ(causes(command.rest()),
            (Lines{"heddle: error: rank 1 was killed by signal 9 (Killed)", "told of 1", "told of 1"}));
  EXPECT_EQ(command.status(), 128 + SIGKILL);
}

TEST(Run, EndsTheRestAfterTheGraceTime) {
  Command command(heddle_run({"-n", "3", "--grace", "0", kMember, "hang"}));
  const auto ids = wait_joined(command, 3);
  ::kill(ids.at(2), SIGKILL);
  EXPECT_EQ(command.rest(), "heddle: error: rank 2 was killed by signal 9 (Killed); the others are ended in 0 s\n");
  EXPECT_EQ(command.status(), 128 + SIGKILL);
}

TEST(Run, KillsWhoIgnoresTheRequestToEnd) {
  Command command(shell({"-n", "2", "--grace", "0"}, "trap '' TERM; test $HEDDLE_RANK = 1 && exit 4; sleep 1000"));
  EXPECT_NE(command.rest().find("rank 1 ended with status 4"), std::string::npos);
  EXPECT_EQ(command.status(), 4);
}

TEST(Run, LetsTheRestGoOnWhenAskedTo) {
  Command command(heddle_run({"-n", "3", "--survive", kMember, "notice"}));
  const auto ids = wait_joined(command, 3);
  ::kill(ids.at(0), SIGKILL);
  EXPECT_EQ(causes(command.rest()),
            (Lines{"heddle: error: rank 0 was killed by signal 9 (Killed)", "told of 0", "told of 0"}));
  EXPECT_EQ(command.status(), 128 + SIGKILL);
}

TEST(Run, LeavesNoProcessBehindWhenItIsKilledItself) {
  Command command(heddle_run({"-n", "4", kMember, "hang"}));
  const auto ids = wait_joined(command, 4);
  command.signal(SIGKILL);
  EXPECT_EQ(command.rest(), ""); // ends only when every member has closed its output
  EXPECT_EQ(command.status(), 128 + SIGKILL);
}

TEST(Run, LeavesNothingThatProcessesStartedBehindWhenItIsKilledItself) {
  Command command(heddle_run({"-n", "2", "/bin/sh", "-c", "sleep 1000 & exec \"$0\" hang", kMember}));
  wait_joined(command, 2);
  command.signal(SIGKILL);
  EXPECT_EQ(command.rest(), "");
  EXPECT_EQ(command.status(), 128 + SIGKILL);
}

// A job of two whose rank 1 fills what its output leads to, by a description of its own that does not wait, and fails. Returns when
// rank 0 has ended, too.
void fail_behind_a_full_pipe(Command& command) {
  pid_t other = 0;
  for (int i = 0; i < 2; ++i)
    if (const std::string line = command.line(); line != "ready") other = std::atoi(line.c_str());
  ASSERT_GT(other, 0);
  command.signal(SIGUSR1);
  while (::kill(other, 0) == 0) ::poll(nullptr, 0, 5); // nobody tells
}

std::vector<std::string> job_behind_a_full_pipe() {
  return shell(
      {"-n", "2", "--grace", "0"},
      "if test $HEDDLE_RANK = 0; then trap '' USR1; echo $$; exec sleep 1000; fi; "
      "trap 'for size in 4096 1; do dd if=/dev/zero of=/proc/$$/fd/1 oflag=nonblock bs=$size 2>/dev/null; done; "
      "exit 4' USR1; echo ready; sleep 1000 & wait");
}

TEST(Run, EndsTheRestThoughNobodyTakesWhatItSays) {
  Command command(job_behind_a_full_pipe());
  fail_behind_a_full_pipe(command);
  EXPECT_TRUE(command.rest().contains("heddle: error: rank 1 ended with status 4; the others are ended in 0 s\n"));
  EXPECT_EQ(command.status(), 4);
}

TEST(Run, EndsByASignalThoughNobodyTakesWhatItSays) {
  Command command(job_behind_a_full_pipe());
  fail_behind_a_full_pipe(command);
  command.signal(SIGTERM);
  const int status = command.status(); // before anything more is read
  EXPECT_TRUE(status == 4 || status == 128 + SIGTERM) << status;
}

TEST(Run, LeavesNoSocketBehind) {
  Command command(shell({"-n", "1"}, "echo $HEDDLE_STORE"));
  const std::string address = command.line();
  command.rest();
  EXPECT_EQ(command.status(), 0);
  ASSERT_TRUE(address.starts_with("unix:@heddle-")) << address;
  std::ifstream sockets("/proc/net/unix");
  const std::string all((std::istreambuf_iterator<char>(sockets)), std::istreambuf_iterator<char>());
  EXPECT_EQ(all.find(address.substr(5)), std::string::npos);
}

TEST(Run, EndsWhatAProcessStartedInTheBackground) {
  Command command(shell({"-n", "2"}, "sleep 1000 & echo started"));
  EXPECT_EQ(sorted_lines(command.rest()), (Lines{"started", "started"}));
  EXPECT_EQ(command.status(), 0);
}

TEST(Run, ForwardsSignals) {
  for (const auto& [number, name] :
       {std::pair{SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGHUP, "HUP"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}}) {
    Command command(
        shell({"-n", "2"}, std::string("trap 'echo caught; exit 0' ") + name + "; echo ready; sleep 1000 & wait"));
    EXPECT_EQ(command.line(), "ready");
    EXPECT_EQ(command.line(), "ready");
    command.signal(number);
    EXPECT_EQ(sorted_lines(command.rest()), (Lines{"caught", "caught"})) << name;
    EXPECT_EQ(command.status(), 0);
  }
}

TEST(Run, SaysInOneLineThatTheProgramIsMissing) {
  Command command(heddle_run({"-n", "4", "/nonexistent/program"}));
  EXPECT_EQ(command.rest(),
            "heddle run: bad_argument: the program '/nonexistent/program' cannot be started (errno 2 No such file or "
            "directory)\n");
  EXPECT_EQ(command.status(), 2);
}

TEST(Run, SaysAtStartThatTheLimitOnDescriptorsIsTooLow) {
  Command command({"/bin/sh", "-c", "ulimit -n 20; exec \"$0\" run -n 40 /bin/true", HEDDLE_PROGRAM});
  const std::string said = command.rest();
  EXPECT_TRUE(said.starts_with("heddle run: out_of_descriptors: 40 processes need ")) << said;
  EXPECT_NE(said.find(", the limit is 20"), std::string::npos) << said;
  EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  EXPECT_EQ(command.status(), 2);
}

TEST(Run, SaysInOneLineWhatIsWrongWithTheUsage) {
  const std::vector<std::vector<std::string>> wrong{{"-n", "0", "/bin/true"},
                                                    {"-n", "x", "/bin/true"},
                                                    {"/bin/true"},
                                                    {"-n", "2"},
                                                    {"-n", "2", "--"},
                                                    {"--what", "/bin/true"},
                                                    {"-n", "2", "--bind", "x", "/bin/true"},
                                                    {"-n", "2", "--grace", "-1", "/bin/true"},
                                                    {"-n", "2", "--grace", "nan", "/bin/true"}};
  for (const auto& arguments : wrong) {
    Command command(heddle_run(arguments));
    EXPECT_EQ(sorted_lines(command.rest()).size(), 1U) << testing::PrintToString(arguments);
    EXPECT_EQ(command.status(), 2);
  }
}

TEST(Run, LeavesOptionsAfterTheProgramToTheProgram) {
  Command command(heddle_run({"-n", "1", "/bin/echo", "-n2", "--grace", "--", "x"}));
  EXPECT_EQ(command.rest(), "-n2 --grace -- x\n");
  EXPECT_EQ(command.status(), 0);
}

TEST(Run, TellsWaitersThatARankEndedWithoutJoining) {
  Command command(shell({"-n", "2"}, "test $HEDDLE_RANK = 1 && exit 0; exec \"$0\" get key 1"));
  wait_joined(command, 1);
  EXPECT_EQ(command.rest(), "peer_left: rank 1 ended before it joined, without putting 'key'\n");
  EXPECT_EQ(command.status(), 0);
}

TEST(Run, ReportsAProcessThatEndsWithoutLeavingAsFailed) {
  Command command(shell({"-n", "3", "--grace", "60"}, "test $HEDDLE_RANK = 1 && exec \"$0\" quit; exec \"$0\" notice"));
  EXPECT_EQ(without_joined(causes(command.rest())),
            (Lines{"heddle: error: rank 1 ended without leaving the job", "told of 1", "told of 1"}));
  EXPECT_EQ(command.status(), 1);
}

TEST(Run, EndsTheRestAfterOneEndedWithoutLeaving) {
  Command command(shell({"-n", "2", "--grace", "0"}, "test $HEDDLE_RANK = 1 && exec \"$0\" quit; exec \"$0\" hang"));
  EXPECT_EQ(without_joined(sorted_lines(command.rest())),
            (Lines{"heddle: error: rank 1 ended without leaving the job; the others are ended in 0 s"}));
  EXPECT_EQ(command.status(), 1);
}

TEST(Run, LetsTheRestGoOnWithoutOneThatEndedWithoutLeaving) {
  Command command(shell({"-n", "2", "--survive"}, "test $HEDDLE_RANK = 1 && exec \"$0\" quit; exec \"$0\" notice"));
  EXPECT_EQ(without_joined(sorted_lines(command.rest())),
            (Lines{"heddle: error: rank 1 ended without leaving the job; the others go on", "told of 1"}));
  EXPECT_EQ(command.status(), 1);
}

TEST(Run, ReportsAProcessThatGivesUpAndSucceedsAsFailed) {
  Command command(shell({"-n", "2", "--survive"}, "test $HEDDLE_RANK = 1 && exec \"$0\" give-up; exec \"$0\" notice"));
  EXPECT_EQ(without_joined(causes(command.rest())),
            (Lines{"heddle: error: rank 1 ended without leaving the job", "told of 1"}));
  EXPECT_EQ(command.status(), 1);
}

TEST(Run, BindsEachProcessToOneCpuWhenAsked) {
  Command command(shell({"-n", "2", "--bind", "always"}, "grep Cpus_allowed_list /proc/self/status"));
  for (const std::string& line : sorted_lines(command.rest())) {
    EXPECT_EQ(line.find_first_of(",-"), std::string::npos) << line;
  }
  EXPECT_EQ(command.status(), 0);
}

TEST(Member, SaysThatItHasNoLauncher) {
  Command command({kMember}, {{"SLURM_PROCID", "0"}});
  EXPECT_NE(command.rest().find("no_launcher: started by Slurm (SLURM_PROCID=0)"), std::string::npos);
  EXPECT_EQ(command.status(), 3);
}

} // namespace
} // namespace heddle::tests
