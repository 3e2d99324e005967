#include "paths/plan_file.hpp"

#include "paths/plan.hpp"

#include <gmock/gmock.h>

namespace heddle::paths {
namespace {

using ::testing::HasSubstr;

// Four nodes whose offsets all differ, as far as eight LIDs allow; between them are LIDs that belong to nobody.
Plan example() {
  Plan plan{.lmc = 3, .lids = {8, 16, 48, 0xBFF8}};
  for (std::uint8_t i = 0; i < 16; ++i) plan.offsets.push_back(i % 8);
  return plan;
}

void expect_refused(const std::string& file, const std::string& fact) {
  const auto parsed = parse_plan(file);
  ASSERT_FALSE(parsed) << fact;
  EXPECT_THAT(parsed.error().message(), HasSubstr(fact));
}

TEST(PlanFile, IsReadAsItWasWritten) {
  const std::string file = to_file(example());
  EXPECT_EQ(file.size(), 24U + 8 + 4 * 8);
  const auto parsed = parse_plan(file);
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, example());
}

TEST(PlanFile, HasWhatANodeNeedsInItsRow) {
  const Plan plan = example();
  const std::string file = to_file(plan);
  const Shape shape{.nodes = 4, .lmc = 3};
  const auto* const row = reinterpret_cast<const Byte*>(file.data()) + shape.row_at(2);
  for (std::uint32_t other = 0; other < 4; ++other) {
    EXPECT_EQ(row[other], plan.offset(2, other));
    EXPECT_EQ(row[4 + other], plan.offset(other, 2));
  }
}

TEST(PlanFile, FindsTheNodeOfEveryLid) {
  const std::string file = to_file(example());
  const auto* const lids = reinterpret_cast<const Byte*>(file.data()) + kHeaderBytes;
  const Shape shape{.nodes = 4, .lmc = 3};
  for (std::uint32_t lid = 0; lid <= 0xFFFF; ++lid) {
    std::uint32_t expected = 4;
    for (std::uint32_t node = 0; node < 4; ++node)
      if (lid / 8 == example().lids[node] / 8U) expected = node;
    ASSERT_EQ(node_of(lids, shape, lid), expected) << lid;
  }
}

TEST(PlanFile, SaysWhatIsWrongWithIt) {
  const std::string good = to_file(example());
  const auto with = [&good](std::size_t at, char value) {
    std::string file = good;
    file[at] = value;
    return file;
  };
  expect_refused("", "it has only 0 bytes");
  expect_refused("#!/bin/sh\necho this is no plan at all\n", "does not begin with 'heddle paths 1'");
  expect_refused(with(13, '2'), "does not begin with 'heddle paths 1'");
  expect_refused(with(16, 0), "expected 1 to 49151");
  expect_refused(with(18, 1), "expected 1 to 49151");
  expect_refused(with(20, 8), "expected 0 to 7");
  expect_refused(good.substr(0, good.size() - 1), "it was cut off");
  expect_refused(good + "x", "it was cut off");
  expect_refused(with(16, 5), "it was cut off");
  expect_refused(with(24, 9), "ascending multiples of 2^lmc");
  expect_refused(with(24, 24), "ascending multiples of 2^lmc");
  expect_refused(with(31, '\xC0'), "ascending multiples of 2^lmc");
  expect_refused(with(32 + 8 + 1, 8), "node 1: it holds an offset that is not below 2^lmc");
  expect_refused(with(32 + 1, 7), "nodes 1 and 0: it says two offsets for one path");
}

} // namespace
} // namespace heddle::paths
