// `heddle perf` as scripts meet it: the shape of its JSON, and its refusals. Figures are not judged here.
#include "tests/tools/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace heddle::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json results_of(const std::vector<std::string>& arguments) {
  const Outcome outcome = heddle(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(is_one_line(outcome.out)) << outcome.out;
  json object = json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << outcome.out;
  EXPECT_EQ(object.at("via"), "shm");
  return object.at("results");
}

TEST(Perf, SaysWhichOfSeveralTranslatorsHasServedIt) {
  for (const auto& [given, served_by] : {std::pair("tcp,shm", "tcp"), std::pair("shm,tcp", "shm")}) {
    const Outcome outcome = heddle({"perf", "latency", "--via", given, "--bytes", "8", "--repetitions", "1", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out, nullptr, false).at("via"), served_by);
  }
}

TEST(Perf, GivesLatencyWithItsTail) {
  const json results = results_of({"perf", "latency", "--bytes", "8,1KiB", "--repetitions", "1", "--json"});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results.at(0).at("bytes"), 8);
  EXPECT_EQ(results.at(1).at("bytes"), 1024);
  for (const json& result : results) {
    EXPECT_GT(result.at("median_us").get<double>(), 0);
    EXPECT_GT(result.at("p99_us").get<double>(), 0);
  }
}

TEST(Perf, MakesFewerRoundTripsOfLargeMessages) {
  const json results = results_of({"perf", "latency", "--bytes", "4MiB", "--repetitions", "1", "--json"});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_GE(results.at(0).at("operations").get<int>(), 2);
  EXPECT_LT(results.at(0).at("operations").get<int>(), 20'000); // which would take half a minute
}

TEST(Perf, MeasuresEveryOneSidedRow) {
  for (const char* what : {"push", "push-rate", "push-bandwidth", "pull", "fetch-add", "lock"}) {
    SCOPED_TRACE(what);
    const json results = results_of({"perf", what, "--bytes", "8", "--repetitions", "1", "--json"});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_GT(results.at(0).at("lowest").get<double>(), 0);
    EXPECT_GT(results.at(0).at("operations").get<int>(), 0);
  }
}

TEST(Perf, ExchangesAmongAll) {
  const json results = results_of({"perf", "alltoall", "-n", "3", "--bytes", "0,1MiB", "--repetitions", "1", "--json"});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_GT(results.at(1).at("median_us").get<double>(), 0);
}

TEST(Perf, MeasuresAllProcessesTogether) {
  for (const auto& [what, figure] :
       {std::pair("barrier", "median_us"), std::pair("random", "median_per_s"), std::pair("memory", "median_kib")}) {
    SCOPED_TRACE(what);
    const json results = results_of({"perf", what, "-n", "3", "--repetitions", "1", "--json"});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_GT(results.at(0).at(figure).get<double>(), 0);
  }
}

TEST(Perf, MeasuresMatchingOfEveryKindAlsoWhereOthersWait) {
  for (const char* what : {"match-posted", "match-unexpected", "match-posted-masked", "match-unexpected-masked"}) {
    SCOPED_TRACE(what);
    const json results = results_of({"perf", what, "-n", "3", "--repetitions", "1", "--json"});
    ASSERT_EQ(results.size(), 1U);
    EXPECT_GT(results.at(0).at("median_us").get<double>(), 0);
    EXPECT_EQ(results.at(0).at("operations"), 10'000);
  }
}

TEST(Perf, TimesWholeJobsThatJoinAndLeave) {
  const Outcome outcome = heddle({"perf", "join", "-n", "3", "--repetitions", "2", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json object = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(object.at("processes"), 3);
  EXPECT_GT(object.at("results").at(0).at("median_ms").get<double>(), 0);
  const Outcome inside = heddle({"run", "-n", "2", HEDDLE_PROGRAM, "perf", "join"});
  EXPECT_EQ(inside.status, 0) << inside.err;
  EXPECT_EQ(inside.out, "");
}

TEST(Perf, RefusesSizesThatMeanNothing) {
  expect_refused("perf", heddle({"perf", "barrier", "--bytes", "8"}), "--bytes: 8 means nothing here");
  expect_refused("perf", heddle({"perf", "match-posted", "--bytes", "64"}), "--bytes: 64 means nothing here");
  expect_refused("perf", heddle({"perf", "fetch-add", "--bytes", "1MiB"}), "--bytes: 1MiB means nothing here");
  expect_refused("perf", heddle({"perf", "lock", "--bytes", "8,64"}), "--bytes: 64 means nothing here");
  expect_refused("perf", heddle({"perf", "push", "--bytes", "4"}), "--bytes: 4 means nothing here");
  expect_refused("perf", heddle({"perf", "bandwidth", "--bytes", "0"}), "--bytes: 0 means nothing here");
}

TEST(Perf, GivesTheRateOfMessages) {
  const json results = results_of({"perf", "rate", "--repetitions", "1", "--json"});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_GT(results.at(0).at("median_per_s").get<double>(), 0);
}

TEST(Perf, GivesBandwidthUnderALauncherToo) {
  const json results = results_of(
      {"run", "-n", "2", HEDDLE_PROGRAM, "perf", "bandwidth", "--bytes", "64KiB", "--repetitions", "1", "--json"});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_GT(results.at(0).at("median_mb_s").get<double>(), 0);
  EXPECT_LE(results.at(0).at("lowest"), results.at(0).at("highest"));
}

TEST(Perf, RefusesBadArgumentsInOneLine) {
  expect_refused("perf", heddle({"perf"}), "what");
  expect_refused("perf", heddle({"perf", "speed"}), "speed");
  expect_refused("perf", heddle({"perf", "latency", "--bytes", "8,x"}), "--bytes: ");
  expect_refused("perf", heddle({"perf", "latency", "--bytes", ""}), "--bytes: ");
  expect_refused("perf", heddle({"perf", "latency", "--bytes", "100TiB"}), "--bytes: 100TiB is more than ");
  expect_refused("perf", heddle({"perf", "latency", "--repetitions", "0"}), "--repetitions");
  expect_refused("perf", heddle({"perf", "latency", "-n", "1"}), "-n");
}

TEST(Perf, RefusesAnUnknownTranslatorInOneLine) {
  expect_refused("perf", heddle({"perf", "latency", "--via", "nonsense"}), "'nonsense', which is not a translator");
}

TEST(Perf, RefusesAnUnknownOptionInOneLine) {
  expect_refused("perf", heddle({"perf", "latency"}, {{"HEDDLE_WAITIN", "spin"}}), "did you mean HEDDLE_WAITING?");
}

} // namespace
} // namespace heddle::tests
