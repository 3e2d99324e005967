#include "progress/peer_news.hpp"

#include "progress/fakes_for_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::progress {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PeerNewsTest : public testing::Test {
 protected:
  Diary diary;
  std::string lines;
  base::Log log{LogLevel::warning, 1, [this](std::string_view line) { lines += line; }};
  FakeStore store{diary};
  FakePendingWork work{diary};
  PeerNews news{store, work, log};
};

TEST_F(PeerNewsTest, TellsWhoHasFailedAndWhoHasLeft) {
  store.news = {{.rank = 2, .failed = true}, {.rank = 0, .failed = false}};
  news.take();
  EXPECT_THAT(diary, ElementsAre("failed 2", "left 0"));
}

TEST_F(PeerNewsTest, TellsOfADepartureAgainUntilAllThatTheProcessSaidIsHere) {
  work.still_speaks = 2;
  store.news = {{.rank = 2, .failed = false}, {.rank = 0, .failed = false}};
  news.take();
  EXPECT_THAT(diary, ElementsAre("left 0"));
  news.look(1000 * kMs);
  EXPECT_THAT(diary, ElementsAre("left 0"));
  work.still_speaks = 3;
  news.look(1020 * kMs);
  news.look(1040 * kMs);
  EXPECT_THAT(diary, ElementsAre("left 0", "left 2"));
}

TEST_F(PeerNewsTest, TakesAllThereIsAtOnce) {
  for (std::uint32_t i = 0; i < 40; ++i) store.news.push_back({.rank = i, .failed = false});
  news.take();
  EXPECT_EQ(diary.size(), 40U);
  EXPECT_EQ(diary.back(), "left 39");
}

TEST_F(PeerNewsTest, CountsEverybodyElseAsFailedWhenTheStoreIsGoneAndAsksNoMore) {
  store.broken = true;
  news.look(1000 * kMs);
  EXPECT_THAT(diary, ElementsAre("failed 0", "failed 2", "failed 3"));
  EXPECT_THAT(lines, HasSubstr("no more news of failed peers: store_failed: the store is gone"));
  EXPECT_TRUE(news.lost());
  work.absent = true;
  work.oldest = 0;
  const int takes = store.takes;
  news.look(2000 * kMs);
  news.take();
  news.watch_departures();
  EXPECT_EQ(diary.size(), 3U);
  EXPECT_EQ(store.takes, takes);
}

// Telling everybody of everybody who leaves would be the square of it.
TEST_F(PeerNewsTest, AsksWhoHasLeftOnlyWhenSomethingHasWaitedLong) {
  std::uint64_t now = 1000 * kMs;
  work.counted = 5;
  work.oldest = 6; // begins after it was counted
  news.look(now);
  work.counted = 10;
  news.look(now += 199 * kMs);
  EXPECT_THAT(diary, IsEmpty());
  work.oldest = 9; // has begun since it was last counted
  news.look(now += kMs);
  EXPECT_THAT(diary, IsEmpty());
  news.look(now += 200 * kMs);
  EXPECT_THAT(diary, ElementsAre("watch departures"));
  news.look(now += 200 * kMs);
  EXPECT_EQ(diary.size(), 1U) << "once is enough";
}

TEST_F(PeerNewsTest, AsksAgainWhereTheStoreWasTooSlow) {
  store.slow = true;
  news.watch_departures();
  store.slow = false;
  news.watch_departures();
  news.watch_departures();
  EXPECT_THAT(diary, ElementsAre("watch departures", "watch departures"));
}

TEST_F(PeerNewsTest, OfAnAbsentPeerAreAwaitedForTenSeconds) {
  work.absent = true;
  std::uint64_t now = 1000 * kMs;
  news.look(now);
  EXPECT_THAT(diary, ElementsAre("watch departures"));
  news.look(now += 10'000 * kMs);
  EXPECT_EQ(diary.size(), 1U);
  work.absent = false; // they have come
  news.look(now += kMs);
  work.absent = true;
  news.look(now += kMs);
  news.look(now += 10'000 * kMs);
  EXPECT_EQ(diary.size(), 1U);
  news.look(now += kMs);
  EXPECT_THAT(diary, ElementsAre("watch departures", "give up"));
}

} // namespace
} // namespace heddle::progress
