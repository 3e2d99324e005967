#include "routing/tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::HasSubstr;

std::string refusal_of_tree(std::string_view text) {
  const auto shape = parse_tree(text);
  return shape ? "accepted" : shape.error().fact;
}

TEST(Tree, HasTheSizeThatItsNameSays) {
  struct Case {
    const char* text;
    std::size_t hosts, leaves, switches, roots;
  };
  for (const Case& c :
       {Case{"6-ary-2-tree:30", 30, 5, 11, 6}, Case{"18-ary-2-tree", 648, 36, 54, 18},
        Case{"4-ary-3-tree", 128, 32, 80, 16}, Case{"2-ary-4-tree", 32, 16, 56, 8}, Case{"3-ary-2-tree:1", 1, 1, 4, 3},
        Case{"4-ary-2-tree,links=2", 32, 8, 10, 2}, Case{"4-ary-2-tree,hosts=8,uplinks=2", 64, 8, 10, 2}}) {
    const Fabric fabric = build_tree(parse_tree(c.text).value());
    EXPECT_EQ(fabric.hosts.size(), c.hosts) << c.text;
    EXPECT_EQ(fabric.leaves(), c.leaves) << c.text;
    EXPECT_EQ(fabric.switches.size(), c.switches) << c.text;
    EXPECT_EQ(fabric.roots(), c.roots) << c.text;
  }
}

TEST(Tree, CablesBothEndsAndUsesNoPortTwice) {
  for (const char* text :
       {"6-ary-2-tree:30", "3-ary-3-tree", "2-ary-4-tree:27", "6-ary-2-tree,links=3", "4-ary-3-tree,links=2"}) {
    const Fabric fabric = build_tree(parse_tree(text).value());
    std::map<std::uint32_t, std::uint32_t> hosts_of_leaf;
    for (SwitchIndex at = 0; at < fabric.switches.size(); ++at)
      for (std::size_t port = 1; port < fabric.switches[at].ports.size(); ++port) {
        const Peer& peer = fabric.switches[at].ports[port];
        if (peer.kind == Peer::Kind::host) {
          EXPECT_EQ(fabric.hosts[peer.index].leaf, at);
          EXPECT_EQ(fabric.hosts[peer.index].leaf_port, port);
        }
        if (peer.kind == Peer::Kind::a_switch) {
          EXPECT_EQ(fabric.switches[peer.index].ports[peer.port],
                    (Peer{Peer::Kind::a_switch, static_cast<Port>(port), at}));
        }
      }
  }
}

TEST(Tree, LinksEveryLeafToEveryRootOnTwoLevels) {
  const Fabric fabric = build_tree(parse_tree("6-ary-2-tree:30").value());
  for (SwitchIndex leaf = 0; leaf < fabric.leaves(); ++leaf) {
    std::set<std::uint32_t> roots;
    for (const Peer& peer : fabric.switches[leaf].ports)
      if (peer.kind == Peer::Kind::a_switch) roots.insert(peer.index - fabric.first_root());
    EXPECT_EQ(roots.size(), 6U);
  }
}

TEST(Tree, OfOneLevelIsASwitch) {
  const Subnet subnet = testing::subnet_of("4-ary-1-tree");
  EXPECT_EQ(subnet.fabric.hosts.size(), 8U);
  EXPECT_EQ(subnet.fabric.switches.size(), 1U);
  EXPECT_TRUE(check_reachable(subnet));
  const JobHosts job = whole_job(subnet.fabric);
  for (const Method method : {Method::conventional, Method::colouring})
    EXPECT_TRUE(testing::shift_load(subnet, job, method).hot_spots.empty());
}

TEST(Tree, OfManyLevelsHasNoHotSpotsByColouring) {
  const Subnet subnet = testing::subnet_of("2-ary-6-tree");
  EXPECT_EQ(subnet.fabric.hosts.size(), 128U);
  EXPECT_TRUE(check_reachable(subnet));
  std::mt19937 dice(7);
  const JobHosts job = testing::random_job(subnet, 20, dice);
  EXPECT_TRUE(testing::shift_load(subnet, job, Method::colouring).hot_spots.empty());
}

