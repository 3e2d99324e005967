#include "progress/turns.hpp"

#include <gtest/gtest.h>

namespace heddle::progress {
namespace {

constexpr std::uint64_t kCall = 200;    // ns: a turn that nobody took
constexpr std::uint64_t kTaken = 3'000; // one that somebody did

TEST(CoreShare, IsSharedOnceTurnsAreTaken) {
  CoreShare core(false);
  for (int i = 0; i < 1000; ++i) core.note_turn(kCall + static_cast<std::uint64_t>(i) % 100, 1);
  for (int i = 0; i < 100; ++i) { // the system has something to do, now and then
    core.note_turn(kTaken, 1);
    core.note_turn(kCall, 1);
  }
  EXPECT_FALSE(core.shared());
  for (int i = 0; i < 8; ++i) core.note_turn(kTaken, 1);
  EXPECT_TRUE(core.shared());
}

TEST(CoreShare, IsOnesOwnAgainAfterManyTurnsThatNobodyTookInALongTime) {
  CoreShare core(true);
  std::uint64_t now = 1;
  const auto unused = [&](int turns, std::uint64_t between_ns) {
    for (int i = 0; i < turns; ++i) core.note_turn(kCall, now += between_ns);
  };
  unused(10'000, kCall); // two milliseconds: the system may think that others have had their share
  EXPECT_TRUE(core.shared());
  core.note_turn(kTaken, now); // counts anew
  unused(60, 1'000'000);
  EXPECT_TRUE(core.shared());
  unused(10, 1'000'000);
  EXPECT_FALSE(core.shared());
}

TEST(CoreShare, IsNoneWhereSomebodyComputes) {
  CoreShare core(false);
  core.note_turn(4'000'000, 1);
  EXPECT_FALSE(core.shared());
  EXPECT_FALSE(core.may_try(500'000'000)) << "each try costs a time slice";
  EXPECT_TRUE(core.may_try(1'100'000'000));
}

// A machine whose calls take a tenth of the time: its switches do, too.
TEST(CoreShare, KnowsATurnByTheMachinesOwnMeasure) {
  CoreShare core(false);
  core.note_turn(kCall / 10, 1);
  for (int i = 0; i < 8; ++i) core.note_turn(kTaken / 10, 1);
  EXPECT_TRUE(core.shared());
}

constexpr std::uint64_t kTimeSlice = 3'000'000; // ns: somebody computes
constexpr std::uint64_t kOneSecond = 1'000'000'000;

class TurnLengthTest : public testing::Test {
 protected:
  // Gives a turn away that comes back so much later, after it has had the core for so long.
  void take_turn(TurnLength& length, std::uint64_t took_ns, std::uint64_t kept_ns) {
    length.note_sleep(now_);
    now_ += kept_ns;
    length.note_turn(now_, now_ + took_ns);
    now_ += took_ns;
  }
  // Waits for so long, each of so many turns where turns are given; the time that turns have taken.
  std::uint64_t wait(std::uint64_t ns, std::uint64_t turn_ns, int turns = 1) {
    std::uint64_t spent = 0;
    for (const std::uint64_t end = now_ + ns; now_ < end; now_ += kAsleep) {
      if (!length_.gives_turns(now_)) continue;
      for (int turn = 0; turn < turns; ++turn) {
        take_turn(length_, turn_ns, kKept);
        spent += turn_ns;
      }
    }
    return spent;
  }
  // Not only now and then.
  bool gives_turns() {
    for (std::uint64_t i = 0; i < 200; ++i)
      if (!length_.gives_turns(now_ + i * kOneSecond / 100)) return false;
    return true;
  }

  static constexpr std::uint64_t kKept = 2'000;     // ns
  static constexpr std::uint64_t kAsleep = 100'000; // ns, of a wait
  std::uint64_t now_ = 1;
  TurnLength length_{2, now_};
};

TEST_F(TurnLengthTest, GivesTurnsAwayAmongThoseThatWait) {
  wait(kOneSecond, 20'000, 3);
  EXPECT_TRUE(gives_turns());
}

TEST_F(TurnLengthTest, TakesASingleLateTurnForAnAccident) {
  wait(kOneSecond / 10, 20'000);
  wait(1, kTimeSlice);
  EXPECT_TRUE(gives_turns());
}

TEST_F(TurnLengthTest, SleepsWhereOthersComputeAndTriesSeldom) {
  wait(kOneSecond, kTimeSlice);
  EXPECT_FALSE(gives_turns());
  wait(3 * kOneSecond, kTimeSlice);
  EXPECT_LT(wait(100 * kOneSecond, kTimeSlice), kOneSecond) << "less than a hundredth of the time";
}

TEST_F(TurnLengthTest, GivesTurnsAwayAgainSoonAfterOthersHaveStopped) {
  wait(10 * kOneSecond, kTimeSlice);
  wait(kOneSecond + kOneSecond / 10, 20'000);
  EXPECT_TRUE(gives_turns());
}

TEST_F(TurnLengthTest, TriesAtTheSameTimeWhereverItBegan) {
  TurnLength other{2, now_};
  wait(10 * kOneSecond, kTimeSlice);
  for (int i = 0; i < 100; ++i) take_turn(other, kTimeSlice, kKept);
  std::uint64_t both = 0;
  for (const std::uint64_t end = now_ + 5 * kOneSecond; now_ < end; now_ += kAsleep) {
    const bool here = length_.gives_turns(now_);
    both += here && other.gives_turns(now_) ? 1 : 0;
  }
  EXPECT_GT(both, 3U * 20);
}

TEST_F(TurnLengthTest, LetsThoseWithMuchToDoHaveLongerTurns) {
  for (int i = 0; i < 100; ++i) take_turn(length_, 5'000'000, 800'000);
  EXPECT_TRUE(gives_turns());
}

TEST_F(TurnLengthTest, LetsManyProcessesHaveLongerTurns) {
  length_ = TurnLength(128, now_);
  for (int i = 0; i < 100; ++i) take_turn(length_, 10'000'000, kKept);
  EXPECT_TRUE(gives_turns());
}

// The machine has run for a month, the process has not.
TEST_F(TurnLengthTest, CountsNothingFromBeforeTheProcessBegan) {
  now_ = 30 * 86'400 * kOneSecond;
  length_ = TurnLength(2, now_);
  for (int i = 0; i < 10; ++i) {
    now_ += kKept;
    length_.note_turn(now_, now_ + kTimeSlice);
    now_ += kTimeSlice;
  }
  EXPECT_FALSE(gives_turns());
}

} // namespace
} // namespace heddle::progress
