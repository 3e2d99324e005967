// libheddle-paths.so in programs that use libibverbs in every way that programs do: the adapter gets the planned LID, and all else is
// as without it. The adapter is the recorder's (recorder.cpp); versions of symbols are looked at on the system's own libibverbs, too.
#include "tests/command/command.hpp"
#include "tests/paths/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Preload : public testing::Test {
 protected:
  void SetUp() override { job_.write("plan", paths::to_file(three_nodes())); }

  void expect_good(const Outcome& outcome, const std::string& says) {
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.err, says.empty() ? "" : "heddle paths: " + says + "\n");
  }

  PlannedJob job_;
};

// How the clients come to the functions.
class EveryWay : public Preload, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] static Words doing(const Words& actions) {
    Words command =
        GetParam() == std::string("linked") ? Words{client("linked")} : Words{client("opening"), GetParam()};
    command.insert(command.end(), actions.begin(), actions.end());
    return command;
  }
};
INSTANTIATE_TEST_SUITE_P(Of, EveryWay, testing::Values("linked", "dlsym", "dlvsym"),
                         [](const auto& way) { return std::string(way.param); });

TEST_P(EveryWay, ConnectsByThePlannedLidFromTheOneOfTheWayBack) {
  const std::string two = "2 connections and 0 address handles planned";
  expect_good(job_.run(doing({"connect:16", "connect:40"}), 8), two);
  EXPECT_EQ(job_.recorded(), "connect from 8 lid 18 bits 4\nconnect from 8 lid 43 bits 7\n");
  expect_good(job_.run(doing({"connect:8", "connect:40"}), 16), two);
  EXPECT_EQ(job_.recorded(), "connect from 16 lid 12 bits 2\nconnect from 16 lid 46 bits 0\n");
  expect_good(job_.run(doing({"connect:8", "connect:16"}), 40), two);
  EXPECT_EQ(job_.recorded(), "connect from 40 lid 15 bits 3\nconnect from 40 lid 16 bits 6\n");
}

TEST_P(EveryWay, PlansDatagramsAndTheirReplies) {
  expect_good(job_.run(doing({"address:16", "reply:40"}), 8), "0 connections and 2 address handles planned");
  EXPECT_EQ(job_.recorded(), "address from 8 lid 18 bits 1\naddress from 8 lid 43 bits 0\n");
}

TEST_P(EveryWay, LeavesAloneWhatThePlanDoesNotKnow) {
  expect_good(job_.run(doing({"connect:24", "connect:16", "address:7", "connect:0", "address:49152", "other:16"}), 8),
              "1 connections and 0 address handles planned; 2 left alone, to LIDs that the plan does not know; 2 left "
              "alone, by Ethernet or to groups");
  EXPECT_EQ(job_.recorded(),
            "connect from 8 lid 24 bits 1\nconnect from 8 lid 18 bits 4\naddress from 8 lid 7 bits 1\n"
            "connect from 8 lid 0 bits 1\naddress from 8 lid 49152 bits 1\n");
}

TEST_P(EveryWay, TakesAnyOfANodesLidsForTheNode) {
  expect_good(job_.run(doing({"connect:16", "connect:19", "connect:23"}), 8),
              "3 connections and 0 address handles planned");
  const std::string line = "connect from 8 lid 18 bits 4\n";
  EXPECT_EQ(job_.recorded(), line + line + line);
}

// Both ends move to the alternate path at once, so it stays as they have agreed on it.
TEST_P(EveryWay, LeavesTheAlternatePathAlone) {
  expect_good(job_.run(doing({"alternate:16"}), 8), "1 connections and 0 address handles planned");
  EXPECT_EQ(job_.recorded(), "connect from 8 lid 18 bits 4\nalternate from 8 lid 16 bits 1\n");
}

TEST_P(EveryWay, CountsWhatManyThreadsDoAtOnce) {
  expect_good(job_.run(doing({"threads:16"}), 8), "800 connections and 0 address handles planned");
  const std::string text = job_.recorded();
  EXPECT_EQ(text.size(), 800 * std::string("connect from 8 lid 18 bits 4\n").size());
}

TEST_F(Preload, SaysWhenThisPortIsNotInThePlan) {
  expect_good(job_.run({client("linked"), "connect:16"}, 24),
              "0 connections and 0 address handles planned; 1 left alone, from ports that the plan does not know");
  EXPECT_EQ(job_.recorded(), "connect from 24 lid 16 bits 1\n");
}

TEST_F(Preload, PlansNothingOnASubnetWithAnotherLmc) {
  const Outcome outcome = job_.run({client("linked"), "connect:16"}, 8, {}, 0);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err,
              HasSubstr("plan: this port has another LMC: the tables that it was planned for are not those "
                        "of the subnet; nothing is planned\n"));
  EXPECT_EQ(job_.recorded(), "connect from 8 lid 16 bits 1\n");
}

// `heddle paths` would refuse such plans. A program that has got one all the same runs as without.
TEST_F(Preload, RunsProgramsAsWithoutItWhereThePlanIsBad) {
  const std::string good = paths::to_file(three_nodes());
  const auto bad_row = [&good] {
    std::string file = good;
    file[24 + 6 + 1] = 8;
    return file;
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {good.substr(0, good.size() - 1), "its length is not that of a plan"},
      {"", "it cannot be read"},
      {"no plan", "it cannot be read"},
      {std::string(200, 'x'), "it does not begin with 'heddle paths 1'"},
      {bad_row(), "an offset that is not below 2^lmc"}};
  for (const auto& [text, fact] : cases) {
    job_.write("bad", text);
    Command::Variables variables = job_.on(8, 3);
    variables.emplace_back("LD_PRELOAD", HEDDLE_PRELOADED);
    variables.emplace_back("HEDDLE_PATHS_PLAN", job_.file("bad"));
    Command program({client("linked"), "connect:16"}, variables);
    const std::string said = program.rest();
    EXPECT_EQ(program.status(), 0);
    EXPECT_THAT(said, HasSubstr(fact));
    EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
    EXPECT_EQ(job_.recorded(), "connect from 8 lid 16 bits 1\n");
  }
}

