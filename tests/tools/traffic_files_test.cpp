// Users' own traffic as scripts meet it: files of puts for `heddle route load`, recorded jobs for `heddle sim`.
#include "tests/tools/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

namespace heddle::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A file of this test, gone with it.
class File {
 public:
  explicit File(const std::string& text = {})
      : path_(testing::TempDir() + "heddle_traffic_" + std::to_string(::getpid()) + "_" + std::to_string(++count_)) {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static inline int count_ = 0;
  std::string path_;
};

std::vector<std::string> load(const std::string& pattern, const std::string& method = "conventional") {
  return {"route",    "load", "--tree",    "3-ary-2-tree", "--nodes", "3,5,6,9",
          "--method", method, "--pattern", pattern,        "--json"};
}

// The report's second figure: nodes 3 and 5 send to 6 and 9, both by the first root.
TEST(RouteLoad, ShowsWhatPutsOfAFileDoToLinks) {
  const File puts("from,to,bytes,stage\n0,2,1MiB,4\n1,3,1MiB,4\n2,0,8,9\n");
  const Outcome hot = heddle(load(puts.path()));
  EXPECT_EQ(hot.status, 1) << hot.err;
  const json report = json::parse(hot.out);
  ASSERT_EQ(report.at("stages").size(), 2U) << "two numbers of stages";
  EXPECT_EQ(report.at("stages")[0].at("largest"), 2);
  EXPECT_EQ(report.at("stages")[1].at("largest"), 1);
  ASSERT_EQ(report.at("hot_spots").size(), 1U);
  EXPECT_EQ(report.at("hot_spots")[0].at("link"), "leaf1->root0");
  EXPECT_EQ(heddle(load(puts.path(), "colouring")).status, 0) << "colouring keeps them apart";
}

TEST(RouteLoad, DealsPutsWithoutStagesToTheFewest) {
  const File puts(R"([{"to": 1}, {"to": 2}, {"from": 1, "to": 2}, {"from": 3, "to": 2}, {"from": 3, "to": 1}])");
  const Outcome outcome = heddle(load(puts.path()));
  ASSERT_NE(outcome.status, 2) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).at("stages").size(), 3U) << "node 2 receives three times";
}

TEST(RouteLoad, NamesThePlaceOfWhatIsWrongInAFileOfPuts) {
  const auto refused = [](const std::string& text, const std::string& fact) {
    const File puts(text);
    std::vector<std::string> arguments = load(puts.path());
    expect_refused("route load", heddle(arguments), puts.path() + ": " + fact);
  };
  refused("from,to\n0,4\n", "line 2, column 3: there is no node 4: the job has nodes 0 to 3");
  refused("from,to\n0,1\n2,2\n", "line 3, column 3: node 2 puts to itself");
  refused("direction,bytes\neast,8\n", "line 2, column 1: a tree has no directions");
  refused("from,to,stage\n0,1,1\n0,2,1\n", "line 3, column 1: node 0 sends twice in stage 1");
  refused("from,to,stage\n0,1,1\n2,1,1\n", "line 3, column 1: node 1 receives twice in stage 1");
  refused("from,to,stage\n0,1,1\n2,3,\n", "line 3, column 1: a put without stage");
  refused("from,to,stage\n0,1,\n2,3,1\n", "line 3, column 5: a stage: expected one for every put, or for none");
  const File puts("from,to,bytes,stage\n0,1,8,1\n");
  expect_refused("schedule", heddle({"schedule", "--pattern", puts.path()}), "line 2, column 7: a stage");
}

