// From ibnetdiscover to the wire, on a simulated subnet with a real OpenSM: the tables of `heddle route tables`, the plan from what is
// then discovered, the LIDs that the preloaded library puts into connections, and where ibtracert says that these lead.
#include "tests/opensm/simulated_subnet.hpp"
#include "tests/paths/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace heddle::tests {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;

constexpr const char* kTree = "6-ary-2-tree:30";
constexpr const char* kSome = "0-4,7-10,14-17,20-22,25-28"; // 20 of 30: with base LIDs some links carry two flows
constexpr const char* kAll = "0-29";
constexpr std::uint32_t kLmc = 3;

class PathsOnOpensm : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = SimulatedSubnet::missing(); !why.empty())
      GTEST_SKIP() << why << "; checks/setup installs it";
    ASSERT_EQ(heddle({"route", "tables", "--tree", kTree, "--out", subnet_.folder().string()}).status, 0);
    std::string trouble;
    ASSERT_TRUE(subnet_.start(trouble)) << trouble;
    ASSERT_THAT(subnet_.load_tables(kLmc, 60), IsEmpty());
    job_.write("topology", subnet_.discover());
  }

  // Every connection between the nodes of the job leads by the root that the plan names. How many do not take the first LID.
  std::size_t expect_traces(const char* nodes_of_job) {
    const json paths = json::parse(heddle({"route", "select", "--topology", job_.file("topology"), "--nodes",
                                           nodes_of_job, "--method", "colouring", "--json"})
                                       .out);
    const std::vector<std::uint32_t> nodes = paths.at("nodes");
    std::vector<std::uint32_t> base;
    for (const std::uint32_t node : nodes) base.push_back((node + 1) << kLmc);
    std::size_t moved = 0;
    for (std::size_t s = 0; s < nodes.size(); ++s) {
      const auto lids = connected(base[s], base);
      EXPECT_EQ(lids.size(), nodes.size());
      if (lids.size() != nodes.size()) return 0;
      for (std::size_t d = 0; d < nodes.size(); ++d) {
        if (s == d) continue;
        moved += lids[d] != base[d] ? 1 : 0;
        std::vector<std::string> expected{"leaf" + std::to_string(nodes[s] / 6)};
        if (const json& root = paths.at("roots")[s][d]; !root.is_null()) {
          expected.push_back("root" + std::to_string(root.get<int>()));
          expected.push_back("leaf" + std::to_string(nodes[d] / 6));
        }
        EXPECT_EQ(subnet_.trace(static_cast<routing::Lid>(base[s]), static_cast<routing::Lid>(lids[d])), expected)
            << "host" << nodes[s] << " to host" << nodes[d] << " by LID " << lids[d];
      }
    }
    return moved;
  }

  // The LIDs by which a process on the node connects to all the others, whose base LIDs are these.
  std::vector<std::uint32_t> connected(std::uint32_t own, const std::vector<std::uint32_t>& others) {
    Words command{client("linked")};
    for (const std::uint32_t lid : others) command.push_back("connect:" + std::to_string(lid));
    EXPECT_EQ(job_.run(command, own, {}, kLmc).status, 0);
    std::istringstream record(job_.recorded());
    std::vector<std::uint32_t> lids;
    for (std::string line; std::getline(record, line);)
      lids.push_back(static_cast<std::uint32_t>(std::stoul(line.substr(line.find(" lid ") + 5))));
    return lids;
  }

  SimulatedSubnet subnet_;
  PlannedJob job_;
};

TEST_F(PathsOnOpensm, LeadByTheRootsThatThePlanNames) {
  const Outcome planned = heddle(
      {"paths", "plan", "--topology", job_.file("topology"), "--nodes", kSome, "--out", job_.file("plan"), "--json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(json::parse(planned.out).at("largest"), 1);
  EXPECT_EQ(json::parse(planned.out).at("largest_without"), 2);
  EXPECT_GT(expect_traces(kSome), 100U) << "of 380 connections, by other LIDs than the first";
}

TEST_F(PathsOnOpensm, LeadSoForAllThirtyHosts) {
  const Outcome planned = heddle(
      {"paths", "plan", "--topology", job_.file("topology"), "--nodes", kAll, "--out", job_.file("plan"), "--json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(json::parse(planned.out).at("largest"), 1);
  EXPECT_EQ(expect_traces(kAll), 0U) << "whole leaves need no other LIDs than the first";
}

} // namespace
} // namespace heddle::tests
