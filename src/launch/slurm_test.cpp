#include "launch/slurm.hpp"

#include <gtest/gtest.h>

namespace heddle::launch {
namespace {

using Names = std::vector<std::string>;
using Counts = std::vector<std::uint32_t>;

TEST(Slurm, ExpandsListsOfNodes) {
  EXPECT_EQ(expand_node_list("n1"), (Names{"n1"}));
  EXPECT_EQ(expand_node_list("n[1-3]"), (Names{"n1", "n2", "n3"}));
  EXPECT_EQ(expand_node_list("n[1-2,7],login,m[08-10]-ib"),
            (Names{"n1", "n2", "n7", "login", "m08-ib", "m09-ib", "m10-ib"}));
}

TEST(Slurm, RefusesWhatIsNoList) {
  for (const char* text : {"", "n[", "n[1", "n[a-b]", "n[3-1]", "n[1-99999999]", ",", "n[1][2]", "n[]x["})
    EXPECT_TRUE(expand_node_list(text).empty()) << text;
  for (const char* text : {"", "x", "2(x", "2(x3", "2(xx)", "2(x99999999)"})
    EXPECT_TRUE(expand_counts(text).empty()) << text;
}

TEST(Slurm, ExpandsCounts) {
  EXPECT_EQ(expand_counts("2(x3),1"), (Counts{2, 2, 2, 1}));
  EXPECT_EQ(expand_counts("4"), (Counts{4}));
}

TEST(Slurm, FindsTheAllocationOfAScript) {
  using base::Environment;
  const auto hosts = slurm_allocation(
      Environment::of({{"SLURM_JOB_ID", "3"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_TASKS_PER_NODE", "3,1"}}));
  ASSERT_TRUE(hosts);
  ASSERT_EQ(hosts->size(), 2U);
  EXPECT_EQ((*hosts)[0].name, "n1");
  EXPECT_EQ((*hosts)[0].processes, 3U);
  EXPECT_EQ((*hosts)[1].processes, 1U);
  EXPECT_FALSE(slurm_allocation(Environment{}));
}

TEST(Slurm, MeetsByTheStepsNameInsideANodeAndAtAPortOfTheFirstAcrossNodes) {
  const SlurmStep here{.rank = 0, .size = 2, .nodes = 1, .name = "c-1.0", .first_node = "n1"};
  EXPECT_EQ(here.meeting_place(), "unix:@heddle-c-1.0");
  const SlurmStep across{.rank = 0, .size = 2, .nodes = 2, .name = "c-1.0", .first_node = "n1"};
  const SlurmStep next{.rank = 0, .size = 2, .nodes = 2, .name = "c-1.1", .first_node = "n1"};
  EXPECT_TRUE(across.meeting_place().value().starts_with("tcp:n1:2"));
  EXPECT_NE(across.meeting_place(), next.meeting_place());
  const SlurmStep nowhere{.rank = 0, .size = 2, .nodes = 2, .name = "c-1.1", .first_node = ""};
  EXPECT_FALSE(nowhere.meeting_place()); // on one node each would wait for the others
}

} // namespace
} // namespace heddle::launch
