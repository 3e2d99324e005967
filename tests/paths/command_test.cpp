// `heddle paths` as users meet it: who the nodes are, what is refused, and what the plan says.
#include "tests/command/command.hpp"
#include "paths/plan_file.hpp"
#include "tests/paths/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A switch with hosts of these names, on ports 1, 2, ...; the first has LIDs 2 and 3, as by `heddle route tables --lmc 1`.
std::string topology(const std::vector<std::string>& hosts, std::uint32_t first_lid = 2) {
  std::string text = "switchguid=0x1(1)\nSwitch\t36 \"S-1\"\t\t# \"leaf\" base port 0 lid 90 lmc 0\n";
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    text += "[" + number + "]\t\"H-" + number + "\"[1](a" + number + ") \t\t# \"" + hosts[i] + "\" lid 4 4xSDR\n";
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    text += "\ncaguid=0xb" + number + "\nCa\t1 \"H-" + number + "\"\t\t# \"" + hosts[i] + "\"\n[1](a" + number +
            ") \t\"S-1\"[" + number + "]\t\t# lid " + std::to_string(first_lid + 2 * i) +
            " lmc 1 \"leaf\" lid 90 4xSDR\n";
  }
  return text;
}

class PathsCommand : public testing::Test {
 protected:
  Outcome plan(const Words& more, const Variables& variables = {}) {
    Words arguments{"paths", "plan", "--topology", job_.file("topology"), "--out", job_.file("plan")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return heddle(arguments, variables);
  }
  // The first LIDs of the nodes of the plan.
  std::vector<std::uint16_t> planned() {
    const auto plan = paths::parse_plan(job_.read("plan"));
    return plan ? plan->lids : std::vector<std::uint16_t>{};
  }
  void expect_nodes(const std::string& nodes, const std::vector<std::uint16_t>& lids, const Variables& variables = {}) {
    const Outcome outcome = plan({"--nodes", nodes}, variables);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(planned(), lids) << nodes;
    std::filesystem::remove(job_.file("plan"));
  }
  void expect_no_plan(const Words& more, const std::string& fact, const Variables& variables = {}) {
    expect_refused("paths plan", plan(more, variables), fact);
    EXPECT_FALSE(std::filesystem::exists(job_.file("plan")));
  }

  PlannedJob job_;
};

TEST_F(PathsCommand, KnowsNodesAsLaunchersNameThem) {
  job_.write("topology", topology({"n1 mlx5_0", "n2 mlx5_0", "n3.cluster mlx5_0", "n4 HCA-1"}));
  expect_nodes("0-1,3", {2, 4, 8});
  expect_nodes("n4,n1", {2, 8});
  expect_nodes("n[2-4]", {4, 6, 8});
  expect_nodes("n2.elsewhere", {4});
  job_.write("hosts", "n3:4 # the first\nn1 slots=8\nn3\n");
  expect_nodes("hostfile:" + job_.file("hosts"), {2, 6});
  expect_nodes("slurm", {2, 4}, {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}});
}

TEST_F(PathsCommand, AsksWhichPortOfANodeIsMeant) {
  job_.write("topology", topology({"n1 mlx5_0", "n1 mlx5_1", "n2 mlx5_0", "n2 mlx5_1"}));
  expect_no_plan({"--nodes", "n1,n2"}, "node 'n1' has 2 ports on the topology: mlx5_0, mlx5_1");
  expect_no_plan({"--nodes", "n1,n2", "--adapter", "mlx5_7"}, "node 'n1' has no adapter 'mlx5_7'");
  ASSERT_EQ(plan({"--nodes", "n1,n2", "--adapter", "mlx5_1"}).status, 0);
  EXPECT_THAT(planned(), ElementsAre(4, 8));
}

TEST_F(PathsCommand, RefusesNodesThatAreNotThere) {
  job_.write("topology", topology({"n1", "n2"}));
  expect_no_plan({"--nodes", "n1,m2"}, "no host of the topology is called 'm2'");
  expect_no_plan({"--nodes", "0-2"}, "node 2 is outside the fabric");
  expect_no_plan({"--nodes", "n["}, "is no list of nodes");
  expect_no_plan({"--nodes", "hostfile:/none"}, "'/none' cannot be opened");
  expect_no_plan({"--nodes", "slurm"}, "this process is in no allocation", {{"SLURM_JOB_ID", ""}});
  expect_no_plan({"--nodes", "pmix"}, "was not started by a launcher that speaks PMIx");
  expect_no_plan({"--nodes", "n1", "--method", "colring"}, "did you mean colouring?");
}

