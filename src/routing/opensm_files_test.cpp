#include "routing/opensm_files.hpp"

#include <gmock/gmock.h>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(OpensmFiles, HoldEveryEntryOfTheTables) {
  const Subnet subnet = testing::subnet_of("6-ary-2-tree:30");
  const auto entries = parse_lfts(lft_file(subnet));
  ASSERT_TRUE(entries) << entries.error().message();
  std::size_t set = 0;
  for (SwitchIndex at = 0; at < subnet.fabric.switches.size(); ++at)
    for (std::uint32_t lid = 1; lid <= subnet.tables.largest(); ++lid)
      set += subnet.tables.port(at, static_cast<Lid>(lid)) != kUnset ? 1 : 0;
  EXPECT_EQ(entries->size(), set);
  EXPECT_EQ(set, 11U * (30 * 6 + 11));
  for (const LftEntry& entry : *entries)
    EXPECT_EQ(subnet.tables.port(static_cast<SwitchIndex>(entry.guid - subnet.fabric.switches[0].guid), entry.lid),
              entry.port);
}

TEST(OpensmFiles, AreWrittenTheWayOpensmReadsThem) {
  const Subnet subnet = testing::subnet_of("6-ary-2-tree:30");
  EXPECT_THAT(
      lft_file(subnet),
      StartsWith(
          "Unicast lids [0-258] of switch Lid 248 guid 0x0002c90100000001 ('leaf0'):\n0x0008 001\n0x0009 001\n"));
  EXPECT_THAT(guid2lid_file(subnet), StartsWith("0x0002c90000000011 0x0008 0x000f\n\n"));
  EXPECT_THAT(guid2lid_file(subnet), HasSubstr("0x0002c90100000001 0x00f8 0x00f8\n\n"));
  EXPECT_THAT(ibsim_file(subnet.fabric),
              StartsWith("caguid=0x0002c90000000010\nCa 1 \"host0\"\n[1](0x0002c90000000011) \"leaf0\"[1]\n\n"));
  EXPECT_THAT(ibsim_file(subnet.fabric), HasSubstr("Switch 12 \"leaf0\"\n[1] \"host0\"[1]\n"));
}

TEST(OpensmFiles, LeaveOutWhatHasFailed) {
  const Subnet subnet = testing::subnet_of("3-ary-2-tree", {}, "root1,host4,leaf0-root2");
  for (const std::string& text : {lft_file(subnet), ibsim_file(subnet.fabric)})
    EXPECT_EQ(text.find("root1"), std::string::npos);
  EXPECT_EQ(ibsim_file(subnet.fabric).find("\"host4\""), std::string::npos);
  EXPECT_EQ(guid2lid_file(subnet).find("0x0002c90000000051 "), std::string::npos) << "host4's port";
}

TEST(OpensmFiles, ReadsWhatDumpFtsPrints) {
  const auto entries = parse_lfts(
      "Unicast lids [0x0-0x7] of switch DR path slid 0; dlid 0; 0,1,7 guid 0x0002c90100000002 (root0):\n"
      "  Lid  Out   Destination\n       Port     Info \n"
      "0x0002 001 : (Channel Adapter portguid 0x0002c90000000011: 'host0')\n6 valid lids dumped \n");
  ASSERT_TRUE(entries) << entries.error().message();
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front(), (LftEntry{0x2c90100000002, 2, 1}));
  EXPECT_THAT(parse_lfts("0x0002 001").error().fact, HasSubstr("line 1: '0x0002 001' comes before any switch"));
  EXPECT_THAT(parse_lfts("Unicast lids guid 0x1\n0xzz 1").error().fact,
              HasSubstr("line 2: '0xzz 1' is not a LID and port"));
}

} // namespace
} // namespace heddle::routing
