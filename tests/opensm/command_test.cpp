// `heddle route` and `heddle reproduce fat-tree` as users and scripts meet them. Needs no subnet.
#include "tests/tools/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace heddle::tests {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

json object_of(const Outcome& outcome) {
  // What takes long on a busy machine says how far it is.
  EXPECT_THAT(outcome.err, MatchesRegex("(heddle reproduce: fat-tree/[^\n]*\n)*"));
  EXPECT_TRUE(is_one_line(outcome.out));
  json object = json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << outcome.out;
  return object;
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& fact) {
  const Outcome outcome = heddle(arguments);
  EXPECT_EQ(outcome.status, 2) << fact;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(fact));
}

TEST(RouteCommand, SelectsRootsAndLids) {
  const json found = object_of(
      heddle({"route", "select", "--tree", "3-ary-2-tree", "--nodes", "9,3,5,6", "--method", "node", "--json"}));
  EXPECT_EQ(found.at("nodes"), json({3, 5, 6, 9}));
  EXPECT_EQ(found.at("lmc"), 2);
  EXPECT_TRUE(found.at("roots")[0][1].is_null()) << "one leaf";
  EXPECT_EQ(found.at("roots")[0][3], 1) << "Nln = 2 divides 4: local node 3 by root 3 mod 2";
  EXPECT_EQ(found.at("lids")[0][3], 4 * (9 + 1) + 1);
  EXPECT_EQ(found.at("roots")[3][1], 1) << "local node 1, host 5";
  EXPECT_EQ(found.at("lids")[3][1], 4 * (5 + 1) + 2) << "host 5 begins with root 2: root 1 is two further";
  const json report = object_of(heddle({"route", "select", "--tree", "3-ary-2-tree", "--nodes", "9,3,5,6", "--method",
                                        "node", "--lids", "report", "--json"}));
  EXPECT_EQ(report.at("roots"), found.at("roots"));
  EXPECT_EQ(report.at("lids")[3][1], 4 * (5 + 1) + 1) << "BaseLID + root";
}

TEST(RouteCommand, WritesNoTablesThatLeaveHostsApart) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("heddle_apart_" + std::to_string(::getpid()));
  const Outcome outcome =
      heddle({"route", "tables", "--tree", "2-ary-2-tree", "--failed", "root0,root1", "--out", folder});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(is_one_line(outcome.err)) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("packets from host0 to host2 do not arrive"));
  EXPECT_FALSE(std::filesystem::exists(folder));
  expect_refused({"route", "tables", "--tree", "2-ary-2-tree", "--failed", "leaf0,leaf1,leaf2,leaf3", "--out", folder},
                 "no host is left");
}

TEST(RouteCommand, TakesTheSeedThatIsWrittenOrNone) {
  const auto sweep = [](const std::string& seed) {
    return std::vector<std::string>{"route", "sweep",     "--tree", "6-ary-2-tree:30", "--pick", "4", "--sets",
                                    "1",     "--methods", "node",   "--seed",          seed};
  };
  for (const char* seed : {"18446744073709551616", "99999999999999999999999", "-1", "", "1.5", "one"})
    expect_refused(sweep(seed), "is no seed: expected a whole number up to 18446744073709551615");
  EXPECT_THAT(heddle(sweep("18446744073709551615")).out, HasSubstr("seed 18446744073709551615\n"));
  EXPECT_THAT(heddle(sweep("010")).out, HasSubstr("seed 10\n"));
  expect_refused({"sim", "random", "--fabric", "tofu:1x1x1", "--seed", "18446744073709551616"}, "is no seed");
}

TEST(SimCommand, RefusesAMethodThatIsNotThere) {
  for (const char* fabric : {"tofu:1x1x1", "infiniband:2-ary-2-tree"})
    expect_refused({"sim", "ping-pong", "--fabric", fabric, "--paths", "zz"},
                   "bad_option: --paths: no method is called 'zz', did you mean node? (remedy: expected conventional, "
                   "node, pair or colouring)");
}