TEST_F(PathsCommand, RefusesLidsThatItsTablesWouldNotGiveOut) {
  job_.write("topology", topology({"n1", "n2"}, 4));
  expect_no_plan({"--nodes", "n1,n2"},
                 "host 'n1' has LID 4 with LMC 1, by the tables of `heddle route tables` it would "
                 "have LID 2 with LMC 1");
  job_.write("topology", topology({"n1", "n2"}, 0));
  expect_no_plan({"--nodes", "n2,n1"}, "host 'n1' has no LID");
}

TEST_F(PathsCommand, AsksPmixForTheJobsNodes) {
  if (!std::filesystem::exists("/usr/bin/mpirun.openmpi")) GTEST_SKIP() << "Open MPI is not installed";
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  job_.write("topology", topology({"n1", std::string(name) + " mlx5_0", "n3"}));
  // Two processes, of which the first alone writes.
  Command job({"/usr/bin/timeout", "-k", "5", "100", "/usr/bin/mpirun.openmpi", "--allow-run-as-root",
               "--oversubscribe", "-n", "2", HEDDLE_PROGRAM, "paths", "plan", "--topology", job_.file("topology"),
               "--nodes", "pmix", "--out", job_.file("plan"), "--json"});
  const std::string said = job.rest();
  ASSERT_EQ(job.status(), 0) << said;
  EXPECT_THAT(planned(), ElementsAre(4)) << said;
  EXPECT_EQ(nlohmann::json::parse(said, nullptr, false).value("nodes", 0), 1) << said;
}

TEST_F(PathsCommand, SaysWhatThePlanIsGoodFor) {
  const Outcome outcome = heddle({"paths", "plan", "--tree", "6-ary-2-tree:30", "--nodes", "0-4,7-10,14-17,20-22,25-28",
                                  "--out", job_.file("plan"), "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto said = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(said.at("nodes"), 20);
  EXPECT_EQ(said.at("largest"), 1);
  EXPECT_EQ(said.at("largest_without"), 2);
  EXPECT_EQ(said.at("bound"), 1);
  const auto plan = paths::parse_plan(job_.read("plan"));
  ASSERT_TRUE(plan) << plan.error().message();
  const auto selected = nlohmann::json::parse(heddle({"route", "select", "--tree", "6-ary-2-tree:30", "--nodes",
                                                      "0-4,7-10,14-17,20-22,25-28", "--method", "colouring", "--json"})
                                                  .out);
  for (std::uint32_t s = 0; s < 20; ++s)
    for (std::uint32_t d = 0; d < 20; ++d)
      EXPECT_EQ(plan->lids[d] + plan->offset(s, d), selected.at("lids")[s][d]) << s << " to " << d;
}

TEST_F(PathsCommand, StartsNothingWithoutAPlan) {
  expect_refused("paths", heddle({"paths", "--", "true"}), "no plan is named");
  expect_refused("paths", heddle({"paths", "--plan", "/none", "--", "true"}), "'/none' cannot be opened");
  job_.write("plan", "this is no plan\n, however long it is");
  expect_refused("paths", heddle({"paths", "--plan", job_.file("plan"), "--", "true"}), "it does not begin with");
  job_.write("plan", paths::to_file(three_nodes()));
  expect_refused("paths", heddle({"paths", "--plan", job_.file("plan")}), "a command is required");
  const Outcome missing = job_.run({"/no/such/program"}, 8);
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.err, "heddle paths: /no/such/program cannot be started: No such file or directory\n");
}

TEST_F(PathsCommand, BecomesTheCommand) {
  job_.write("plan", paths::to_file(three_nodes()));
  EXPECT_EQ(job_.run({"sh", "-c", "exit 7"}, 8).status, 7);
  EXPECT_EQ(heddle({"paths", "echo", "from the variable"}, {{"HEDDLE_PATHS_PLAN", job_.file("plan")}}).out,
            "from the variable\n");
  EXPECT_EQ(job_.run({"printenv", "LD_PRELOAD"}, 8, {{"LD_PRELOAD", HEDDLE_PRELOADED}}).out,
            std::string(HEDDLE_PRELOADED) + ":" + HEDDLE_PRELOADED + "\n");
  const Outcome shell = heddle({"paths", "--plan", job_.file("plan"), "--print-env"});
  EXPECT_THAT(shell.out, HasSubstr("export HEDDLE_PATHS_PLAN='" + job_.file("plan") + "'\n"));
  EXPECT_THAT(shell.out, HasSubstr("export LD_PRELOAD='" + std::string(HEDDLE_PRELOADED) + "'\n"));
}

// Programs that use Heddle themselves run under it, too: its variables are no options of theirs.
TEST_F(PathsCommand, IsNoMatterOfHeddlesOwnPrograms) {
  job_.write("plan", paths::to_file(three_nodes()));
  const Outcome outcome = job_.run({HEDDLE_PROGRAM, "info"}, 8, {{"HEDDLE_PATHS_REPORT", "all"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

} // namespace
} // namespace heddle::tests
