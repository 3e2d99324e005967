#include "routing/fabric.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::HasSubstr;

std::string refusal_of_failures(std::string_view list) {
  Fabric fabric = testing::fabric_of("4-ary-2-tree,links=2");
  const auto done = fail(fabric, list);
  return done ? "accepted" : done.error().fact;
}

std::size_t cables(const Fabric& fabric, SwitchIndex at) {
  return static_cast<std::size_t>(std::ranges::count_if(
      fabric.switches[at].ports, [](const Peer& peer) { return peer.kind == Peer::Kind::a_switch; }));
}

TEST(Fabric, TakesOutHostsSwitchesAndCables) {
  Fabric fabric = testing::fabric_of("4-ary-2-tree,links=2");
  ASSERT_TRUE(fail(fabric, "host3,leaf1,leaf0-root1,leaf2-root0:2"));
  EXPECT_FALSE(fabric.hosts[3].present);
  EXPECT_FALSE(fabric.hosts[4].present) << "it was on leaf1";
  EXPECT_FALSE(fabric.switches[1].present);
  EXPECT_EQ(cables(fabric, 0), 3U);
  EXPECT_EQ(cables(fabric, 1), 0U);
  EXPECT_EQ(cables(fabric, 2), 3U);
  EXPECT_EQ(fabric.switches[2].ports[6].kind, Peer::Kind::nothing) << "the second cable to root0";
  EXPECT_EQ(fabric.hosts.size(), 32U) << "nobody else is renumbered";
}

TEST(Fabric, SaysWhatIsNotThereToFail) {
  EXPECT_THAT(refusal_of_failures("leaf9"), HasSubstr("no 'leaf9', did you mean leaf"));
  EXPECT_THAT(refusal_of_failures("leaf0-root9"), HasSubstr("no 'leaf0-root9'"));
  EXPECT_THAT(refusal_of_failures("leaf0-root1:3"), HasSubstr("has 2 cables"));
  EXPECT_THAT(refusal_of_failures("leaf0-root1:x"), HasSubstr("no cable number"));
  EXPECT_THAT(refusal_of_failures("leaf0-leaf1"), HasSubstr("has 0 cables"));
  EXPECT_THAT(refusal_of_failures(""), HasSubstr("no ''"));
}

TEST(Fabric, RefusesGraphsThatAreNoTree) {
  Fabric flat;
  flat.hosts.resize(2);
  flat.switches.resize(2);
  flat.switches[0].name = "a";
  flat.switches[1].name = "b";
  connect_host(flat, 0, 0, 1);
  connect_host(flat, 1, 1, 1);
  EXPECT_THAT(arrange(flat).error().fact, HasSubstr("in several parts: nothing links switch 'a' to switch 'b'"));
  connect(flat, 0, 2, 1, 2);
  EXPECT_THAT(arrange(flat).error().fact, HasSubstr("not a fat tree: switches 'a' and 'b'"));
  EXPECT_THAT(arrange(Fabric{}).error().fact, HasSubstr("no hosts"));
}

TEST(Fabric, NamesLinksByTheirEnds) {
  const Fabric tree = testing::fabric_of("3-ary-2-tree");
  const Links links(tree);
  EXPECT_EQ(links.name(tree, links.at(1, 4)), "leaf1->root0");
  EXPECT_EQ(links.name(tree, links.at(tree.first_root() + 2, 1)), "root2->leaf0");
  const Fabric parallel = testing::fabric_of("4-ary-2-tree,links=2");
  EXPECT_EQ(Links(parallel).name(parallel, Links(parallel).at(0, 6)), "leaf0->root0 (port 6)");
}

} // namespace
} // namespace heddle::routing
