// `heddle run --hosts` as users meet it: what goes in and comes out.
#include "tests/hosts/on_hosts.hpp"

#include <poll.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace heddle::tests {
namespace {

class RunOnHosts : public OnHosts {
 protected:
  static std::vector<std::string> shell(const std::string& script) { return {"--", "/bin/sh", "-c", script}; }
};

INSTANTIATE_TEST_SUITE_P(Forms, RunOnHosts, kBothForms, name_of_form);

TEST_P(RunOnHosts, GivesEveryProcessItsRankAndSizeAndMachine) {
  auto command = run(2, shell("echo $HEDDLE_RANK of $HEDDLE_SIZE on $HEDDLE_NODE"));
  EXPECT_EQ(sorted(lines_of(command->rest())), (Lines{"0 of 4 on m1", "1 of 4 on m1", "2 of 4 on m2", "3 of 4 on m2"}));
  EXPECT_EQ(command->status(), 0);
}

TEST_P(RunOnHosts, KeepsTheLinesOfManyProcessesWhole) {
  auto command = run(3, shell("for i in $(seq 300); do printf %s-; printf '%0200d-' $i; echo $HEDDLE_RANK; done"));
  std::vector<int> next(6, 1);
  for (const std::string& line : lines_of(command->rest())) {
    int number = 0;
    int rank = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "-%d-%d", &number, &rank), 2) << line;
    ASSERT_TRUE(rank >= 0 && rank < 6) << line;
    EXPECT_EQ(line.size(), 203U) << line;
    EXPECT_EQ(number, next[static_cast<std::size_t>(rank)]++) << "of rank " << rank;
  }
  EXPECT_EQ(next, std::vector<int>(6, 301));
  EXPECT_EQ(command->status(), 0);
}

TEST_P(RunOnHosts, KeepsOutputAndErrorApart) {
  const auto script = shell("echo out $HEDDLE_RANK; echo error $HEDDLE_RANK >&2");
  EXPECT_EQ(sorted(lines_of(run_around("\"$0\" \"$@\" 2>/dev/null", 1, script)->rest())), (Lines{"out 0", "out 1"}));
  EXPECT_EQ(sorted(lines_of(run_around("\"$0\" \"$@\" 2>&1 >/dev/null", 1, script)->rest())),
            (Lines{"error 0", "error 1"}));
}

TEST_P(RunOnHosts, PutsTheRankBeforeEveryLineOnRequest) {
  auto command = run(1, {"--label", "--", "/bin/sh", "-c", "echo first; echo second >&2; printf last"});
  EXPECT_EQ(sorted(lines_of(command->rest())),
            (Lines{"[0] first", "[0] last", "[0] second", "[1] first", "[1] last", "[1] second"}));
}

TEST_P(RunOnHosts, LeavesALastLineWithoutItsEndAsItIs) {
  auto command = run_around("\"$0\" \"$@\"", 1, shell("test $HEDDLE_RANK = 1 || printf last"));
  EXPECT_EQ(command->rest(), "last");
}

TEST_P(RunOnHosts, GivesRankZeroAllOfItsInput) {
  auto command = run_around("seq 1000000 | \"$0\" \"$@\"", 1, shell("echo $HEDDLE_RANK $(cksum)"));
  Command expected({"/bin/sh", "-c", "seq 1000000 | cksum"});
  EXPECT_EQ(sorted(lines_of(command->rest())), (Lines{"0 " + expected.line(), "1 4294967295 0"}));
}

TEST_P(RunOnHosts, EndsThoughNobodyReadsItsInput) {
  auto command = run_around("yes | \"$0\" \"$@\"", 1, shell("echo $HEDDLE_RANK"));
  EXPECT_EQ(sorted(lines_of(command->rest())), (Lines{"0", "1"}));
  EXPECT_EQ(command->status(), 0);
}

TEST_P(RunOnHosts, PassesOnInputAfterItsReaderHasGone) {
  auto command = run_around("yes | \"$0\" \"$@\"", 1, shell("exec <&-; echo $HEDDLE_RANK"));
  EXPECT_EQ(sorted(lines_of(command->rest())), (Lines{"0", "1"}));
  EXPECT_EQ(command->status(), 0);
}

double cpu_seconds_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int i = 0; i < 11; ++i) words >> word;
  double user = 0;
  double system = 0;
  words >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Input that is there and not wanted, and output that nobody takes, are no reason to run in circles.
