#include "routing/subnet_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/opensm_files.hpp"
#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto parsed = parse_subnet(text);
  if (!parsed) return parsed.error().message();
  const auto subnet = open_subnet(*parsed);
  return subnet ? "opened" : subnet.error().message();
}

TEST(SubnetText, SaysAllThatASubnetNeeds) {
  const auto text = parse_subnet("4-ary-3-tree:100,lmc=2,hosts=8,lids=report,failed=root3,failed=leaf0-middle1");
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(text->shape, "4-ary-3-tree:100,hosts=8");
  EXPECT_EQ(text->lmc, 2U);
  EXPECT_EQ(text->rule.name, kReportLids.name);
  EXPECT_THAT(text->failed, ElementsAre("root3", "leaf0-middle1"));
}

TEST(SubnetText, GivesAsManyLidsAsItSays) {
  EXPECT_EQ(open_subnet(*parse_subnet("6-ary-2-tree:30"))->lids.lmc, 3U);
  EXPECT_EQ(open_subnet(*parse_subnet("6-ary-2-tree:30"), 0)->lids.lmc, 0U);
  EXPECT_EQ(open_subnet(*parse_subnet("6-ary-2-tree:30,lmc=1"), 0)->lids.lmc, 1U);
  EXPECT_EQ(open_subnet(*parse_subnet("6-ary-2-tree:30,lmc=all"), 0)->lids.lmc, 3U);
}

TEST(SubnetText, TakesOutWhatHasFailed) {
  const auto subnet = open_subnet(*parse_subnet("6-ary-2-tree:30,failed=host7,failed=leaf0-root1"));
  ASSERT_TRUE(subnet) << subnet.error().message();
  EXPECT_FALSE(subnet->fabric.hosts[7].present);
  EXPECT_EQ(lft_file(*subnet), lft_file(testing::subnet_of("6-ary-2-tree:30", {}, "host7,leaf0-root1")));
}

TEST(SubnetText, NamesAFileWhereItIsNoTree) {
  const auto text = parse_subnet("plans/a,b.net,lmc=2");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->shape, "plans/a,b.net");
  EXPECT_EQ(text->lmc, 2U);
  static std::string asked;
  const auto read = [](const std::string& path) -> Result<std::string> {
    asked = path;
    return "not what ibnetdiscover prints";
  };
  const auto subnet = open_subnet(*text, {}, read);
  ASSERT_FALSE(subnet);
  EXPECT_EQ(asked, "plans/a,b.net");
  EXPECT_THAT(subnet.error().fact, HasSubstr("plans/a,b.net: "));
}

TEST(SubnetText, RefusesInOneLine) {
  EXPECT_THAT(refusal("6-ary-2-tree,lmc=8"), HasSubstr("lmc cannot be '8': expected 0 to 7, or all"));
  EXPECT_THAT(refusal("6-ary-2-tree,lmc"), HasSubstr("'lmc' has no value"));
  EXPECT_THAT(refusal("6-ary-2-tree,fail=host0"), HasSubstr("did you mean failed?"));
  EXPECT_THAT(refusal("6-ary-2-tree,failed=root9"), HasSubstr("the fabric has no 'root9'"));
  EXPECT_THAT(refusal("6-ary-2-tree,lids=own"), HasSubstr("no LID rule is called 'own'"));
  EXPECT_THAT(refusal("nowhere"), HasSubstr("and it is not a tree"));
}

} // namespace
} // namespace heddle::routing
