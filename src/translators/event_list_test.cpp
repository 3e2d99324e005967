#include "translators/event_list.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::translators {
namespace {

TEST(EventList, GivesEventsInOrderAndNoMoreThanAskedFor) {
  EventList list;
  std::array<ir::Event, 3> to;
  std::uint64_t pushed = 0;
  std::uint64_t popped = 0;
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < round % 7; ++i) list.push({.cookie = pushed++});
    const std::size_t count = list.pop(std::span(to).first(static_cast<std::size_t>(round) % 4));
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(to[i].cookie, popped++);
  }
  while (!list.empty())
    for (std::size_t i = list.pop(to); i > 0; --i) ++popped;
  EXPECT_EQ(popped, pushed);
  EXPECT_EQ(list.pop(to), 0U);
}

TEST(EventList, ThatNeverRunsEmptyStaysSmall) {
  EventList list;
  std::array<ir::Event, 1> to;
  list.push({});
  for (int i = 0; i < 100'000; ++i) {
    list.push({});
    ASSERT_EQ(list.pop(to), 1U);
    ASSERT_LE(list.stored(), 4U);
  }
}

} // namespace
} // namespace heddle::translators