TEST_P(RunOnHosts, TheLauncherRestsWhileNothingCanGoOn) {
  const std::vector<std::string> scripts{
      "test $HEDDLE_RANK = 0 && echo ready; sleep 1000",            // reads nothing
      "test $HEDDLE_RANK = 0 || sleep 1000; echo ready; exec yes"}; // which this test does not read
  for (const std::string& script : scripts) {
    const std::string pipe = machines_->folder() / "input";
    auto command = run_around(
        "rm -f " + pipe + "; mkfifo " + pipe + "; yes >" + pipe + " & exec \"$0\" \"$@\" <" + pipe, 1, shell(script));
    EXPECT_EQ(command->line(), "ready");
    ::poll(nullptr, 0, 300); // until buffers are full, on a machine that is not very busy
    const double before = cpu_seconds_of(command->id());
    ::poll(nullptr, 0, 1000);
    EXPECT_LT(cpu_seconds_of(command->id()) - before, 0.5) << script;
  }
}

TEST_P(RunOnHosts, EndsWhenNobodyReadsItsOutput) {
  auto command = run_around("\"$0\" \"$@\" 2>/dev/null | head -1", 1, shell("exec yes"));
  EXPECT_EQ(command->rest(), "y\n");
}

TEST_P(RunOnHosts, EndsByASignalThoughNobodyTakesItsOutput) {
  auto command = run_around("exec \"$0\" \"$@\" 2>/dev/null", 1,
                            shell("test $HEDDLE_RANK = 0 || sleep 1000; echo ready; exec yes"));
  EXPECT_EQ(command->line(), "ready");
  ::poll(nullptr, 0, 300); // until buffers are full, on a machine that is not very busy
  command->signal(SIGTERM);
  EXPECT_EQ(command->status(), 128 + SIGTERM); // before anything more is read
}

TEST_P(RunOnHosts, EndsWhereItsStreamsAreClosed) {
  auto command = run_around("exec \"$0\" \"$@\" <&- >&- 2>&-", 1, shell("echo lost; exit 3"));
  EXPECT_EQ(command->rest(), "");
  EXPECT_EQ(command->status(), 3);
}

TEST_P(RunOnHosts, GoesOnWhenTheReaderIsSlow) {
  auto command = run_around("\"$0\" \"$@\" | { sleep 1; cksum; }", 1, shell("test $HEDDLE_RANK = 1 || seq 500000"));
  Command expected({"/bin/sh", "-c", "seq 500000 | cksum"});
  EXPECT_EQ(command->rest(), expected.rest());
}

TEST_P(RunOnHosts, PassesOnTheVariablesThatItIsToldTo) {
  auto command =
      run(1, {"--env", "TEST_WORD", "--", "/bin/sh", "-c", "echo $TEST_WORD.$TEST_OTHER.$HEDDLE_EAGER_LIMIT"},
          {{"TEST_WORD", "some word"}, {"TEST_OTHER", "other"}, {"HEDDLE_EAGER_LIMIT", "4KiB"}});
  EXPECT_EQ(lines_of(command->rest()), (Lines{"some word..4KiB", "some word..4KiB"}));
}

TEST_P(RunOnHosts, KeepsTheWorkingDirectory) {
  const auto folder = machines_->folder() / "a folder";
  std::filesystem::create_directory(folder);
  Command command(machines_->run_in(folder, machines_->hosts(1), {"--", "/bin/pwd"}), machines_->variables());
  EXPECT_EQ(lines_of(command.rest()), (Lines{folder, folder}));
}

TEST_P(RunOnHosts, PassesExitStatusOn) {
  auto command = run(2, {"--grace", "0", "--", "/bin/sh", "-c", "test $HEDDLE_RANK = 3 && exit 7; sleep 1000"});
  EXPECT_EQ(command->rest(), "heddle: error: rank 3 ended with status 7; the others are ended in 0 s\n");
  EXPECT_EQ(command->status(), 7);
}

TEST_P(RunOnHosts, PassesTheSignalThatKilledAProcessOn) {
  auto command = run(2, {"--grace", "0", "--", "/bin/sh", "-c", "test $HEDDLE_RANK = 3 && kill -SEGV $$; sleep 1000"});
  EXPECT_EQ(command->rest(),
            "heddle: error: rank 3 was killed by signal 11 (Segmentation fault); the others are ended in 0 s\n");
  EXPECT_EQ(command->status(), 128 + SIGSEGV);
}

