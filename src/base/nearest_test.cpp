#include "base/nearest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::base {
namespace {

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("ring", "ring"), 0U);
  EXPECT_EQ(edit_distance("rnig", "ring"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsTheNameMeant) {
  constexpr std::array<std::string_view, 3> kKnown{"eager_limit", "ring_bytes", "ring_memory"};
  EXPECT_EQ(nearest("eagerlimit", kKnown), "eager_limit");
  EXPECT_EQ(nearest("ring_mem", kKnown), "ring_memory");
  EXPECT_EQ(nearest("x", {}), "");
}

} // namespace
} // namespace heddle::base