TEST(SimCommand, PlansForTheRuleThatTheFabricNames) {
  const auto time = [](const std::string& rule, const std::string& method) {
    return object_of(heddle({"sim", "all-to-all", "--fabric", "infiniband:6-ary-2-tree:30,lmc=3,lids=" + rule,
                             "--nodes", "0-17", "--bytes", "64KiB", "--rounds", "2", "--paths", method, "--json"}))
        .at("results")[0]
        .at("round_us")
        .get<double>();
  };
  for (const char* method : {"conventional", "colouring"})
    EXPECT_NEAR(time("report", method), time("conventional", method), 0.1 * time("conventional", method)) << method;
}

TEST(RouteCommand, SelectsNothingThatLeadsNowhere) {
  const Outcome outcome = heddle({"route", "select", "--tree", "2-ary-2-tree", "--failed", "root0,root1", "--nodes",
                                  "0,2", "--method", "colouring", "--json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("unreachable"));
}

TEST(RouteCommand, NamesHotSpotsAndAnswersInItsStatus) {
  const Outcome outcome =
      heddle({"route", "load", "--tree", "3-ary-2-tree", "--nodes", "3,5,6,9", "--method", "conventional", "--json"});
  EXPECT_EQ(outcome.status, 1);
  const json found = object_of(outcome);
  EXPECT_EQ(found.at("hot_spots"), json::parse(R"([{"shift": 2, "link": "leaf1->root0", "load": 2}])"));
  EXPECT_EQ(found.at("stages")[1].at("largest"), 2);
  EXPECT_EQ(heddle({"route", "load", "--tree", "3-ary-2-tree", "--nodes", "3,5,6,9"}).status, 0);
}

TEST(RouteCommand, PrintsTheBoundOfDamagedAndOversubscribedTrees) {
  const json half = object_of(heddle({"route", "load", "--tree", "4-ary-2-tree,hosts=8", "--nodes", "0-31", "--json"}));
  EXPECT_EQ(half.at("bound"), 2);
  EXPECT_EQ(half.at("largest"), 2);
  const json cut = object_of(
      heddle({"route", "load", "--tree", "4-ary-2-tree", "--nodes", "0-7", "--failed", "root0,root1", "--json"}));
  EXPECT_EQ(cut.at("bound"), 2);
  EXPECT_EQ(cut.at("largest"), 2);
}

TEST(RouteCommand, ReadsPatternsFromFiles) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("heddle_pattern_" + std::to_string(::getpid()));
  std::ofstream(file) << "2 3 0 1\n3 2 - 0\n";
  const std::vector<std::string> arguments{"route",   "load",    "--tree",    "3-ary-2-tree",
                                           "--nodes", "0,1,3,4", "--pattern", file};
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  EXPECT_EQ(object_of(heddle(with_json)).at("stages")[1].at("stage"), 2);
  std::ofstream(file) << "2 3 0 1\n3 3 - 0\n";
  expect_refused(arguments, "line 2: two nodes send to node 3");
  std::filesystem::remove(file);
}

TEST(RouteCommand, ShowsSeveralJobsAloneAndTogether) {
  const json found = object_of(
      heddle({"route", "load", "--tree", "6-ary-2-tree:30", "--job", "0-2,6-8", "--job", "3-5,9-11", "--json"}));
  EXPECT_EQ(found.at("together").at("any_step"), 1);
  EXPECT_EQ(found.at("together").at("separate"), true);
  EXPECT_EQ(found.at("alone").at("any_step"), 2);
  expect_refused({"route", "load", "--tree", "6-ary-2-tree:30", "--job", "0-2", "--job", "2-5"},
                 "node 2 is in job 1 and in job 2");
}

TEST(RouteCommand, SweepsAllMethods) {
  const json found = object_of(
      heddle({"route", "sweep", "--tree", "6-ary-2-tree:30", "--pick", "16", "--sets", "50", "--seed", "1", "--json"}));
  const json& methods = found.at("methods");
  EXPECT_EQ(methods.size(), 4U);
  EXPECT_EQ(methods.at("colouring").at("hot_spot_free"), 50);
  EXPECT_LT(methods.at("conventional").at("average"), methods.at("node").at("average"));
  for (const char* member : {"sets", "best", "worst", "average_mb_s", "best_mb_s", "worst_mb_s", "above_1500"})
    EXPECT_TRUE(methods.at("pair").contains(member)) << member;
}

TEST(RouteCommand, SaysInOneLineWhatIsWrong) {
  const auto load = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"route", "load"});
    return more;
  };
  expect_refused(load({"--tree", "6-ary-2-tree:30", "--nodes", "0,0"}), "node 0 is listed twice");
  expect_refused(load({"--tree", "6-ary-2-tree:30", "--nodes", "0-30"}), "node 30 is outside the fabric");
  expect_refused(load({"--tree", "6-ary-2-tree:30", "--nodes", "0-3,x"}), "'x' is neither a node nor a range");
  expect_refused(load({"--tree", "6-arry-2-tree", "--nodes", "0"}), "does not begin with K-ary-");
  expect_refused(load({"--tree", "6-ary-2-tree", "--nodes", "0", "--method", "colring"}), "did you mean colouring?");
  expect_refused(load({"--tree", "6-ary-2-tree", "--nodes", "0-3", "--failed", "leef0"}), "did you mean leaf0?");
  expect_refused(load({"--tree", "6-ary-2-tree", "--nodes", "0-3", "--pattern", "/no/such"}),
                 "file '/no/such' cannot be opened");
  expect_refused(load({"--topology", "/", "--nodes", "0"}), "file '/' is a folder");
  expect_refused(load({"--nodes", "0"}), "--tree");
  expect_refused({"route", "tables", "--tree", "6-ary-2-tree", "--lmc", "8", "--out", "/tmp"}, "lmc 8 is out of range");
  expect_refused({"route", "tables", "--tree", "36-ary-2-tree", "--lmc", "5", "--out", "/tmp"},
                 "a subnet has them up to 49151");
  expect_refused({"route", "tables", "--tree", "36-ary-2-tree", "--lids", "report", "--out", "/tmp"},
                 "the report's rule needs a LID for every up-path");
  expect_refused({"route", "tables", "--tree", "6-ary-2-tree", "--lids", "own", "--out", "/tmp"},
                 "--lids: no LID rule is called 'own'");
  expect_refused({"route", "tables", "--tree", "6-ary-2-tree", "--out", "/proc/none"}, "cannot make the folder");
  expect_refused({"route", "sweep", "--tree", "6-ary-2-tree:30", "--pick", "31", "--sets", "1"},
                 "cannot pick 31 nodes");
  expect_refused({"reproduce", "fatree"}, "did you mean fat-tree?");
}

