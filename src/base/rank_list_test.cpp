#include "base/rank_list.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::base {
namespace {

TEST(RankList, JoinsNeighbours) {
  EXPECT_EQ(print_ranks({}), "");
  EXPECT_EQ(print_ranks(std::vector<std::uint32_t>{4}), "4");
  EXPECT_EQ(print_ranks(std::vector<std::uint32_t>{0, 1, 3, 5, 6, 7}), "0-1,3,5-7");
}

} // namespace
} // namespace heddle::base