TEST_P(RunOnHosts, ReportsAProcessThatEndsWithoutAGoodbye) {
  auto command =
      run(1, {"--grace", "60", "--", "/bin/sh", "-c", "test $HEDDLE_RANK = 1 && exec \"$0\" quit; exec \"$0\" notice",
              test_program("member_program")});
  Lines said = lines_of(command->rest());
  std::erase_if(said, [](const std::string& line) { return line.starts_with("joined "); });
  for (std::string& line : said) line = line.substr(0, line.find("; the others"));
  EXPECT_EQ(sorted(said), (Lines{"heddle: error: rank 1 ended without leaving the job", "told of 1"}));
  EXPECT_EQ(command->status(), 1);
}

TEST_P(RunOnHosts, LetsTheRestGoOnWhenAskedTo) {
  auto command =
      run(1, {"--survive", "--", "/bin/sh", "-c", "test $HEDDLE_RANK = 1 && exec \"$0\" quit; exec \"$0\" notice",
              test_program("member_program")});
  Lines said = lines_of(command->rest());
  std::erase_if(said, [](const std::string& line) { return line.starts_with("joined "); });
  EXPECT_EQ(sorted(said),
            (Lines{"heddle: error: rank 1 ended without leaving the job; the others go on", "told of 1"}));
}

TEST_P(RunOnHosts, ForwardsSignals) {
  for (const auto& [number, name] : {std::pair{SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGUSR1, "USR1"}}) {
    auto command = run(1, shell(std::string("trap 'echo caught; exit 0' ") + name + "; echo ready; sleep 1000 & wait"));
    EXPECT_EQ(command->line(), "ready");
    EXPECT_EQ(command->line(), "ready");
    command->signal(number);
    EXPECT_EQ(lines_of(command->rest()), (Lines{"caught", "caught"})) << name;
    EXPECT_EQ(command->status(), 0);
  }
}

TEST_P(RunOnHosts, MeasuresBetweenThem) {
  Command command(machines_->at_launcher(machines_->folder(), {HEDDLE_PROGRAM, "perf", "latency", "--bytes", "8",
                                                               "--repetitions", "1", "--hosts", machines_->hosts(1),
                                                               "--shell", (machines_->folder() / "shell").string()}),
                  machines_->variables());
  const std::string table = command.rest();
  EXPECT_EQ(command.status(), 0) << table;
  EXPECT_NE(table.find("latency over tcp"), std::string::npos) << table; // after how far it is, on a busy machine
}

TEST_P(RunOnHosts, EndsWhatAProcessStartedInTheBackground) {
  auto command = run(1, shell("sleep 1000 & echo started"));
  EXPECT_EQ(lines_of(command->rest()), (Lines{"started", "started"}));
  EXPECT_EQ(command->status(), 0);
}

TEST_P(RunOnHosts, TakesTheHostsFromAFile) {
  const std::string file = machines_->folder() / "hosts file";
  std::ofstream(file) << "# two of them\n\nm1 slots=2\nm2:1 # and one\n";
  const auto start = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{HEDDLE_PROGRAM, "run",       "--hostfile", file,
                                   "--env",        "TEST_MARK", "--shell",    machines_->folder() / "shell"};
    words.insert(words.end(), more.begin(), more.end());
    const auto said = shell("echo $HEDDLE_RANK of $HEDDLE_SIZE on $HEDDLE_NODE");
    words.insert(words.end(), said.begin(), said.end());
    return std::make_unique<Command>(machines_->at_launcher(machines_->folder(), words), machines_->variables());
  };
  auto command = start({});
  EXPECT_EQ(sorted(lines_of(command->rest())), (Lines{"0 of 3 on m1", "1 of 3 on m1", "2 of 3 on m2"}));
  EXPECT_EQ(command->status(), 0);
  auto fewer = start({"-n", "1"});
  EXPECT_EQ(lines_of(fewer->rest()), Lines{"0 of 1 on m1"});
  auto both = start({"--hosts", "m1:2"});
  EXPECT_EQ(lines_of(both->rest()), Lines{"heddle run: bad_argument: --hosts and --hostfile exclude each other"});
  EXPECT_EQ(both->status(), 2);
  std::ofstream(file) << "m1\nm2:none\n";
  auto malformed = start({});
  const Lines said = lines_of(malformed->rest());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find(file + ", line 2: "), std::string::npos) << said[0];
  EXPECT_EQ(malformed->status(), 2);
}

