#include "base/reserve.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(Reserve, IsOrdinaryMemoryWhileThereIsSome) {
  ASSERT_TRUE(Reserve::keep());
  BackedVector<int> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  BackedMap<int, int> squares;
  for (int i = 0; i < 100; ++i) squares[i] = i * i;
  EXPECT_EQ(numbers[999], 999);
  EXPECT_EQ(squares[99], 9801);
  EXPECT_TRUE(Reserve::may_begin());
}

} // namespace
} // namespace heddle::base
