#include "routing/ibnetdiscover.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::HasSubstr;

std::string id_of(const Fabric& fabric, const Peer& peer) {
  const bool host = peer.kind == Peer::Kind::host;
  char id[32];
  std::snprintf(
      id, sizeof id, "%c-%016llx", host ? 'H' : 'S',
      static_cast<unsigned long long>(host ? fabric.hosts[peer.index].guid : fabric.switches[peer.index].guid));
  return id;
}

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

// As ibnetdiscover 5 prints it, roots first, so that nothing can be learnt from the order.
std::string printed(const Fabric& fabric) {
  std::string text = "#\n# Topology file: generated on Sun Nov 15 05:53:15 2026\n#\n";
  for (std::size_t i = fabric.switches.size(); i-- > 0;) {
    const Switch& one = fabric.switches[i];
    text += "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x" + hex(one.guid) + "\nswitchguid=0x" + hex(one.guid) + "(" +
            hex(one.guid) + ")\nSwitch\t" + std::to_string(one.ports.size() - 1) + " \"" +
            id_of(fabric, {Peer::Kind::a_switch, 0, static_cast<std::uint32_t>(i)}) + "\"\t\t# \"" + one.name +
            "\" base port 0 lid 5 lmc 0\n";
    for (std::size_t port = 1; port < one.ports.size(); ++port) {
      const Peer& peer = one.ports[port];
      if (peer.kind == Peer::Kind::nothing) continue;
      text += "[" + std::to_string(port) + "]\t\"" + id_of(fabric, peer) + "\"[" + std::to_string(peer.port) + "]";
      if (peer.kind == Peer::Kind::host) text += "(" + hex(fabric.hosts[peer.index].port_guid) + ") ";
      text += "\t\t# \"x\" lid 4 4xSDR\n";
    }
  }
  for (HostIndex i = 0; i < fabric.hosts.size(); ++i) {
    const Host& host = fabric.hosts[i];
    text += "\nvendid=0x0\ncaguid=0x" + hex(host.guid) + "\nCa\t1 \"" + id_of(fabric, {Peer::Kind::host, 1, i}) +
            "\"\t\t# \"" + host.name + "\"\n[1](" + hex(host.port_guid) + ") \t\"" +
            id_of(fabric, {Peer::Kind::a_switch, 0, host.leaf}) + "\"[" + std::to_string(host.leaf_port) +
            "]\t\t# lid " + std::to_string(2 * i + 6) + " lmc 1 \"leaf\" lid 4 4xSDR\n";
  }
  return text;
}

TEST(Ibnetdiscover, FindsTheTreeInWhatIsPrintedOfIt) {
  for (const char* tree : {"6-ary-2-tree:30", "3-ary-3-tree:40", "2-ary-4-tree", "4-ary-2-tree,links=2"}) {
    const Fabric built = testing::fabric_of(tree);
    const auto found = parse_ibnetdiscover(printed(built));
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->levels, built.levels);
    ASSERT_EQ(found->switches.size(), built.switches.size());
    for (std::size_t i = 0; i < built.switches.size(); ++i) {
      EXPECT_EQ(found->switches[i].name, built.switches[i].name);
      EXPECT_EQ(found->switches[i].level, built.switches[i].level);
      EXPECT_EQ(found->switches[i].ports, built.switches[i].ports);
    }
    ASSERT_EQ(found->hosts.size(), built.hosts.size());
    for (std::size_t i = 0; i < built.hosts.size(); ++i) {
      EXPECT_EQ(found->hosts[i].name, built.hosts[i].name);
      EXPECT_EQ(found->hosts[i].port_guid, built.hosts[i].port_guid);
      EXPECT_EQ(found->hosts[i].lid, 2 * i + 6);
      EXPECT_EQ(found->hosts[i].lmc, 1);
    }
  }
}

TEST(Ibnetdiscover, KnowsNoLidWhereNoneIsSaid) {
  std::string text = printed(testing::fabric_of("2-ary-2-tree"));
  const auto replace = [&text](const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  };
  replace("# lid 6 lmc 1", "# lid 0 lmc 0");
  replace("# lid 8 lmc 1", "# lid 8");
  replace("# lid 10 lmc 1", "# lid 70000 lmc 1");
  replace("# lid 12 lmc 1 ", "# ");
  const auto found = parse_ibnetdiscover(text);
  ASSERT_TRUE(found) << found.error().message();
  for (HostIndex host = 0; host < 4; ++host) EXPECT_EQ(found->hosts[host].lid, 0) << host;
  EXPECT_EQ(found->hosts[4].lid, 14);
}

TEST(Ibnetdiscover, PlansWithoutHotSpotsOnWhatItFound) {
  const auto subnet = make_subnet(parse_ibnetdiscover(printed(testing::fabric_of("3-ary-3-tree"))).value());
  std::mt19937 dice(1);
  const JobHosts job = testing::random_job(*subnet, 25, dice);
  EXPECT_TRUE(testing::shift_load(*subnet, job, Method::colouring).hot_spots.empty());
}

TEST(Ibnetdiscover, FallsBackToIdsWhereDescriptionsRepeat) {
  Fabric fabric = testing::fabric_of("2-ary-2-tree");
  for (Switch& one : fabric.switches) one.name = "Infiniscale-IV";
  const auto found = parse_ibnetdiscover(printed(fabric));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->switches[0].name, "S-0002c90100000001");
}

TEST(Ibnetdiscover, NamesTheLineThatIsWrong) {
  const std::string good = printed(testing::fabric_of("2-ary-2-tree:3"));
  const auto fact_after = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto found = parse_ibnetdiscover(text);
    return found ? "accepted" : found.error().fact;
  };
  ASSERT_TRUE(parse_ibnetdiscover(good));
  EXPECT_THAT(fact_after("Switch\t", "Switsch\t"), HasSubstr("line 9: 'Switsch"));
  EXPECT_THAT(fact_after("[1]\t\"S-", "[9]\t\"S-"), HasSubstr("line 10: port 9 of a node with ports 1 to 4"));
  EXPECT_THAT(fact_after("[1]\t\"S-0002c90100000001\"[3]", "[1]\t\"S-0002c90100000001\"[1]"),
              HasSubstr("does not say the same of its port 1"));
  EXPECT_THAT(fact_after("[1]\t\"S-0002c90100000001\"", "[1]\t\"S-77\""),
              HasSubstr("line 10: no node is called 'S-77'"));
  EXPECT_THAT(fact_after("[1]\t\"", "[1]\t"), HasSubstr("line 10: expected [PORT] \"ID\"[PORT]"));
  EXPECT_THAT(fact_after("Switch\t4", "Switch\t400"), HasSubstr("line 9: 400 ports"));
  EXPECT_THAT(fact_after("switchguid=0x", "switchguid=0xg"), HasSubstr("line 8: a GUID"));
  EXPECT_THAT(fact_after("\n[1](2c90000000011)", "\n[1]"), HasSubstr("needs its GUID"));
  EXPECT_THAT(parse_ibnetdiscover("").error().fact, HasSubstr("no hosts"));
  EXPECT_THAT(parse_ibnetdiscover("[1] \"S\"[1]").error().fact, HasSubstr("before any switch"));
  EXPECT_THAT(parse_ibnetdiscover("<html>").error().fact, HasSubstr("line 1: '<html>' is not a line"));
}

} // namespace
} // namespace heddle::routing