// A stand-in for ssh on the way to programs: it writes down what it is told, and does with the words what ssh does, which hands them to a
// shell as one line.
class RunBySsh : public WithMachines {
 protected:
  void SetUp() override {
    make(Form::pretended, 2);
    bin_ = machines_->folder() / "a bin";
    std::filesystem::create_directory(bin_);
    std::ofstream(bin_ / "ssh") << "#!/bin/sh\nfor word; do host=$word; [ \"${word#m}\" = \"$word\" ] || break; done\n"
                                << "for word; do echo \"$word\"; done >\"${0%/*}/told $host\"\nshift 6\n"
                                << "exec env -i PATH=/usr/bin:/bin TEST_MARK=\"$TEST_MARK\" /bin/sh -c \"$*\"\n";
    std::filesystem::permissions(bin_ / "ssh", std::filesystem::perms::owner_all);
    std::filesystem::create_symlink(HEDDLE_PROGRAM, bin_ / "it's heddle");
  }
  std::unique_ptr<Command> start(const std::vector<std::string>& options, const std::string& script) {
    std::vector<std::string> words{HEDDLE_PROGRAM, "run", "--hosts", machines_->hosts(1), "--env", "TEST_MARK"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", script});
    return std::make_unique<Command>(machines_->at_launcher(machines_->folder(), words),
                                     machines_->variables({{"PATH", bin_.string() + ":/usr/bin:/bin"}}));
  }
  Lines told(const std::string& host) const {
    std::ifstream file(bin_ / ("told " + host));
    Lines words;
    for (std::string word; std::getline(file, word);) words.push_back(word);
    return words;
  }
  std::filesystem::path bin_;
};

TEST_F(RunBySsh, IsHowHostsAreReachedUnlessAnotherShellIsNamed) {
  auto command = start({}, "echo $HEDDLE_RANK on $HEDDLE_NODE");
  EXPECT_EQ(sorted(lines_of(command->rest())), (Lines{"0 on m1", "1 on m2"}));
  EXPECT_EQ(command->status(), 0);
  for (const char* host : {"m1", "m2"})
    EXPECT_EQ(told(host),
              (Lines{"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, HEDDLE_PROGRAM, "agent"}));
}

TEST_F(RunBySsh, QuotesWhatTheShellThereWouldTakeApart) {
  const std::string agent = bin_ / "it's heddle";
  auto command = start({"--agent", agent}, "echo \"$HEDDLE_RANK  on $HEDDLE_NODE; it's\"");
  EXPECT_EQ(sorted(lines_of(command->rest())), (Lines{"0  on m1; it's", "1  on m2; it's"}));
  EXPECT_EQ(command->status(), 0);
  ASSERT_EQ(told("m1").size(), 8U);
  EXPECT_EQ(told("m1")[6], "'" + bin_.string() + "/it'\\''s heddle'");
}

TEST_F(RunBySsh, SaysThatItIsMissing) {
  std::filesystem::remove(bin_ / "ssh");
  const Command::Variables nowhere = machines_->variables({{"PATH", bin_.string()}});
  Command command(machines_->at_launcher(machines_->folder(), {HEDDLE_PROGRAM, "run", "--hosts", "m1", "--", "true"}),
                  nowhere);
  EXPECT_EQ(command.rest(),
            "heddle run: bad_argument: the remote shell 'ssh' cannot be started (remedy: name another by "
            "--shell; errno 2 No such file or directory)\n");
}

class RunOnSeparateHosts : public OnSeparateHosts {};

// What the processes are told to use need not be where the launcher is.
TEST_F(RunOnSeparateHosts, UsesANetworkThatTheLauncherDoesNotHave) {
  for (const char* network : {"e1", "10.78.0.0/16"}) {
    auto command = run(1, {"--", test_program("traffic_program"), "1", "20", "100000"},
                       {{"HEDDLE_TCP_NETWORK", network}, {"HEDDLE_LOG_LEVEL", "info"}});
    const std::string output = command->rest();
    EXPECT_EQ(command->status(), 0) << output;
    EXPECT_NE(output.find("tcp serves rank 1 (listens at 10.78.0.1:"), std::string::npos) << output;
  }
}

TEST_F(RunOnSeparateHosts, SaysOfWhichMachineANetworkIsNot) {
  auto command = run(1, {"--grace", "0", "--", test_program("traffic_program"), "1", "20", "100000"},
                     {{"HEDDLE_TCP_NETWORK", "ib7"}});
  const std::string output = command->rest();
  EXPECT_NE(command->status(), 0) << output;
  EXPECT_NE(
      output.find(
          "option tcp.network: 'ib7' names no interface of this machine that is up; it has lo 127.0.0.1, e0 10.77.0."),
      std::string::npos)
      << output;
}

} // namespace
} // namespace heddle::tests
