#include "routing/job_hosts.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(JobHosts, ReadsNodesAndRanges) {
  EXPECT_THAT(parse_node_list("0-2,9,12-13").value(), ElementsAre(0, 1, 2, 9, 12, 13));
  EXPECT_THAT(parse_node_list("7").value(), ElementsAre(7));
}

TEST(JobHosts, SaysWhichPartOfTheListIsWrong) {
  for (const char* bad : {"", "a", "1,", "1,,2", "1-", "-1", "1-2-3", "99999999999", "1 2"})
    EXPECT_THAT(parse_node_list(bad).error().fact, HasSubstr("is neither a node nor a range")) << bad;
  EXPECT_THAT(parse_node_list("3,5-4").error().fact, HasSubstr("'5-4' runs backwards"));
  EXPECT_THAT(parse_node_list("0-4294967295").error().fact, HasSubstr("more than 49151"));
}

TEST(JobHosts, NumbersNodesInNetworkOrder) {
  const Fabric fabric = testing::fabric_of("3-ary-2-tree");
  const JobHosts job = make_job(fabric, {6, 0, 3}).value();
  EXPECT_THAT(job.hosts, ElementsAre(0, 3, 6));
  EXPECT_THAT(job.leaves, ElementsAre(0, 1, 2));
}

TEST(JobHosts, RefusesNodesThatAreNotThere) {
  const Fabric fabric = testing::fabric_of("3-ary-2-tree", "host5");
  EXPECT_THAT(make_job(fabric, {0, 18}).error().fact,
              HasSubstr("node 18 is outside the fabric, which has nodes 0 to 17"));
  EXPECT_THAT(make_job(fabric, {4, 1, 4}).error().fact, HasSubstr("node 4 is listed twice"));
  EXPECT_THAT(make_job(fabric, {5}).error().fact, HasSubstr("node 5 has failed"));
}

} // namespace
} // namespace heddle::routing
