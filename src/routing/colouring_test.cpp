// Tries to break what colouring promises, with the load checker, which follows the tables and knows nothing of colouring.
#include "routing/methods.hpp"

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using testing::load_of;
using testing::random_job;
using testing::shift_load;
using testing::subnet_of;

void expect_free(const Subnet& subnet, const JobHosts& job, const std::string& what) {
  const LoadReport report = shift_load(subnet, job, Method::colouring);
  ASSERT_TRUE(report.hot_spots.empty()) << what << ", " << job.nodes() << " nodes: load " << report.overall()
                                        << " at distance " << report.hot_spots.front().stage + 1;
}

// Largest load equals the bound at every stage, whatever it is.
void expect_bound_met(const Subnet& subnet, const JobHosts& job, const std::string& what) {
  const LoadReport report = shift_load(subnet, job, Method::colouring);
  EXPECT_EQ(report.largest, report.bound) << what << ", " << job.nodes() << " nodes";
}

TEST(Colouring, LeavesNoHotSpotOnTwoLevelsForAnySetOfNodes) {
  std::mt19937 dice(4);
  for (const char* tree :
       {"1-ary-2-tree", "2-ary-2-tree", "3-ary-2-tree", "5-ary-2-tree:43", "6-ary-2-tree:30", "8-ary-2-tree,links=2",
        "12-ary-2-tree,links=4", "7-ary-2-tree,hosts=3", "18-ary-2-tree:200"}) {
    const Subnet subnet = subnet_of(tree);
    const std::size_t hosts = subnet.fabric.hosts.size();
    for (int set = 0; set < 40; ++set) expect_free(subnet, random_job(subnet, 1 + dice() % hosts, dice), tree);
    expect_free(subnet, whole_job(subnet.fabric), tree);
  }
}

TEST(Colouring, LeavesNoHotSpotForEverySubsetOfASmallTree) {
  const Subnet subnet = subnet_of("3-ary-2-tree:12");
  for (std::uint32_t members = 1; members < 1U << 12U; ++members) {
    std::vector<HostIndex> hosts;
    for (HostIndex host = 0; host < 12; ++host)
      if ((members >> host & 1U) != 0) hosts.push_back(host);
    expect_free(subnet, make_job(subnet.fabric, hosts).value(), "3-ary-2-tree:12");
  }
}

TEST(Colouring, HandlesMoreThan64Roots) {
  const Subnet subnet = subnet_of("70-ary-2-tree:300");
  std::mt19937 dice(5);
  for (int set = 0; set < 5; ++set) expect_free(subnet, random_job(subnet, 150, dice), "70-ary-2-tree:300");
}

TEST(Colouring, LeavesNoHotSpotOnThreeAndFourLevels) {
  std::mt19937 dice(6);
  for (const char* tree : {"2-ary-3-tree", "3-ary-3-tree", "4-ary-3-tree:90", "2-ary-4-tree", "3-ary-4-tree:100",
                           "4-ary-3-tree,links=2"}) {
    const Subnet subnet = subnet_of(tree);
    const std::size_t hosts = subnet.fabric.hosts.size();
    for (int set = 0; set < 12; ++set) expect_free(subnet, random_job(subnet, 2 + dice() % hosts, dice), tree);
    expect_free(subnet, whole_job(subnet.fabric), tree);
  }
}

TEST(Colouring, ReachesTheSmallestLoadOfOversubscribedTrees) {
  std::mt19937 dice(7);
  for (const char* tree : {"4-ary-2-tree,hosts=8", "6-ary-2-tree,hosts=12,uplinks=5", "4-ary-2-tree,hosts=7,links=2"}) {
    const Subnet subnet = subnet_of(tree);
    for (int set = 0; set < 20; ++set) expect_bound_met(subnet, random_job(subnet, 2 + dice() % 40, dice), tree);
    expect_bound_met(subnet, whole_job(subnet.fabric), tree);
  }
}

TEST(Colouring, StaysCloseToTheBoundOnOversubscribedDeepTrees) {
  const Subnet subnet = subnet_of("4-ary-3-tree,hosts=6,uplinks=2");
  std::mt19937 dice(8);
  for (int set = 0; set < 4; ++set) {
    const LoadReport report = shift_load(subnet, random_job(subnet, 60, dice), Method::colouring);
    EXPECT_LE(report.overall(), report.overall_bound() + 1);
  }
}

