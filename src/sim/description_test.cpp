#include "sim/description.hpp"

#include <gtest/gtest.h>

#include "sim/packet_network.hpp"

namespace heddle::sim {
namespace {

Result<std::string> office(const std::string& path) {
  if (path == "office.txt") return "switch a\nswitch b\nlink a:7 b:7 metres=100\nnode x a:0\nnode y b:0 rate=40MB/s\n";
  if (path == "apart.txt") return "switch a\nswitch b\nnode x a:0\nnode y b:0\n";
  return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "no " + path});
}

std::string fact_of(std::string_view text) {
  const auto fabric = parse_fabric(text, {.read = office});
  return fabric ? "built" : fabric.error().fact;
}

TEST(Description, BuildsTheFabricsOfTheReports) {
  const auto tree = parse_fabric("infiniband:6-ary-2-tree:30,lmc=3");
  ASSERT_TRUE(tree) << tree.error().message();
  EXPECT_EQ(tree->nodes, 30U);
  EXPECT_EQ(tree->tables.base[0], 8U);
  const auto torus = parse_fabric("tofu:2x3x2");
  ASSERT_TRUE(torus) << torus.error().message();
  EXPECT_EQ(torus->nodes, 144U);
  EXPECT_EQ(torus->interface.send_engines, 4U);
  const auto star = parse_fabric("rhinet:star:8");
  ASSERT_TRUE(star) << star.error().message();
  EXPECT_EQ(star->nodes, 8U);
}

