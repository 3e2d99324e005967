// The same program, unchanged, under every launcher: they all find each other, are told of a death where the launcher lets them live to hear
// it, and end together where one asks for that. Nothing is left.
#include "tests/launchers/launchers.hpp"

#include "auth/secret.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <random>

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
  bool has_board = true;
  bool ends_by_status = true;   // the status that a program ends the job with is the launcher's
  bool always_succeeds = false; // in its own eyes
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
       .words = 6},
      {.name = "HydraPort",
       .programs = {"mpiexec.hydra"},
       .command = [](const auto& n) { return hydra({"-pmi-port"}, n); }},
      {.name = "HydraPmi2",
       .programs = {"mpiexec.hydra"},
       .command = [](const auto& n) { return hydra({}, n); },
       .variables = {{"HEDDLE_STORE", "pmi2"}},
       .words = 7,
       .ends_by_status = false},
      {.name =
           "HydraHosts", // pretended ones, with TCP between them; of those on another one than the dead, nobody is killed
       .programs = {"mpiexec.hydra"},
       .command =
           [](const auto& n) { return hydra({"-disable-auto-cleanup", "-launcher", "fork", "-hosts", "x:1,y:63"}, n); },
       .ends_by_status = false}, // a broken pipe ends mpiexec where it tells a host's proxy that has just ended
      {.name = "Mpirun", .programs = {"mpirun"}, .command = [](const auto& n) { return mpirun({}, n); }},
      {.name = "MpirunRecovery",
       .programs = {"mpirun"},
       .command = [](const auto& n) { return mpirun({"--enable-recovery"}, n); },
       .survivors = Survivors::told,
       .ends_by_status = false,
       .always_succeeds = true},
      {.name = "SlurmNone",
       .programs = {"srun"},
       .slurm = true,
       .command = [](const auto& n) { return srun("none", n); },
       .variables = {{"HEDDLE_STORE", "tcp:127.0.0.1:" + std::to_string(free_ports(1))}, {"HEDDLE_SECRET", secret}},
       .survivors = Survivors::told,
       .has_board = false,
       .ends_by_status = false},
      {.name = "SlurmPmi2",
       .programs = {"srun"},
       .slurm = true,
       .command = [](const auto& n) { return srun("pmi2", n); },
       .survivors = Survivors::told,
       .words = 6,
       .ends_by_status = false},
      {.name = "SlurmPmix",
       .programs = {"srun"},
       .slurm = true,
       .command = [](const auto& n) { return srun("pmix", n); },
       .tells_first = true,
       .ends_by_status = false},
      {.name = "MemcachedSocket",
       .programs = {"memcached"},
       .memcached = MemcachedServer::By::socket,
       .command = [](const auto& n) { return by_hand(n); },
       .variables = {{"HEDDLE_SECRET", secret}, {"HEDDLE_JOB", "by-hand"}},
       .survivors = Survivors::told},
      {.name = "MemcachedTcp",
       .programs = {"memcached"},
       .memcached = MemcachedServer::By::tcp,
       .command = [](const auto& n) { return by_hand(n); },
       .variables = {{"HEDDLE_SECRET", secret}, {"HEDDLE_JOB", "by-hand"}},
       .survivors = Survivors::told},
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
  [[nodiscard]] Command run(int count, const Words& arguments) const {
    return Command(Words{find_program("timeout"), "-k", "2", "60"} | GetParam().command(std::to_string(count)) |
                       Words{kLaunchedProgram} | arguments,
                   variables_);
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
  EXPECT_EQ(status == 0, GetParam().always_succeeds) << said;
  EXPECT_NE(status, 124) << said;
  if (GetParam().ends_by_status) {
    EXPECT_EQ(status, 9) << said;
  }
}

TEST(Pmi, SaysWhichLauncherIsNotReached) {
  for (const char* port : {"127.0.0.1:1", "nowhere"}) {
    Command process({kLaunchedProgram, "again"}, {{"PMI_PORT", port}, {"PMI_ID", "0"}});
    const std::string said = process.rest();
    EXPECT_TRUE(said.contains(std::string("the launcher is not reached at PMI_PORT=") + port + " (remedy: ")) << said;
    EXPECT_EQ(process.status(), 1);
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
    Command command(Words{find_program("timeout"), "-k", "2", "60", find_program("salloc"), "-Q", "-N", "2", "-n", "4",
                          "--ntasks-per-node=2"} |
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
  const std::string all = in_allocation({find_program("srun"), "-Q", "--mpi=pmi2", kLaunchedProgram, "work", "3"});
  EXPECT_TRUE(all.contains("done 3 of 4 on n2")) << all;
}

INSTANTIATE_TEST_SUITE_P(All, Launchers, testing::ValuesIn(launchers()), [](const auto& of) { return of.param.name; });

} // namespace
} // namespace heddle::tests
