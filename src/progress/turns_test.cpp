#include "progress/turns.hpp"

#include <gtest/gtest.h>

namespace heddle::progress {
namespace {

constexpr std::uint64_t kCall = 200;    // ns: a turn that nobody took
constexpr std::uint64_t kTaken = 3'000; // one that somebody did

TEST(CoreShare, IsSharedOnceATurnIsTaken) {
  CoreShare core(false);
  for (int i = 0; i < 1000; ++i) core.note_turn(kCall + static_cast<std::uint64_t>(i) % 100);
  EXPECT_FALSE(core.shared());
  core.note_turn(kTaken);
  EXPECT_TRUE(core.shared());
}

TEST(CoreShare, IsOnesOwnAgainAfterManyTurnsThatNobodyTook) {
  CoreShare core(true);
  for (int i = 0; i < 63; ++i) core.note_turn(kCall);
  EXPECT_TRUE(core.shared());
  core.note_turn(kTaken); // counts anew
  for (int i = 0; i < 63; ++i) core.note_turn(kCall);
  EXPECT_TRUE(core.shared());
  core.note_turn(kCall);
  EXPECT_FALSE(core.shared());
}

// A machine whose calls take a tenth of the time: its switches do, too.
TEST(CoreShare, KnowsATurnByTheMachinesOwnMeasure) {
  CoreShare core(false);
  core.note_turn(kCall / 10);
  core.note_turn(kTaken / 10);
  EXPECT_TRUE(core.shared());
}

constexpr std::uint64_t kTimeSlice = 3'000'000; // ns: somebody computes
constexpr std::uint64_t kOneSecond = 1'000'000'000;

class TurnLengthTest : public testing::Test {
 protected:
  // Waits for so long, each of so many turns where turns are given; the time that turns have taken.
  std::uint64_t wait(std::uint64_t ns, std::uint64_t turn_ns, int turns = 1) {
    std::uint64_t spent = 0;
    for (const std::uint64_t end = now_ + ns; now_ < end; now_ += kAsleep) {
      if (!length_.gives_turns(now_)) continue;
      for (int turn = 0; turn < turns; ++turn) {
        length_.note_turn(turn_ns);
        spent += turn_ns;
        now_ += turn_ns;
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

  static constexpr std::uint64_t kAsleep = 100'000; // ns, of a wait
  std::uint64_t now_ = 1;
  TurnLength length_{2};
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
  TurnLength other{2};
  wait(10 * kOneSecond, kTimeSlice);
  for (int i = 0; i < 100; ++i) other.note_turn(kTimeSlice);
  std::uint64_t both = 0;
  for (const std::uint64_t end = now_ + 5 * kOneSecond; now_ < end; now_ += kAsleep) {
    const bool here = length_.gives_turns(now_);
    both += here && other.gives_turns(now_) ? 1 : 0;
  }
  EXPECT_GT(both, 3U * 20);
}

TEST_F(TurnLengthTest, LetsManyProcessesHaveLongerTurns) {
  length_ = TurnLength(128);
  for (int i = 0; i < 100; ++i) length_.note_turn(10'000'000);
  EXPECT_TRUE(gives_turns());
}

} // namespace
} // namespace heddle::progress
