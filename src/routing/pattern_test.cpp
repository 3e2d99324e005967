#include "routing/pattern.hpp"

#include <gmock/gmock.h>

#include <set>

namespace heddle::routing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Pattern, ShiftsUseEveryPairOnce) {
  const Pattern pattern = Pattern::shift(7);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  Stage stage;
  for (std::size_t i = 0; i < pattern.stages(); ++i) {
    pattern.fill(i, stage);
    for (const Flow& flow : stage) {
      EXPECT_EQ((flow.from + pattern.label(i)) % 7, flow.to);
      EXPECT_TRUE(pairs.insert({flow.from, flow.to}).second);
    }
  }
  EXPECT_EQ(pairs.size(), 42U);
}

TEST(Pattern, DoublingSkipsPartnersThatAreNotThere) {
  const Pattern pattern = Pattern::doubling(6);
  ASSERT_EQ(pattern.stages(), 3U);
  Stage stage;
  pattern.fill(2, stage);
  EXPECT_THAT(stage, ElementsAre(Flow{0, 4}, Flow{1, 5}, Flow{4, 0}, Flow{5, 1}));
}

TEST(Pattern, NeighboursFormARing) {
  const Pattern pattern = Pattern::neighbour(3);
  Stage stage;
  pattern.fill(1, stage);
  EXPECT_THAT(stage, ElementsAre(Flow{0, 2}, Flow{1, 0}, Flow{2, 1}));
  EXPECT_EQ(Pattern::neighbour(1).stages(), 0U);
}

TEST(Pattern, IsReadFromAFile) {
  const auto pattern = parse_pattern("# two stages\n1 0 -\n\n 2\t- 0 # swap\r\n", 3);
  ASSERT_TRUE(pattern) << pattern.error().message();
  ASSERT_EQ(pattern->stages(), 2U);
  Stage stage;
  pattern->fill(1, stage);
  EXPECT_THAT(stage, ElementsAre(Flow{0, 2}, Flow{2, 0}));
}

TEST(Pattern, NamesTheLineThatIsWrong) {
  const auto fact = [](std::string_view text) { return parse_pattern(text, 3).error().fact; };
  EXPECT_THAT(fact("1 0 2\n1 0"), HasSubstr("line 2: ends after 2 of the 3 nodes"));
  EXPECT_THAT(fact("1 0 2 -"), HasSubstr("line 1: more than the 3 nodes"));
  EXPECT_THAT(fact("#\n1 1 -"), HasSubstr("line 2: two nodes send to node 1"));
  EXPECT_THAT(fact("1 3 -"), HasSubstr("line 1: '3' is not a node from 0 to 2"));
  EXPECT_THAT(fact("1 x -"), HasSubstr("'x' is not a node"));
  EXPECT_THAT(fact("# nothing\n"), HasSubstr("no stage"));
}

} // namespace
} // namespace heddle::routing