TEST_F(Preload, IsSilentInProgramsWithoutInfiniBand) {
  const Outcome outcome =
      job_.run({"sh", "-c", "echo hello | cat; ls / >/dev/null; printenv HEDDLE_PATHS_PLAN | wc -l"}, 8);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "hello\n1\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Preload, SpeaksForRankZeroAloneUnlessAskedOtherwise) {
  const Words command{client("linked"), "connect:16"};
  const std::string one = "1 connections and 0 address handles planned";
  for (const char* rank : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "HEDDLE_RANK", "SLURM_PROCID"}) {
    expect_good(job_.run(command, 8, {{rank, "0"}}), one);
    expect_good(job_.run(command, 8, {{rank, "1"}}), "");
    expect_good(job_.run(command, 8, {{rank, "1"}, {"HEDDLE_PATHS_REPORT", "all"}}), one);
    expect_good(job_.run(command, 8, {{rank, "0"}, {"HEDDLE_PATHS_REPORT", "none"}}), "");
  }
}

TEST_F(Preload, SaysThatNobodyConnected) {
  expect_good(job_.run({client("linked"), "other:16"}, 8),
              "0 connections and 0 address handles planned: libibverbs is loaded, and no call to connect came by");
}

TEST_F(Preload, CountsConnectionsThatAreMadePastLibibverbs) {
  expect_good(job_.run({client("opening"), "commands"}, 8,
                       {{"LD_LIBRARY_PATH", HEDDLE_STAND_INS + std::string(":") + HEDDLE_STAND_INS + "/mlx5"}}),
              "0 connections and 0 address handles planned; 2 past libibverbs (DEVX), which cannot be planned: set "
              "UCX_IB_MLX5_DEVX=n");
}

TEST_F(Preload, TurnsThatWayOfUcxOffUnlessTheUserHasSaidSomething) {
  const Words command{"sh", "-c", "echo $UCX_IB_MLX5_DEVX"};
  EXPECT_EQ(job_.run(command, 8).out, "n\n");
  EXPECT_EQ(job_.run(command, 8, {{"UCX_IB_MLX5_DEVX", "y"}}).out, "y\n");
}

TEST_F(Preload, WritesNothingIntoAFileThatTookThePlaceOfStderr) {
  const Outcome outcome = job_.run({client("linked"), "connect:16", "stderr"}, 8);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(job_.read("replaced"), "");
  EXPECT_TRUE(std::filesystem::exists(job_.file("replaced")));
}

TEST_F(Preload, CountsForAProcessAndNotForItsChildren) {
  expect_good(job_.run({client("linked"), "connect:16", "fork:40"}, 8), "1 connections and 0 address handles planned");
  EXPECT_EQ(job_.recorded(), "connect from 8 lid 18 bits 4\nconnect from 8 lid 43 bits 7\n");
}

TEST_F(Preload, LeavesTheQuestionForTheNextFunctionToWhoAsks) {
  Command without({client("opening"), "next"}, job_.on(8, 3));
  const std::string expected = without.rest();
  EXPECT_THAT(expected, StartsWith("2 "));
  EXPECT_EQ(job_.run({client("opening"), "next"}, 8).out, expected);
}

// --- on the system's own libibverbs, which finds no adapter here ---

void expect_names(const std::string& names, const std::string& verbs) {
  for (const char* replaced : {"ibv_modify_qp", "ibv_create_ah", "ibv_create_ah_from_wc"})
    EXPECT_THAT(names, HasSubstr(std::string(replaced) + " libheddle-paths.so libheddle-paths.so\n"));
  EXPECT_THAT(names, HasSubstr("ibv_create_qp " + verbs + " " + verbs + "\n"));
  EXPECT_THAT(names, HasSubstr("no_such none none\n"));
  EXPECT_THAT(names, HasSubstr("1.0 " + verbs + "\n")) << "its structures are others";
  EXPECT_THAT(names, HasSubstr("default libheddle-paths.so\n"));
}

TEST_F(Preload, StandsBeforeTheRecorderByAllWaysOfAsking) {
  expect_names(job_.run({client("opening"), "names"}, 8).out, "libibverbs.so.1");
}

TEST_F(Preload, StandsBeforeTheSystemsLibibverbsByAllWaysOfAsking) {
  const Variables real{{"LD_LIBRARY_PATH", ""}};
  const std::string names = job_.run({client("opening"), "names"}, 8, real).out;
  expect_names(names, "libibverbs.so.1");
  EXPECT_EQ(job_.run({client("linked")}, 8, real).out, "libheddle-paths.so\n");
}

TEST_F(Preload, IsNotThereWithoutHeddlePaths) {
  Command linked({client("linked")}, {});
  EXPECT_THAT(linked.rest(), Not(HasSubstr("heddle")));
  Command opening({client("opening"), "names"}, {});
  EXPECT_THAT(opening.rest(), Not(HasSubstr("heddle")));
}

} // namespace
} // namespace heddle::tests