TEST(ReproduceCommand, IsWithinFivePercentOfTheReportsSpeedsOrWhatDrawingsDiffer) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("heddle_charts_" + std::to_string(::getpid()));
  json figures = json::array();
  for (const char* part : {"fat-tree/random16", "fat-tree/contiguous"}) {
    const json found = object_of(heddle({"reproduce", "--only", part, "--json", "--svg", folder}));
    figures.insert(figures.end(), found.at("figures").begin(), found.at("figures").end());
  }
  int compared = 0;
  int counts = 0;
  for (const json& figure : figures) {
    if (figure.at("unit") == "sets" && figure.contains("verdict") && figure.at("verdict") != "known miss") {
      EXPECT_EQ(figure.at("verdict"), "holds") << figure.at("id");
      ++counts;
    }
    if (figure.at("report").is_null() || figure.at("unit") != "MB/s") continue;
    ++compared;
    if (figure.at("id").get<std::string>().ends_with("/worst")) { // the tolerance says how far drawings of sets differ
      EXPECT_EQ(figure.at("verdict"), "holds") << figure.at("id");
      continue;
    }
    const double report = figure.at("report");
    EXPECT_NEAR(figure.at("ours").get<double>(), report, 0.05 * report) << figure.at("id");
  }
  EXPECT_EQ(compared, 8);
  EXPECT_EQ(counts, 2) << "how many sets are above 1,500 MB/s";
  for (const char* chart : {"fat-tree-random16.svg", "fat-tree-contiguous.svg"}) {
    std::ifstream file(folder / chart);
    std::string first;
    std::getline(file, first);
    EXPECT_THAT(first, HasSubstr("<svg")) << chart;
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace heddle::tests
