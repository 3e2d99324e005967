// The same job on both models of a network: packets and fluid.
#include "tools/heddle/workloads.hpp"

#include <gtest/gtest.h>

namespace heddle::tests {
namespace {

using simulation::Setup;
using tool::Workload;

Result<tool::Measured> run(Setup::Model model, const char* fabric, Workload workload) {
  auto world = simulation::World::create({.fabric = fabric, .model = model});
  if (!world) return std::unexpected(world.error());
  return tool::run_workload(*world, {.workload = workload, .bytes = 64 << 10, .rounds = 2});
}

class BothModels : public testing::TestWithParam<const char*> {};

// Where nobody stands in another's way; where somebody does they differ, as docs/simulator.md says.
TEST_P(BothModels, TakeAboutAsLongForMessagesAlone) {
  for (const Workload workload : {Workload::ping_pong, Workload::stream}) {
    const auto packets = run(Setup::Model::packets, GetParam(), workload);
    const auto fluid = run(Setup::Model::fluid, GetParam(), workload);
    ASSERT_TRUE(packets && fluid);
    EXPECT_NEAR(static_cast<double>(fluid->time.count()) / static_cast<double>(packets->time.count()), 1, 0.08)
        << tool::workload_names()[static_cast<std::size_t>(workload)];
    EXPECT_LT(fluid->outcome.packet_hops, packets->outcome.packet_hops) << "flows, not packets";
  }
}

TEST_P(BothModels, RepeatThemselves) {
  const auto once = run(Setup::Model::fluid, GetParam(), Workload::all_to_all);
  const auto again = run(Setup::Model::fluid, GetParam(), Workload::all_to_all);
  ASSERT_TRUE(once && again);
  EXPECT_EQ(once->outcome.history, again->outcome.history);
  EXPECT_EQ(once->outcome.time, again->outcome.time);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, BothModels,
                         testing::Values("infiniband:3-ary-2-tree", "infiniband:2-ary-2-tree,failed=leaf0-root1",
                                         "tofu:1x1x1", "rhinet:star:6"));

TEST(Models, OfFluidHaveNoCablesToCut) {
  const auto world = simulation::World::create(
      {.fabric = "rhinet:ring:4", .model = Setup::Model::fluid, .cables = {{.cable = 1, .at = {}, .plugged = false}}});
  ASSERT_FALSE(world);
  EXPECT_EQ(world.error().fact, "in the fluid model no cable can be cut or plugged");
}

} // namespace
} // namespace heddle::tests