TEST(Description, SetsParameters) {
  const auto tree = parse_fabric("infiniband:4-ary-1-tree,speed=qdr,mtu=4KiB,switch_delay=0.15us,bus=3.2GB/s,lanes=4");
  ASSERT_TRUE(tree) << tree.error().message();
  EXPECT_EQ(tree->nodes, 8U);
  EXPECT_EQ(tree->links[0].rate.bytes_per_second, 4'000'000'000);
  EXPECT_EQ(tree->packets.mtu, 4096U);
  EXPECT_EQ(tree->switches[0].delay, std::chrono::nanoseconds(150));
  EXPECT_EQ(tree->interface.read_bus.rate.bytes_per_second, 3'200'000'000);
  EXPECT_EQ(tree->packets.lanes, 4U);
  const auto spread = parse_fabric("infiniband:2-ary-2-tree,lmc=1");
  const auto report = parse_fabric("infiniband:2-ary-2-tree,lmc=1,lids=report");
  ASSERT_TRUE(spread && report);
  EXPECT_NE(spread->tables.ports, report->tables.ports);
  EXPECT_EQ(spread->tables.ports, parse_fabric("infiniband:2-ary-2-tree,lmc=1,lids=conventional")->tables.ports);
  EXPECT_EQ(fact_of("infiniband:2-ary-2-tree,lmc=1,lids=own"), "no LID rule is called 'own'");
}

// What ibnetdiscover prints of two switches with a host each and two cables between them.
Result<std::string> discovered(const std::string&) {
  return "switchguid=0xa(a)\nSwitch 3 \"S-a\" # \"one\" base port 0 lid 1 lmc 0\n"
         "[1] \"H-c\"[1](d) # \"left\" lid 2 4xDDR\n[2] \"S-b\"[2] # \"top\" lid 3 4xDDR\n\n"
         "switchguid=0xb(b)\nSwitch 3 \"S-b\" # \"top\" base port 0 lid 3 lmc 0\n"
         "[2] \"S-a\"[2] # \"one\" lid 1 4xDDR\n[3] \"S-e\"[2] # \"two\" lid 4 4xDDR\n\n"
         "switchguid=0xe(e)\nSwitch 3 \"S-e\" # \"two\" base port 0 lid 4 lmc 0\n"
         "[1] \"H-f\"[1](1f) # \"right\" lid 5 4xDDR\n[2] \"S-b\"[3] # \"top\" lid 3 4xDDR\n\n"
         "caguid=0xc\nCa 1 \"H-c\" # \"left\"\n[1](d) \"S-a\"[1] # lid 2 lmc 0 \"one\" lid 1 4xDDR\n\n"
         "caguid=0xf\nCa 1 \"H-f\" # \"right\"\n[1](1f) \"S-e\"[1] # lid 5 lmc 0 \"two\" lid 4 4xDDR\n";
}

TEST(Description, TakesASubnetThatWasDiscovered) {
  const auto fabric = parse_fabric("infiniband:cluster.net,speed=qdr", {.read = discovered});
  ASSERT_TRUE(fabric) << fabric.error().message();
  EXPECT_EQ(fabric->nodes, 2U);
  EXPECT_EQ(fabric->name_of_node(0), "node left");
  EXPECT_EQ(fabric->subnet, "cluster.net");
  auto network = PacketNetwork::make(*fabric);
  ASSERT_TRUE(network) << network.error().message();
  EXPECT_TRUE(network->submit({.source = 0, .target = 1, .bytes = 8}));
  EXPECT_TRUE(network->run());
  EXPECT_EQ(network->packet_hops(), 4U);
}

TEST(Description, GivesLidsForPathsThatAreToBePlanned) {
  EXPECT_EQ(parse_fabric("infiniband:6-ary-2-tree:30", {.every_lid = true})->tables.base[0], 8U);
  EXPECT_EQ(parse_fabric("infiniband:6-ary-2-tree:30,lmc=1", {.every_lid = true})->tables.base[0], 2U);
}

TEST(Description, LetsTheGenerationSetDefaultsWhereverItStands) {
  for (const char* text : {"tofu:1x1x1,generation=d,rate=7GB/s", "tofu:1x1x1,rate=7GB/s,generation=d"}) {
    const auto torus = parse_fabric(text);
    ASSERT_TRUE(torus) << torus.error().message();
    EXPECT_EQ(torus->interface.send_engines, 6U);
    EXPECT_EQ(torus->packets.mtu, 1920U);
    EXPECT_EQ(torus->links[0].rate.bytes_per_second, 7'000'000'000);
  }
}

TEST(Description, ReadsATopologyFromAFile) {
  const auto fabric = parse_fabric("rhinet:office.txt,metres=10", {.read = office});
  ASSERT_TRUE(fabric) << fabric.error().message();
  EXPECT_EQ(fabric->links[0].delay, std::chrono::nanoseconds(500));
  EXPECT_EQ(fabric->links[2].delay, std::chrono::nanoseconds(50));
  EXPECT_EQ(fabric->links[4].rate.bytes_per_second, 40'000'000);
  EXPECT_EQ(fabric->name_of(fabric->links[0].from), "switch a port 7");
}

TEST(Description, NamesWhatIsWrongInOneLine) {
  EXPECT_EQ(fact_of("ethernet:4"), "'ethernet' is not a fabric: expected infiniband:, tofu: or rhinet:");
  EXPECT_EQ(fact_of("infiniband:6-ary-tree"), "tree '6-ary-tree': N-tree does not follow K-ary-");
  EXPECT_EQ(fact_of("infiniband:6-ary-2-tree:0"), "tree '6-ary-2-tree:0': NODES must be a number from 1");
  EXPECT_EQ(fact_of("infiniband:6-ary-2-tree,failed=leaf90-root0"),
            "the fabric has no 'leaf90-root0', did you mean leaf0?");
  EXPECT_EQ(parse_fabric("infiniband:6-ary-2-tree,lcm=3").error().remedy, "did you mean lmc?");
  EXPECT_EQ(fact_of("infiniband:6-ary-2-tree,rate=0GB/s"), "parameter rate is a rate of zero");
  EXPECT_EQ(fact_of("infiniband:6-ary-2-tree,lanes=17"), "parameter lanes=17 is out of range: 1 to 16");
  EXPECT_EQ(fact_of("infiniband:6-ary-2-tree,mtu"), "parameter 'mtu' has no value: expected name=value");
  EXPECT_EQ(fact_of("infiniband:6-ary-2-tree,buffer=1KiB"), "a buffer of 1024 bytes holds no packet of 2078");
  EXPECT_EQ(fact_of("infiniband:6-ary-2-tree,speed=tdr"),
            "parameter speed cannot be 'tdr': expected one of sdr, ddr, qdr, fdr, edr, hdr");
  EXPECT_EQ(fact_of("tofu:2x2"), "'2x2' is not a torus: expected XxYxZ, such as 2x3x2");
  EXPECT_EQ(fact_of("tofu:2x2x2,hop=5"), "parameter hop: '5' is not a time such as 80ns or 1.5us");
  EXPECT_EQ(fact_of("tofu:1x1x1,generation=q"), "parameter generation cannot be 'q': expected one of k, d");
  EXPECT_EQ(fact_of("rhinet:nowhere.txt"), "no nowhere.txt");
  EXPECT_EQ(fact_of("rhinet:apart.txt"),
            "apart.txt line 4: node y is unreachable: no cables lead to it from node x of line 3");
  const auto unknown = parse_fabric("tofu:1x1x1,ratee=5GB/s");
  EXPECT_EQ(unknown.error().remedy, "did you mean rate?");
}

TEST(Description, NamesTheLineOfATopologyThatIsWrong) {
  static std::string text;
  const auto fact = [](std::string given) {
    text = std::move(given);
    const auto fabric =
        parse_fabric("rhinet:t", {.read = [](const std::string&) { return Result<std::string>(text); }});
    return fabric ? "built" : fabric.error().fact;
  };
  EXPECT_EQ(fact("switch a\nnode x a:0\nnode y a:0\n"), "t line 3: port a:0 is used twice, first on line 2");
  EXPECT_EQ(fact("switch a\nnode x a:8\n"), "t line 2: 'a:8' names no port: switch a has 0 to 7");
  EXPECT_EQ(fact("switch a\n\nnode x b:0\n"), "t line 3: switch b is not there");
  EXPECT_EQ(fact("switch a # comment\nswitch a\n"), "t line 2: switch a exists already");
  EXPECT_EQ(fact("switch a\nnode x a:0 rate=0MB/s\n"), "t line 2: a rate of zero");
  EXPECT_EQ(fact("router a\n"), "t line 1: 'router' is unknown: expected switch, node or link");
  EXPECT_EQ(fact("switch a\nlink a:0\n"), "t line 2: a link needs two ends: link SWITCH:PORT SWITCH:PORT");
  EXPECT_EQ(fact("switch a ports=0\n"), "t line 1: 'ports=0' is out of range: 1 to 4096");
  EXPECT_EQ(fact("switch a\n"), "t line 1: no node is named");
  EXPECT_EQ(fact("switch a\nswitch b\nnode x a:0\nnode y a:1\nnode z b:0\nlink a:2 a:3\n"),
            "t line 5: node z is unreachable: no cables lead to it from node x of line 3");
  EXPECT_EQ(fact("switch a\nswitch b\nnode x a:0\nnode z b:0\nlink a:2 b:3\n"), "built");
}

TEST(Description, RefusesATopologyOfMorePartsThanTablesCanHave) {
  static std::string text;
  text.clear();
  for (int i = 0; i <= 4096; ++i) text += "switch s" + std::to_string(i) + " ports=4096\n";
  const auto fabric = parse_fabric("rhinet:t", {.read = [](const std::string&) { return Result<std::string>(text); }});
  ASSERT_FALSE(fabric);
  EXPECT_EQ(fabric.error().fact, "t line 4097: more than 4096 switches");
}

TEST(Description, ReadsTheDefaultsThatItWrites) {
  for (const char* shape : {"infiniband:2-ary-2-tree", "tofu:1x1x1", "rhinet:star:2"}) {
    const std::string kind(shape, std::string_view(shape).find(':'));
    std::string text = shape;
    for (const FabricParameter& each : default_parameters(kind))
      if (each.value != "no limit") text += "," + std::string(each.name) + "=" + each.value;
    const auto plain = parse_fabric(shape);
    const auto written = parse_fabric(text);
    ASSERT_TRUE(written) << written.error().message();
    EXPECT_EQ(written->interface.startup, plain->interface.startup);
    EXPECT_EQ(written->interface.send_latency, plain->interface.send_latency);
    EXPECT_EQ(written->links[0].rate, plain->links[0].rate);
    EXPECT_EQ(written->links[0].delay, plain->links[0].delay);
    EXPECT_EQ(written->packets.buffer_bytes, plain->packets.buffer_bytes);
    EXPECT_EQ(written->switches[0].delay, plain->switches[0].delay);
  }
}

TEST(Description, ListsParametersForHelp) {
  EXPECT_EQ(parameter_names("tofu").front(), "generation");
  EXPECT_TRUE(parameter_names("token ring").empty());
}

} // namespace
} // namespace heddle::sim