TEST(Colouring, PlansAroundFailedRootsAndHosts) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30", {}, "root2,host4,host11");
  std::mt19937 dice(9);
  for (int set = 0; set < 40; ++set)
    expect_bound_met(subnet, random_job(subnet, 2 + dice() % 27, dice), "root2 failed");
}

TEST(Colouring, PlansAroundFailedCables) {
  std::mt19937 dice(10);
  std::uint32_t stages = 0;
  std::uint32_t above = 0;
  for (const char* failed : {"leaf0-root0", "leaf0-root0,leaf1-root1,leaf2-root2", "leaf3-root1,leaf3-root2,root5"}) {
    const Subnet subnet = subnet_of("6-ary-2-tree:30", {}, failed);
    for (int set = 0; set < 20; ++set) {
      const LoadReport report = shift_load(subnet, random_job(subnet, 16, dice), Method::colouring);
      for (std::size_t i = 0; i < report.largest.size(); ++i) {
        ++stages;
        above += report.largest[i] > report.bound[i] ? 1 : 0;
        EXPECT_LE(report.largest[i], report.bound[i] + 1) << failed;
      }
    }
  }
  EXPECT_LE(above, stages / 50) << "of " << stages << " stages, past a bound that is not always reachable";
}

TEST(Colouring, PlansAroundFailuresInDeepTrees) {
  const Subnet subnet = subnet_of("3-ary-3-tree", {}, "leaf0-middle1,middle7-root4,root0");
  std::mt19937 dice(11);
  for (int set = 0; set < 6; ++set) {
    const LoadReport report = shift_load(subnet, random_job(subnet, 30, dice), Method::colouring);
    EXPECT_LE(report.overall(), report.overall_bound() + 1);
  }
}

// Galvin: lists of n LIDs are enough for any job with at most n nodes on a leaf, whichever roots they lead to.
TEST(Colouring, LeavesNoHotSpotWithFewerLidsThanRootsWhereLeavesAreNotFull) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30", 2);
  std::mt19937 dice(12);
  for (int set = 0; set < 60; ++set) {
    std::vector<HostIndex> hosts;
    for (HostIndex leaf = 0; leaf < 5; ++leaf) {
      std::vector<HostIndex> of_leaf{0, 1, 2, 3, 4, 5};
      std::ranges::shuffle(of_leaf, dice);
      for (std::size_t i = 0; i < dice() % 5; ++i) hosts.push_back(leaf * 6 + of_leaf[i]);
    }
    if (!hosts.empty()) expect_free(subnet, make_job(subnet.fabric, hosts).value(), "lmc 2");
  }
}

TEST(Colouring, UsesOneLidPerHostAsWellAsConventional) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30", 0);
  expect_free(subnet, whole_job(subnet.fabric), "lmc 0, whole leaves");
}

TEST(Colouring, PlansOtherPatterns) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  std::mt19937 dice(13);
  for (int set = 0; set < 30; ++set) {
    const JobHosts job = random_job(subnet, 2 + dice() % 29, dice);
    for (const Pattern& pattern : {Pattern::doubling(job.nodes()), Pattern::neighbour(job.nodes())})
      EXPECT_TRUE(load_of(subnet, job, Method::colouring, pattern).hot_spots.empty()) << pattern.name();
    std::vector<Stage> stages(5);
    for (Stage& stage : stages) {
      std::vector<std::uint32_t> to(job.nodes());
      std::iota(to.begin(), to.end(), 0U);
      std::ranges::shuffle(to, dice);
      for (std::uint32_t s = 0; s < job.nodes(); ++s)
        if (to[s] != s) stage.push_back({s, to[s]});
    }
    stages.push_back(stages.front()); // a stage that comes again meets its own choices
    const LoadReport report = load_of(subnet, job, Method::colouring, Pattern::of("lot", job.nodes(), stages));
    EXPECT_EQ(report.largest.front(), report.largest.back());
    EXPECT_LE(report.overall(), 2U) << "pairs that come twice keep their path";
  }
}

} // namespace
} // namespace heddle::routing