json replayed(const std::string& job, const std::string& fabric, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"sim", "--trace-in", job, "--fabric", fabric, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = heddle(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.status == 0 ? json::parse(outcome.out) : json();
}

TEST(SimTraceIn, TakesAsLongAsWhatWasRecorded) {
  for (const char* workload : {"ping-pong", "stream", "all-to-all", "halo", "random"})
    for (const char* fabric : {"infiniband:2-ary-2-tree", "tofu:1x1x1"}) {
      SCOPED_TRACE(std::string(workload) + " on " + fabric);
      const File job;
      const Outcome outcome = heddle({"sim", workload, "--fabric", fabric, "-n", "8", "--bytes", "20000", "--rounds",
                                      "3", "--record", job.path(), "--json"});
      ASSERT_EQ(outcome.status, 0) << outcome.err;
      const json recorded = json::parse(outcome.out).at("results")[0];
      const json again = replayed(job.path(), fabric);
      EXPECT_EQ(again.at("job_us"), recorded.at("job_us"));
      EXPECT_EQ(again.at("packet_hops"), recorded.at("packet_hops"));
      EXPECT_EQ(again.at("processes"), 8);
      EXPECT_NE(replayed(job.path(), "rhinet:star:8").at("job_us"), recorded.at("job_us")) << "another network";
    }
}

TEST(SimModel, IsFluidWhereThatIsAskedFor) {
  const auto ran = [](const char* model, const char* bytes) {
    const Outcome outcome = heddle({"sim", "stream", "--fabric", "infiniband:2-ary-2-tree", "--model", model, "--bytes",
                                    bytes, "--rounds", "2", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const json object = json::parse(outcome.out);
    EXPECT_EQ(object.at("model"), model);
    return object.at("results").at(0);
  };
  const json packets = ran("packets", "1MiB");
  const json fluid = ran("fluid", "1MiB");
  EXPECT_NEAR(fluid.at("round_us").get<double>(), packets.at("round_us").get<double>(),
              0.25 * packets.at("round_us").get<double>());
  EXPECT_LT(fluid.at("packet_hops").get<double>(), packets.at("packet_hops").get<double>() / 10)
      << "flows, not packets";
  EXPECT_NE(heddle({"sim", "halo", "--fabric", "tofu:1x1x1", "--model", "liquid"}).status, 0);
}

TEST(SimTraceIn, ComputesAndWaitsAsTheFileSays) {
  const auto us = [](const char* compute) {
    const File job("rank,does,with,bytes,tag,us\n0,compute,,,," + std::string(compute) +
                   "\n0,send,1,8,5,\n1,receive,,8,5,\n1,wait,,,,\n");
    return replayed(job.path(), "infiniband:2-ary-2-tree").at("job_us").get<double>();
  };
  EXPECT_NEAR(us("1000") - us("500"), 500, 1) << "the receiver waits for the sender, who computes";
}

TEST(SimTraceIn, NamesWhatIsWrong) {
  const auto refused = [](const std::string& text, const std::string& fact) {
    const File job(text);
    expect_refused("sim", heddle({"sim", "--trace-in", job.path(), "--fabric", "infiniband:2-ary-2-tree"}), fact);
  };
  refused("rank,does\n0,dance\n", "line 2, column 3: does is 'dance'");
  refused("rank,does,with,bytes\n0,send,1,8\n", "line 2, column 8: rank 1 does nothing");
  const File longer("rank,does,with,bytes\n0,send,1,64\n1,receive,0,8\n");
  const Outcome truncated = heddle({"sim", "--trace-in", longer.path(), "--fabric", "infiniband:2-ary-2-tree"});
  EXPECT_NE(truncated.status, 0);
  EXPECT_THAT(truncated.err, HasSubstr("line 3 of the job: ended with truncated"));
  const File lonely("rank,does,with,bytes\n0,receive,1,8\n1,compute,,\n");
  EXPECT_NE(heddle({"sim", "--trace-in", lonely.path(), "--fabric", "infiniband:2-ary-2-tree"}).status, 0);
  const File waits("rank,does,with,bytes\n0,receive,1,8\n1,receive,0,8\n");
  const Outcome stuck = heddle({"sim", "--trace-in", waits.path(), "--fabric", "infiniband:2-ary-2-tree"});
  EXPECT_NE(stuck.status, 0) << "both wait for what nobody sends";
  EXPECT_THAT(stuck.err, HasSubstr("rank 0"));
  const Outcome both = heddle({"sim", "halo", "--trace-in", waits.path(), "--fabric", "infiniband:2-ary-2-tree"});
  EXPECT_EQ(both.status, 2);
  EXPECT_EQ(heddle({"sim", "--fabric", "infiniband:2-ary-2-tree"}).status, 2);
}

} // namespace
} // namespace heddle::tests
