// The same program, unchanged, under every launcher: they all find each other, are told of a death where the launcher lets them live to hear
// it, and end together where one asks for that. Nothing is left.
#include "tests/launchers/launchers.hpp"

#include "auth/secret.hpp"
#include "store/scripted_launcher_for_tests.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <ostream>
#include <random>
#include <tuple>

namespace heddle::tests {
namespace {

enum class Survivors : std::uint8_t { told, ended };

struct Launcher {
  std::string name;
  Words programs; // that it needs
  bool slurm = false;
  std::optional<MemcachedServer::By> memcached{};
  // The words before the program, for so many processes.
  std::function<Words(const std::string& count)> command;
  Command::Variables variables{};
  Survivors survivors = Survivors::ended; // when one is killed
  bool tells_first = false;               // before it ends them
  int words = 0;                          // that each process says to it, where they can be counted
  std::string taken_as{};                 // what heddle info says of it
  bool has_board = true;
  bool takes_programs_in_turn = false;
  std::vector<int> aborted{9}; // with which of these it ends where a program has ended the job with 9
};

void PrintTo(const Launcher& launcher, std::ostream* out) {
  *out << launcher.name;
}

Words hydra(const Words& options, const std::string& count) {
  return Words{find_program("mpiexec.hydra")} | options | Words{"-n", count};
}
Words mpirun(const Words& options, const std::string& count) {
  return Words{find_program("mpirun"), "--allow-run-as-root", "--oversubscribe"} | options | Words{"-n", count};
}
Words srun(const std::string& type, const std::string& count) {
  return {find_program("srun"), "-Q", "--mpi=" + type, "-O", "-N", "2", "-n", count, "--distribution=block"};
}
// Somebody's own launcher, who knows nothing but numbers.
Words by_hand(const std::string& count) {
  return {"/bin/sh", "-c",
          "i=0; while [ $i -lt " + count + " ]; do HEDDLE_RANK=$i HEDDLE_SIZE=" + count +
              " \"$@\" & all=\"$all $!\"; i=$((i + 1)); done; worst=0; for p in $all; do wait $p || worst=$?; done; "
              "exit $worst",
          "launcher"};
}

std::vector<Launcher> launchers() {
  const std::string secret = auth::Secret::draw().text();
  return {
      {.name = "Hydra",
       .programs = {"mpiexec.hydra"},
       .command = [](const auto& n) { return hydra({}, n); },
       .words = 6,
       .taken_as = "Hydra's mpiexec (PMI_FD="},
      {.name = "HydraPort",
       .programs = {"mpiexec.hydra"},
       .command = [](const auto& n) { return hydra({"-pmi-port"}, n); },
       .taken_as = "Hydra's mpiexec (PMI_PORT="},
      {.name = "HydraPmi2",
       .programs = {"mpiexec.hydra"},
       .command = [](const auto& n) { return hydra({}, n); },
       .variables = {{"HEDDLE_STORE", "pmi2"}},
       .words = 7,
       .taken_as = "Hydra's mpiexec (PMI_FD=",
       .aborted = {255}},
      {.name =
           "HydraHosts", // pretended ones, with TCP between them; of those on another one than the dead, nobody is killed
       .programs = {"mpiexec.hydra"},
       .command =
           [](const auto& n) { return hydra({"-disable-auto-cleanup", "-launcher", "fork", "-hosts", "x:1,y:63"}, n); },
       .taken_as = "Hydra's mpiexec (PMI_FD=",
       .aborted = {9, 141}}, // a broken pipe ends mpiexec where it tells a host's proxy that has just ended
      {.name = "Mpirun",
       .programs = {"mpirun"},
       .command = [](const auto& n) { return mpirun({}, n); },
       .taken_as = "Open MPI's mpirun (PMIX_NAMESPACE="},
      {.name = "MpirunRecovery",
       .programs = {"mpirun"},
       .command = [](const auto& n) { return mpirun({"--enable-recovery"}, n); },
       .survivors = Survivors::told,
       .taken_as = "Open MPI's mpirun (PMIX_NAMESPACE=",
       .aborted = {0}},
      {.name = "SlurmNone",
       .programs = {"srun"},
       .slurm = true,
       .command = [](const auto& n) { return srun("none", n); },
       .variables = {{"HEDDLE_STORE", "tcp:127.0.0.1:" + std::to_string(free_ports(1))}, {"HEDDLE_SECRET", secret}},
       .survivors = Survivors::told,
       .taken_as = "Slurm (srun --mpi=none) (SLURM_PROCID=0)",
       .has_board = false,
       .takes_programs_in_turn = true,
       .aborted = {137}},
      {.name = "SlurmPmi2",
       .programs = {"srun"},
       .slurm = true,
       .command = [](const auto& n) { return srun("pmi2", n); },
       .survivors = Survivors::told,
       .words = 6,
       .taken_as = "Slurm (srun --mpi=pmi2) (PMI_FD=",
       .aborted = {137}},
      {.name = "SlurmPmi2Wire", // the same by version 2
       .programs = {"srun"},
       .slurm = true,
       .command = [](const auto& n) { return srun("pmi2", n); },
       .variables = {{"HEDDLE_STORE", "pmi2"}},
       .survivors = Survivors::told,
       .words = 7,
       .taken_as = "Slurm (srun --mpi=pmi2) (PMI_FD=",
       .aborted = {137}},
      {.name = "SlurmPmix",
       .programs = {"srun"},
       .slurm = true,
       .command = [](const auto& n) { return srun("pmix", n); },
       .tells_first = true,
       .taken_as = "Slurm (srun --mpi=pmix) (PMIX_NAMESPACE=",
       .aborted = {9, 137}},
      {.name = "MemcachedSocket",
       .programs = {"memcached"},
       .memcached = MemcachedServer::By::socket,
       .command = [](const auto& n) { return by_hand(n); },
       .variables = {{"HEDDLE_SECRET", secret}, {"HEDDLE_JOB", "by-hand"}},
       .survivors = Survivors::told,
       .taken_as = "a launcher that sets HEDDLE_RANK (HEDDLE_RANK=0)",
       .takes_programs_in_turn = true},
      {.name = "MemcachedTcp",
       .programs = {"memcached"},
       .memcached = MemcachedServer::By::tcp,
       .command = [](const auto& n) { return by_hand(n); },
       .variables = {{"HEDDLE_SECRET", secret}, {"HEDDLE_JOB", "by-hand"}},
       .survivors = Survivors::told,
       .taken_as = "a launcher that sets HEDDLE_RANK (HEDDLE_RANK=0)",
       .takes_programs_in_turn = true},
  };
}

class Launchers : public testing::TestWithParam<Launcher> {
 protected:
  void SetUp() override {
    const Launcher& launcher = GetParam();
    Words needed = launcher.programs;
    if (launcher.slurm) needed = needed | Words{"slurmctld", "slurmd", "munged", "setpriv"};
    if (const std::string without = missing(needed); !without.empty()) GTEST_SKIP() << "not installed: " << without;
    variables_ = launcher.variables;
    variables_.emplace_back("TEST_MARK", mark_);
    if (launcher.slurm) {
      cluster_.emplace();
      std::string why;
      ASSERT_TRUE(cluster_->ready(why)) << why;
      for (const auto& variable : cluster_->variables()) variables_.push_back(variable);
    }
    if (launcher.memcached) {
      server_.emplace(*launcher.memcached);
      variables_.emplace_back("HEDDLE_STORE", "memcached:" + server_->address());
    }
  }
  void TearDown() override { EXPECT_EQ(left_of(mark_, 10), Words{}); }

