#include "routing/several_jobs.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::HasSubstr;

// Cuts a random set of hosts into jobs.
std::vector<JobHosts> random_jobs(const Subnet& subnet, std::size_t count, std::size_t nodes, std::mt19937& dice) {
  const JobHosts all = testing::random_job(subnet, count * nodes, dice);
  std::vector<HostIndex> hosts = all.hosts;
  std::ranges::shuffle(hosts, dice);
  std::vector<JobHosts> jobs;
  for (std::size_t j = 0; j < count; ++j)
    jobs.push_back(make_job(subnet.fabric, {hosts.begin() + static_cast<std::ptrdiff_t>(j * nodes),
                                            hosts.begin() + static_cast<std::ptrdiff_t>((j + 1) * nodes)})
                       .value());
  return jobs;
}

TEST(Jobs, PlannedTogetherHaveNoHotSpotInStep) {
  const Subnet subnet = testing::subnet_of("6-ary-2-tree:30");
  std::mt19937 dice(1);
  int alone_collides = 0;
  for (int round = 0; round < 40; ++round) {
    const std::vector<JobHosts> jobs = random_jobs(subnet, 2 + static_cast<std::size_t>(round % 3), 7, dice);
    const JobsLoad together = load_of_jobs(subnet, jobs, plan_together(subnet, jobs)).value();
    EXPECT_EQ(together.in_step, 1U);
    const JobsLoad alone = load_of_jobs(subnet, jobs, plan_alone(subnet, jobs, Method::colouring).value()).value();
    alone_collides += alone.in_step > 1 ? 1 : 0;
    EXPECT_GE(alone.any_step, alone.in_step);
  }
  EXPECT_GT(alone_collides, 30);
}

TEST(Jobs, WithWaysOfTheirOwnNeedNotKeepStep) {
  const Subnet subnet = testing::subnet_of("6-ary-2-tree:30");
  const std::vector<JobHosts> jobs{testing::job_of(subnet, "0-2,6-8,12"), testing::job_of(subnet, "3-5,9-11,18-20"),
                                   testing::job_of(subnet, "24-29")};
  const JobsPlan plan = plan_together(subnet, jobs);
  EXPECT_TRUE(plan.separate);
  const JobsLoad load = load_of_jobs(subnet, jobs, plan).value();
  EXPECT_EQ(load.any_step, 1U);
}

TEST(Jobs, KeepClearOfAFailedRoot) {
  const Subnet subnet = testing::subnet_of("6-ary-2-tree:30", {}, "root0");
  const std::vector<JobHosts> jobs{testing::job_of(subnet, "0-1,6-8"), testing::job_of(subnet, "3-4,9-10")};
  const JobsPlan plan = plan_together(subnet, jobs);
  EXPECT_TRUE(plan.separate);
  EXPECT_EQ(load_of_jobs(subnet, jobs, plan).value().any_step, 1U);
}

TEST(Jobs, MayNotShareANode) {
  const Subnet subnet = testing::subnet_of("6-ary-2-tree:30");
  const auto checked = check_disjoint({testing::job_of(subnet, "0-3"), testing::job_of(subnet, "3-5")});
  EXPECT_THAT(checked.error().fact, HasSubstr("node 3 is in job 1 and in job 2"));
}

} // namespace
} // namespace heddle::routing
