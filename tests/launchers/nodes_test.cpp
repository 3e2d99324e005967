// Jobs of several machines under other people's launchers: who is served by which network, deaths, aborts, 64 processes.
#include "tests/launchers/nodes.hpp"

#include "base/clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

namespace heddle::tests {
namespace {

// Where each rank has said to be: "done RANK of SIZE on HOST".
std::vector<std::string> nodes_said(const std::string& output, std::size_t size) {
  std::vector<std::string> node_of(size);
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string done, of, on, host;
    std::size_t rank = 0, all = 0;
    if (words >> done >> rank >> of >> all >> on >> host && done == "done" && rank < size && all == size)
      node_of[rank] = host;
  }
  return node_of;
}

TEST_P(OnNodes, WorkIsDoneByTheRightNetworks) {
  const std::uint64_t seed = std::random_device()();
  const auto command = run({2, 2, 2}, {"work", std::to_string(seed)});
  const std::string said = command->rest();
  EXPECT_EQ(command->status(), 0) << said << "seed " << seed;
  EXPECT_EQ(nodes_said(said, 6), (Words{"m1", "m1", "m2", "m2", "m3", "m3"})) << said;
  EXPECT_EQ(wrong_networks(said, {"m1", "m1", "m2", "m2", "m3", "m3"}), "") << said;
}

TEST_P(OnNodes, SixtyFourWork) {
  const auto command = run({22, 21, 21}, {"work", "1"});
  const std::string said = command->rest();
  EXPECT_EQ(command->status(), 0) << said;
  const auto node_of = nodes_said(said, 64);
  EXPECT_EQ(std::ranges::count(node_of, ""), 0) << said;
  for (const char* machine : {"m1", "m2", "m3"}) EXPECT_GT(std::ranges::count(node_of, machine), 15) << machine;
  EXPECT_EQ(wrong_networks(said, node_of), "") << said;
}

// One leaf with the machines in another order than the launcher's, as ibnetdiscover tells of it.
std::string fabric_text() {
  std::string text = "switchguid=0x100(100)\nSwitch\t36 \"S-0000000000000100\"\t\t# \"leaf\" base port 0 lid 9 lmc 0\n";
  const Words names{"m2 mlx5_0", "m3 mlx5_0", "m1 mlx5_0"};
  for (std::size_t i = 0; i < names.size(); ++i)
    text += "[" + std::to_string(i + 1) + "]\t\"H-000000000000001" + std::to_string(i) + "\"[1](1" + std::to_string(i) +
            ") \t\t# \"x\" lid 4 4xSDR\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += "\ncaguid=0x1" + std::to_string(i) + "\nCa\t1 \"H-000000000000001" + std::to_string(i) + "\"\t\t# \"" +
            names[i] + "\"\n[1](1" + std::to_string(i) + ") \t\"S-0000000000000100\"[" + std::to_string(i + 1) +
            "]\t\t# lid 6 lmc 0 \"leaf\" lid 9 4xSDR\n";
  return text;
}

TEST_P(OnNodes, TheNamesOfNodesSayWhereTheyAreOnTheFabric) {
  if (GetParam().slurm == false) GTEST_SKIP() << "the same for all: Slurm tells names of its own";
  const std::string file = machines_->folder() / "fabric";
  std::ofstream(file) << fabric_text();
  const auto command = run({2, 2, 2}, {"work", "5"}, {{"HEDDLE_TOPOLOGY", file}});
  const std::string said = command->rest();
  EXPECT_EQ(command->status(), 0) << said;
  EXPECT_EQ(count_of(said, "nodes in the order of the fabric: m2 m3 m1"), 6U) << said;
}

TEST_P(OnNodes, TheExampleForSlurmWorks) {
  if (GetParam().name != "SlurmNone") GTEST_SKIP() << "one is enough";
  const std::string output = machines_->folder() / "batch";
  const std::string said =
      aside({find_program("sbatch"), "--wait", "-N", "2", "-n", "4", "-O", "--output", output,
             std::string(HEDDLE_TEST_SOURCES) + "/../../examples/slurm.sh", kLaunchedProgram, "work", "7"});
  std::ifstream file(output);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(count_of(all, "done "), 4U) << said << all;
}

TEST_P(OnNodes, DeathsAreToldOrAllEnd) {
  // Also whoever has started the store; also whoever nobody has talked with.
  for (const auto& [how, victim] : {std::pair("die", "0"), std::pair("wait", "5")}) {
    const auto command = run({2, 2, 2}, {how, victim});
    std::string said;
    const auto told = [&] { return count_of(said, std::string("told of ") + victim); };
    if (GetParam().forgets_to_end)
      while (told() < 5 && !said.contains("FAILED")) said += command->line() + "\n";
    else
      said = command->rest();
    const int status = end_of(*command);
    EXPECT_NE(status, 124) << how << " " << victim << ": " << said; // timeout(1) had to end it
    EXPECT_EQ(said.find("FAILED"), std::string::npos) << said;
    if (GetParam().lives)
      EXPECT_EQ(told(), 5U) << how << " " << victim << ": " << said;
    else
      EXPECT_NE(status, 0) << said;
    if (GetParam().lives_elsewhere) {
      EXPECT_GE(told(), 4U) << how << " " << victim << ": " << said;
    }
  }
}

// Under the plainest launcher, of what is the same under all: the keeper's is the only word of it.
class OnNodesByHand : public OnNodes {};

std::vector<NodeLauncher> the_plainest() {
  std::vector<NodeLauncher> launchers = node_launchers();
  std::erase_if(launchers, [](const NodeLauncher& each) { return each.name != "Memcached"; });
  return launchers;
}

INSTANTIATE_TEST_SUITE_P(Plainest, OnNodesByHand, testing::ValuesIn(the_plainest()),
                         [](const auto& of) { return of.param.name; });

// The keeper tells whom it takes for living of each death: also those on a machine that is just as gone, whom the system asks no more
// while they owe it an answer.
TEST_P(OnNodesByHand, MachinesThatVanishTogetherAreToldInTime) {
  constexpr std::uint32_t kPeers = 1; // the network by which the processes and the keeper meet
  const std::string file = machines_->folder() / "failed";
  Command command(
      machines_->at(0, Words{find_program("timeout"), "-k", "2", "60"} | GetParam().command(*machines_, {2, 2, 2}) |
                           Words{"/usr/bin/env", "HEDDLE_TCP_NETWORK=10.78.0.0/24", "HEDDLE_TCP_SILENCE=600",
                                 kLaunchedProgram, "hold", file}),
      variables_);
  std::string said;
  while (count_of(said, "ready ") < 6) {
    const std::string line = command.line();
    ASSERT_FALSE(line.empty()) << said;
    said += line + "\n";
  }
  const base::Deadline pulled = base::Clock::now();
  for (const std::uint32_t machine : {2U, 3U}) machines_->pull_cable(machine, kPeers);
  for (const std::uint32_t machine : {2U, 3U}) machines_->kill(machine);
  std::ofstream(file + ".new") << "2 3 4 5\n";
  std::filesystem::rename(file + ".new", file); // whole
  while (count_of(said, " without 4") < 2) {
    const std::string line = command.line();
    ASSERT_FALSE(line.empty()) << said;
    said += line + "\n";
  }
  const std::chrono::duration<double> took = base::Clock::now() - pulled;
  std::printf("told after %.1f s\n", took.count());
  EXPECT_LT(took.count(), 12); // eight, on a machine that is not busy with anything else
  EXPECT_NE(command.status(), 0);
}

// The processes themselves go on, and talk with each other, where the launcher lets them.
TEST_P(OnNodes, ANodeDaemonIsKilled) {
  const std::string daemon = GetParam().node_daemon;
  if (daemon.empty()) GTEST_SKIP() << "it has none";
  if (GetParam().forgets_to_end) GTEST_SKIP() << "mpirun waits for ever for what it has recovered from";
  const std::string file = machines_->folder() / "failed";
  const auto command = run({2, 2, 2}, {"hold", file});
  std::string said;
  while (count_of(said, "ready ") < 6) {
    const std::string line = command->line();
    ASSERT_NE(line, "") << said;
    said += line + "\n";
  }
  const auto daemons = machines_->processes(3, daemon);
  ASSERT_FALSE(daemons.empty()) << daemon;
  for (const pid_t id : daemons) ASSERT_EQ(::kill(id, SIGKILL), 0);
  if (daemon == "orted") { // mpirun ends the job then
    said += command->rest();
    const int status = command->status();
    EXPECT_EQ(status, 205) << said;
    std::ofstream(file).close(); // whom nobody has ended on that machine ends by this
    return;
  }
  std::ofstream(file).close(); // nobody is to have failed
  const auto held = [&](int rank) {
    std::ifstream text(file + "." + std::to_string(rank));
    std::string line;
    return std::getline(text, line) && line == "held " + std::to_string(rank) + " without 0";
  };
  for (int rank = 0; rank < 6; ++rank)
    for (int i = 0; i < 6000 && !held(rank); ++i) ::usleep(5000); // nobody tells
  for (int rank = 0; rank < 6; ++rank) EXPECT_TRUE(held(rank)) << rank << ": " << said;
  if (daemon == "hydra_pmi_proxy") {
    EXPECT_EQ(command->status(), 255) << said;
  }
}

TEST_P(OnNodes, AllEndWhenOneAborts) {
  const auto command = run({2, 2, 2}, {"abort", "3", "9"});
  if (GetParam().forgets_to_end)
    while (!command->line().contains("has ended the job with status 9")) {
    }
  const std::string said = GetParam().forgets_to_end ? "" : command->rest();
  const int status = end_of(*command);
  EXPECT_NE(status, 124) << said;
  EXPECT_NE(status, 0) << said;
}

INSTANTIATE_TEST_SUITE_P(All, OnNodes, testing::ValuesIn(node_launchers()),
                         [](const auto& of) { return of.param.name; });

} // namespace
} // namespace heddle::tests