TEST(Tree, WritesTheTextItReads) {
  for (const char* text : {"6-ary-2-tree:30", "18-ary-2-tree", "4-ary-3-tree:100,hosts=8,uplinks=2,links=2",
                           "4-ary-1-tree", "4-ary-1-tree:5,hosts=6", "2-ary-6-tree"})
    EXPECT_EQ(to_text(parse_tree(text).value()), text);
  EXPECT_EQ(to_text(parse_tree("6-ary-2-tree:72").value()), "6-ary-2-tree");
}

TEST(Tree, RefusesWhatItCannotBuild) {
  EXPECT_THAT(refusal_of_tree(""), HasSubstr("does not begin with K-ary-"));
  EXPECT_THAT(refusal_of_tree("6-ary-tree"), HasSubstr("N-tree does not follow"));
  EXPECT_THAT(refusal_of_tree("6-ary-0-tree"), HasSubstr("N must be from 1 to 16"));
  EXPECT_THAT(refusal_of_tree("6-ary-17-tree"), HasSubstr("N must be from 1 to 16"));
  EXPECT_THAT(refusal_of_tree("127-ary-16-tree:1"), HasSubstr("switches, but a subnet has 49151"));
  EXPECT_THAT(refusal_of_tree("127-ary-16-tree"), HasSubstr("hosts, but a subnet has 49151"));
  EXPECT_THAT(refusal_of_tree("6-ary-1-tree,uplinks=2"), HasSubstr("a single switch has no uplinks"));
  EXPECT_THAT(refusal_of_tree("0-ary-2-tree"), HasSubstr("K must be from 1 to 127"));
  EXPECT_THAT(refusal_of_tree("128-ary-2-tree"), HasSubstr("K must be"));
  EXPECT_THAT(refusal_of_tree("99999999999-ary-2-tree"), HasSubstr("does not begin"));
  EXPECT_THAT(refusal_of_tree("6-ary-2-tree:0"), HasSubstr("NODES must be"));
  EXPECT_THAT(refusal_of_tree("6-ary-2-tree:73"), HasSubstr("at most 72 hosts"));
  EXPECT_THAT(refusal_of_tree("6-ary-2-tree:30x"), HasSubstr("'x' is left over"));
  EXPECT_THAT(refusal_of_tree("36-ary-3-tree"), HasSubstr("93312 hosts, but a subnet has 49151"));
  EXPECT_THAT(refusal_of_tree("127-ary-4-tree:1"), HasSubstr("2064640 switches, but a subnet has 49151"));
  EXPECT_THAT(refusal_of_tree("6-ary-2-tree,host=3"), HasSubstr("did you mean hosts?"));
  EXPECT_THAT(refusal_of_tree("6-ary-2-tree,links=4"), HasSubstr("does not divide the 6 uplinks"));
  EXPECT_THAT(refusal_of_tree("6-ary-2-tree,hosts="), HasSubstr("hosts needs a number"));
  EXPECT_THAT(refusal_of_tree("100-ary-2-tree,hosts=200"), HasSubstr("more than 254 ports"));
}

TEST(Tree, FindsTheLevelsItWasBuiltWith) {
  for (const char* text : {"6-ary-2-tree:30", "3-ary-3-tree:40", "2-ary-4-tree"}) {
    const Fabric built = build_tree(parse_tree(text).value());
    Fabric raw = built;
    raw.levels = 0;
    for (Switch& one : raw.switches) one.level = 0;
    const auto found = arrange(raw);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->levels, built.levels);
    for (std::size_t i = 0; i < built.switches.size(); ++i) {
      EXPECT_EQ(found->switches[i].name, built.switches[i].name);
      EXPECT_EQ(found->switches[i].level, built.switches[i].level);
    }
    for (std::size_t i = 0; i < built.hosts.size(); ++i) EXPECT_EQ(found->hosts[i].name, built.hosts[i].name);
  }
}

} // namespace
} // namespace heddle::routing
