#include "progress/lookout.hpp"

#include "progress/fakes_for_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::progress {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class LookoutTest : public testing::Test {
 protected:
  // Looks every quarter of a second until there is something to see, up to the time given.
  void look_for(Lookout& lookout, std::uint64_t seconds) {
    for (const std::uint64_t end = now + seconds * 1000 * kMs; now < end && diary.empty() && lines.empty();)
      lookout.look(now += 250 * kMs);
  }

  Diary diary;
  std::string lines;
  base::Log log{LogLevel::warning, 1, [this](std::string_view line) { lines += line; }};
  base::FlightRecorder recorder{16};
  FakeStore store{diary};
  FakePendingWork work{diary};
  const Watchdog::Means means{.store = store, .work = work, .log = log, .recorder = recorder};
  std::uint64_t now = 5000 * kMs;
};

TEST_F(LookoutTest, AsksTheStoreOnceInManyRounds) {
  Lookout lookout(means, {});
  for (int round = 1; round < 64; ++round) lookout.note_round(0);
  EXPECT_EQ(store.takes, 0);
  lookout.note_round(0);
  EXPECT_EQ(store.takes, 1);
}

TEST_F(LookoutTest, AsksTheStoreNotMoreOftenThanEveryTwentyMilliseconds) {
  Lookout lookout(means, {});
  lookout.look(now);
  lookout.look(now + 19 * kMs);
  EXPECT_EQ(store.takes, 1);
  lookout.look(now + 20 * kMs);
  EXPECT_EQ(store.takes, 2);
}

TEST_F(LookoutTest, OfASimulatedProcessNeverLooks) {
  Lookout lookout(means, {.looks = false});
  work.refused_messages = 1;
  for (int round = 0; round < 1000; ++round) lookout.note_round(0);
  lookout.look(now);
  EXPECT_EQ(store.takes, 0);
  EXPECT_EQ(lines, "");
}

TEST_F(LookoutTest, WarnsOnceOfMessagesThatWereRefused) {
  Lookout lookout(means, {.unsolicited_memory = 4096});
  work.refused_messages = 3;
  lookout.look(now);
  EXPECT_THAT(lines, AllOf(HasSubstr("3 unsolicited messages were refused"), HasSubstr("is 4096 bytes")));
  lines.clear();
  lookout.look(now += 20 * kMs);
  EXPECT_EQ(lines, "");
}

// On a crowded machine only a part of the time counts, a sixtieth at least.
TEST_F(LookoutTest, ReportsToTheLauncherWhenNothingMoves) {
  recorder.record("connect", 2);
  work.waiting = "a receive from rank 2\n";
  Lookout lookout(means, {.watchdog = std::chrono::seconds(1)});
  look_for(lookout, 70);
  ASSERT_EQ(diary.size(), 1U);
  EXPECT_THAT(diary[0], HasSubstr("stalled for "));
  EXPECT_THAT(store.report,
              AllOf(HasSubstr("a receive from rank 2\n"), HasSubstr("last moments: "), HasSubstr("connect")));
  EXPECT_EQ(lines, "");
}

TEST_F(LookoutTest, SaysItInTheLogWhereThereIsNoLauncher) {
  store.launcher = false;
  work.waiting = "a receive from rank 2\na barrier\n";
  Lookout lookout(means, {.watchdog = std::chrono::seconds(1)});
  look_for(lookout, 70);
  EXPECT_THAT(lines, AllOf(HasSubstr("nothing has moved for "), HasSubstr("waiting:\n"),
                           HasSubstr("  a receive from rank 2\n"), HasSubstr("  a barrier\n")));
}

TEST_F(LookoutTest, SaysNothingWhileSomethingMoves) {
  work.waiting = "a receive from rank 2\n";
  Lookout lookout(means, {.watchdog = std::chrono::seconds(1)});
  for (int i = 0; i < 400; ++i) {
    if (i % 2 == 0) lookout.watchdog().moved();
    lookout.look(now += 250 * kMs);
  }
  EXPECT_THAT(diary, IsEmpty());
  EXPECT_EQ(lines, "");
}

TEST_F(LookoutTest, SaysNothingWhereNothingIsWaitedFor) {
  Lookout lookout(means, {.watchdog = std::chrono::seconds(1)});
  look_for(lookout, 200);
  EXPECT_THAT(diary, IsEmpty());
}

} // namespace
} // namespace heddle::progress