  // Some failures of some launchers never end.
  [[nodiscard]] Command run(int count, const Words& arguments, const Command::Variables& more = {}) const {
    return start(count, Words{kLaunchedProgram} | arguments, more);
  }
  [[nodiscard]] Command start(int count, const Words& program, const Command::Variables& more = {}) const {
    Command::Variables variables = variables_;
    variables.insert(variables.end(), more.begin(), more.end());
    return Command(
        Words{find_program("timeout"), "-k", "2", "60"} | GetParam().command(std::to_string(count)) | program,
        variables);
  }

  const std::string mark_ = auth::Secret::draw().text().substr(0, 16);
  Command::Variables variables_;
  std::optional<SlurmCluster> cluster_;
  std::optional<MemcachedServer> server_;
};

TEST_P(Launchers, LetProcessesWork) {
  const std::uint64_t seed = std::random_device()();
  Command command = run(4, {"work", std::to_string(seed)});
  const std::string said = command.rest();
  EXPECT_EQ(command.status(), 0) << said << "seed " << seed;
  EXPECT_EQ(count_of(said, "done "), 4U) << said << "seed " << seed;
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(count_of(said, "done " + std::to_string(rank) + " of 4"), 1U) << said;
}

TEST_P(Launchers, LetSixtyFourProcessesWork) {
  Command command = run(64, {"work", "1"});
  const std::string said = command.rest();
  EXPECT_EQ(command.status(), 0) << said;
  EXPECT_EQ(count_of(said, " of 64"), 64U) << said;
}

TEST_P(Launchers, LetProcessesJoinAgain) {
  Command command = run(3, {"again"});
  const std::string said = command.rest();
  EXPECT_EQ(command.status(), 0) << said;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(count_of(said, "time " + std::to_string(i)), 3U) << said;
}

TEST_P(Launchers, LetOneProgramComeAfterAnother) {
  if (!GetParam().takes_programs_in_turn) GTEST_SKIP() << "it lets each process join one job";
  const std::string again = kLaunchedProgram + " again";
  Command command = start(4, {"/bin/sh", "-c", again + " && " + again + " && " + again});
  const std::string said = command.rest();
  EXPECT_EQ(command.status(), 0) << said;
  EXPECT_EQ(count_of(said, "time 2"), 12U) << said;
}

TEST_P(Launchers, AreNamedByHeddleInfo) {
  Command command = start(3, {HEDDLE_PROGRAM, "info"});
  const std::string said = command.rest();
  EXPECT_EQ(command.status(), 0) << said;
  const std::size_t begin = said.find("job: rank 0 of 3 on node ");
  ASSERT_NE(begin, std::string::npos) << said;
  const std::string line = said.substr(begin, said.find('\n', begin) - begin);
  EXPECT_TRUE(line.contains(" (local rank 0), started by " + GetParam().taken_as)) << line;
  if (GetParam().slurm) {
    EXPECT_TRUE(line.contains("on node n1 ")) << line;
  }
}

TEST_P(Launchers, LetProcessesMeasureTogether) {
  Command command = start(2, {HEDDLE_PROGRAM, "perf", "latency", "--bytes", "8", "--repetitions", "2"});
  const std::string said = command.rest();
  EXPECT_EQ(command.status(), 0) << said;
  EXPECT_EQ(count_of(said, "latency over "), 1U) << said; // each with itself alone would print one
}

TEST_P(Launchers, HaveABoardAsItShouldBe) {
  if (!GetParam().has_board) GTEST_SKIP() << "it has none";
  Command command = run(3, {"board"});
  const std::string said = command.rest();
  EXPECT_EQ(command.status(), 0) << said;
  EXPECT_EQ(count_of(said, "board "), 3U) << said;
}

TEST_P(Launchers, TellOfADeathOrEndAll) {
  for (const char* how : {"die", "wait"}) {
    for (const char* victim : {"0", "2"}) { // also whoever has started the store
      Command command = run(3, {how, victim});
      const std::string said = command.rest();
      const int status = command.status();
      EXPECT_NE(status, 124) << how << " " << victim << ": " << said; // timeout(1) had to end it
      EXPECT_EQ(said.find("FAILED"), std::string::npos) << said;
      if (GetParam().survivors == Survivors::told) {
        EXPECT_EQ(count_of(said, std::string("told of ") + victim), 2U) << how << " " << victim << ": " << said;
      } else {
        EXPECT_NE(status, 0) << said;
      }
    }
  }
}

// With status 0, and no goodbye. Launchers that end the job then may still think that it has gone well.
TEST_P(Launchers, TellOfOneThatEndsWithoutLeavingOrEndAll) {
  Command command = run(3, {"quit", "2"});
  const std::string said = command.rest();
  EXPECT_NE(command.status(), 124) << said;
  EXPECT_EQ(said.find("FAILED"), std::string::npos) << said;
  if (GetParam().survivors == Survivors::told || GetParam().name == "HydraHosts") {
    EXPECT_EQ(count_of(said, "told of 2"), 2U) << said;
  }
}

TEST_P(Launchers, EndAllWhoDoNotMindADeath) {
  if (GetParam().survivors == Survivors::told) GTEST_SKIP() << "it lets them live";
  if (GetParam().name == "HydraHosts") GTEST_SKIP() << "it lets those on other hosts live";
  if (GetParam().tells_first) GTEST_SKIP() << "it may take its time";
  Command command = run(3, {"linger", "2"});
  const std::string said = command.rest();
  const int status = command.status();
  EXPECT_NE(status, 124) << said;
  EXPECT_NE(status, 0) << said;
}

TEST_P(Launchers, AreNotAskedForNewsOnceTheKeeperIsGone) {
  if (GetParam().name != "MemcachedSocket") GTEST_SKIP() << "the same for all: one is enough";
  Command command = run(3, {"orphan"});
  std::string said;
  while (count_of(said, "ready ") < 3) {
    const std::string line = command.line();
    ASSERT_FALSE(line.empty()) << said;
    said += line + "\n";
  }
  const pid_t keeper = process_with(mark_, "heddle-keeper");
  ASSERT_GT(keeper, 0);
  ::kill(keeper, SIGKILL);
  said += command.rest();
  EXPECT_EQ(count_of(said, "no more news of failed peers: store_failed: the store is gone"), 3U) << said;
  EXPECT_EQ(count_of(said, "alone "), 3U) << said;
  EXPECT_EQ(command.status(), 0) << said;
}

TEST_P(Launchers, DoNotLetTheRestWaitForOneThatDiesBeforeItJoins) {
  for (const char* victim : {"0", "2"}) {
    Command command = run(3, {"early", victim}, {{"HEDDLE_JOIN_TIMEOUT_S", "3"}});
    const std::string said = command.rest();
    EXPECT_NE(command.status(), 124) << victim << ": " << said;
    EXPECT_EQ(said.find("FAILED"), std::string::npos) << said;
    if (GetParam().survivors == Survivors::told) {
      EXPECT_EQ(count_of(said, "not joined: "), 2U) << victim << ": " << said;
    }
  }
}

// Slurm gives them a second, which a busy machine may use up.
TEST_P(Launchers, LetTheRestHearOfADeathBeforeTheyEndThem) {
  if (!GetParam().tells_first) GTEST_SKIP() << "it ends them at once, or not at all";
  std::string said;
  for (int tries = 0; tries < 5 && count_of(said, "told of 2") < 2; ++tries) said = run(3, {"die", "2"}).rest();
  EXPECT_EQ(count_of(said, "told of 2"), 2U) << said;
}

TEST_P(Launchers, HearFewWords) {
  if (GetParam().words == 0) GTEST_SKIP() << "they cannot be counted";
  for (const char* count : {"2", "9"}) {
    Command command = run(std::atoi(count), {"words"});
    const std::string said = command.rest();
    EXPECT_EQ(count_of(said, "words " + std::to_string(GetParam().words) + "\n"), std::stoul(count)) << said;
  }
}

TEST_P(Launchers, EndAllWhenOneAborts) {
  Command command = run(3, {"abort", "1", "9"});
  const std::string said = command.rest();
  const int status = command.status();
  EXPECT_TRUE(std::ranges::count(GetParam().aborted, status) > 0) << status << ": " << said;
}

TEST_P(Launchers, EndAllWhenOneAbortsAfterJoiningAgain) {
  if (!GetParam().slurm)
    GTEST_SKIP() << "its board is left with the first context: the others end when they call Heddle";
  Command command = run(3, {"again-abort", "1", "9"});
  const std::string said = command.rest();
  EXPECT_NE(command.status(), 124) << said;
}

TEST(Pmix, IsNotWaitedForWhereItsServerStalls) {
  // What the process says, and with which status it ends.
  const std::vector<std::tuple<const char*, Words, const char*, int>> cases{
      {"init", {"again"}, "FAILED: join: timed_out: the launcher gives no answer by PMIx in time", 1},
      {"abort", {"abort", "0", "9"}, "", 9},
      {"finalize", {"time"}, "", 0}};
  for (const auto& [call, arguments, expected, status] : cases) {
    Command process(Words{find_program("timeout"), "60", kLaunchedProgram} | arguments,
                    {{"PMIX_NAMESPACE", "x"},
                     {"PMIX_RANK", "0"},
                     {"STALLED_PMIX", call},
                     {"HEDDLE_JOIN_TIMEOUT_S", "1"},
                     {"LD_LIBRARY_PATH", HEDDLE_STALLED_PMIX}});
    const std::string said = process.rest();
    EXPECT_TRUE(said.contains(expected)) << call << ": " << said;
    EXPECT_EQ(process.status(), status) << call << ": " << said;
  }
}

// However often the job is joined.
TEST(Pmix, IsToldLittle) {
  Command process({kLaunchedProgram, "again"}, {{"PMIX_NAMESPACE", "x"},
                                                {"PMIX_RANK", "0"},
                                                {"STALLED_PMIX", "none"},
                                                {"LD_LIBRARY_PATH", HEDDLE_STALLED_PMIX}});
  const std::string said = process.rest();
  EXPECT_EQ(count_of(said, "PMIx: init 1, put and commit 2, fence 1, finalize\n"), 1U) << said;
  EXPECT_EQ(process.status(), 0) << said;
}

TEST(Pmix, SaysThatItsLibraryCannotBeLoaded) {
  const Folder folder;
  std::ofstream(folder.path() / "libpmix.so.2") << "no library";
  Command process({kLaunchedProgram, "again"},
                  {{"PMIX_NAMESPACE", "x"}, {"PMIX_RANK", "0"}, {"LD_LIBRARY_PATH", folder.path().string()}});
  const std::string said = process.rest();
  EXPECT_TRUE(said.contains("the launcher speaks PMIx, and libpmix.so.2 cannot be loaded: ")) << said;
  EXPECT_TRUE(said.contains("install libpmix")) << said;
  EXPECT_EQ(process.status(), 1);
}

TEST(Memcached, IsRefusedWithoutASecretAndUnderAnImpossibleName) {
  const auto says = [](const Command::Variables& more) {
    Command::Variables variables{{"HEDDLE_RANK", "0"}, {"HEDDLE_SIZE", "2"}, {"HEDDLE_STORE", "memcached:127.0.0.1:1"}};
    variables.insert(variables.end(), more.begin(), more.end());
    Command process({kLaunchedProgram, "again"}, variables);
    std::string said = process.rest();
    EXPECT_EQ(process.status(), 1) << said;
    return said;
  };
  const std::string open = says({{"HEDDLE_JOB", "job"}});
  EXPECT_TRUE(open.contains("there is no secret to sign with") && open.contains("set HEDDLE_SECRET in all")) << open;
  const std::string odd = says({{"HEDDLE_JOB", "a job"}, {"HEDDLE_SECRET", auth::Secret::draw().text()}});
  EXPECT_TRUE(odd.contains("a job that meets in a memcached cannot be called 'a job'")) << odd;
}

TEST(Pmi, SaysWhichLauncherIsNotReached) {
  for (const char* port : {"127.0.0.1:1", "nowhere"}) {
    Command process({kLaunchedProgram, "again"}, {{"PMI_PORT", port}, {"PMI_ID", "0"}});
    const std::string said = process.rest();
    EXPECT_TRUE(said.contains(std::string("the launcher is not reached at PMI_PORT=") + port + " (remedy: ")) << said;
    EXPECT_EQ(process.status(), 1);
  }
}

// It lets the others pass its fence where one has died.
TEST(Pmi, SaysThatRank0HasEndedBeforeItHasLeftItsNote) {
  const store::ScriptedLauncher launcher(
      {{"cmd=init pmi_version=1", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
       {"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=space\n"},
       {"key=PMI_process_mapping", "cmd=get_result rc=-1 msg=none value=unknown\n"},
       {"cmd=barrier_in", "cmd=barrier_out\n"},
       {"key=heddle.keeper.0", "cmd=get_result rc=-1 msg=none value=unknown\n"}});
  launcher.pass_on();
  Command process({kLaunchedProgram, "again"},
                  {{"PMI_FD", std::to_string(launcher.place().descriptor)}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(process.rest(), "FAILED: join: peer_failed: rank 0 has ended before it said where the job's store is\n");
  EXPECT_EQ(process.status(), 1);
}

// And a size that would take all memory.
TEST(Pmi, BelievesNoSizeThatCannotBe) {
  const store::ScriptedLauncher launcher(
      {{"cmd=init pmi_version=2", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},
       {"cmd=fullinit;", "    56cmd=fullinit-response;rank=1;size=4294967295;rc=0;hm=ok;"},
       {"cmd=job-getid;", "    40cmd=job-getid-response;jobid=space;rc=0;"}});
  launcher.pass_on();
  Command process({kLaunchedProgram, "again"}, {{"PMI_FD", std::to_string(launcher.place().descriptor)},
                                                {"PMI_RANK", "1"},
                                                {"PMI_SIZE", "2"},
                                                {"HEDDLE_STORE", "pmi2"}});
  EXPECT_TRUE(process.rest().contains("a PMI launcher says that the job has 4294967295 processes"));
  EXPECT_EQ(process.status(), 1);
}

TEST(Slurm, KillsWhoIsLeftOfADeathWhereItIsToldTo) {
  if (const std::string without = missing({"srun", "slurmctld", "slurmd", "munged", "setpriv"}); !without.empty())
    GTEST_SKIP() << "not installed: " << without;
  const SlurmCluster cluster;
  std::string why;
  ASSERT_TRUE(cluster.ready(why)) << why;
  for (const char* type : {"pmi2", "none"}) {
    Command command(Words{find_program("timeout"), "-k", "2", "60", find_program("srun"), "-Q", "-K",
                          std::string("--mpi=") + type, "-N", "1", "-n", "3", kLaunchedProgram, "linger", "2"},
                    cluster.variables());
    const std::string said = command.rest();
    EXPECT_EQ(command.status(), 143) << type << ": " << said; // they are asked to end first
  }
}

// What a launcher of Slurm's does inside a job of its own, and heddle run inside an allocation.
TEST(Allocation, IsWhereHeddleRunAndOthersStartProcesses) {
  if (const std::string without = missing({"salloc", "srun", "slurmctld", "slurmd", "munged", "setpriv"});
      !without.empty())
    GTEST_SKIP() << "not installed: " << without;
  const SlurmCluster cluster;
  std::string why;
  ASSERT_TRUE(cluster.ready(why)) << why;
  const auto in_allocation = [&](const Words& words) {
    Command command(Words{find_program("timeout"), "-k", "2", "60", find_program("salloc"), "-Q", "-w", "n1,n2", "-N",
                          "2", "-n", "4", "--ntasks-per-node=2"} |
                        words,
                    cluster.variables());
    std::string said = command.rest();
    EXPECT_EQ(command.status(), 0) << said;
    return said;
  };
  const std::string ours = in_allocation({HEDDLE_PROGRAM, "run", kLaunchedProgram, "work", "3"});
  for (const char* line : {"done 0 of 4", "done 1 of 4", "done 2 of 4", "done 3 of 4"})
    EXPECT_TRUE(ours.contains(line)) << ours;
  EXPECT_EQ(in_allocation({HEDDLE_PROGRAM, "run", "-n", "4", "--label", "--", "/bin/sh", "-c", "echo $HEDDLE_NODE"})
                .find("localhost"),
            std::string::npos);
  // Other launchers find the allocation, and start by Slurm what starts their processes.
  if (const std::string mpiexec = find_program("mpiexec.hydra"); !mpiexec.empty()) {
    const std::string said = in_allocation({mpiexec, "-n", "4", kLaunchedProgram, "work", "3"});
    EXPECT_TRUE(said.contains("done 3 of 4 on n2")) << said;
  }
  if (const std::string mpirun = find_program("mpirun"); !mpirun.empty()) {
    const std::string said = in_allocation({mpirun, "--allow-run-as-root", "-n", "4", kLaunchedProgram, "work", "3"});
    EXPECT_TRUE(said.contains("done 3 of 4 on n2")) << said;
  }
  const std::string all = in_allocation({find_program("srun"), "-Q", "--mpi=pmi2", kLaunchedProgram, "work", "3"});
  EXPECT_TRUE(all.contains("done 3 of 4 on n2")) << all;
  // Two steps side by side, which do not meet, though they share the node and the secret.
  const std::string secret = "HEDDLE_SECRET=" + auth::Secret::draw().text();
  for (const char* type : {"none", "pmi2", "pmix"}) {
    const std::string step = find_program("srun") + " -Q --overlap -N 1 -n 2 --mpi=" + type + " " + kLaunchedProgram;
    const std::string both =
        in_allocation({"/usr/bin/env", secret, "/bin/sh", "-c", step + " work 1 & " + step + " work 2; wait $!"});
    EXPECT_EQ(count_of(both, "done 0 of 2"), 2U) << type << ": " << both;
    EXPECT_EQ(count_of(both, "done 1 of 2"), 2U) << type << ": " << both;
  }
  // In a script without srun.
  Command script({find_program("sbatch"), "--wait", "-n", "2", "-o", cluster.folder() / "script", "--wrap",
                  kLaunchedProgram + " again"},
                 cluster.variables());
  script.rest();
  std::ifstream file(cluster.folder() / "script");
  const std::string said((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(said.contains("by the script of a job, not as one of its tasks")) << said;
}

INSTANTIATE_TEST_SUITE_P(All, Launchers, testing::ValuesIn(launchers()), [](const auto& of) { return of.param.name; });

} // namespace
} // namespace heddle::tests
