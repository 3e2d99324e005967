#include "progress/sleeper.hpp"

#include "progress/fakes_for_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>

namespace heddle::progress {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class SleeperTest : public testing::Test {
 protected:
  // Waits in vain until it has slept, or has decided not to.
  void wait_in_vain(std::uint64_t end_ns = Sleeper::kNoEnd) {
    diary.clear();
    for (int i = 0; i < 10'000 && diary.empty(); ++i) sleeper.pass_time(0, end_ns);
  }
  static bool readable(int descriptor, int limit_ms = 0) {
    pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, limit_ms) == 1;
  }
  static void make_readable(int event) { ASSERT_EQ(::eventfd_write(event, 1), 0); }

  Diary diary;
  base::Log log{LogLevel::silent};
  base::FlightRecorder recorder{0};
  FakeStore store{diary};
  FakePendingWork work{diary};
  FakeNetwork network{diary};
  std::vector<ir::Translator*> networks{&network};
  Lookout lookout{{.store = store, .work = work, .log = log, .recorder = recorder}, {}};
  Sleeper sleeper{work, lookout, {.waiting = Waiting::automatic, .spin = 0us, .on_each = 2}, networks};
};

TEST_F(SleeperTest, LooksOnceMoreBetweenAnnouncingAndSleeping) {
  wait_in_vain();
  EXPECT_THAT(diary, ElementsAre("announce", "round", "last look", "sleep", "try again"));
}

TEST_F(SleeperTest, DoesNotSleepWhenThatFindsSomething) {
  work.to_do = 1;
  wait_in_vain();
  EXPECT_THAT(diary, ElementsAre("announce", "round", "cancel"));
}

TEST_F(SleeperTest, DoesNotSleepWhenANetworkHasBroughtSomething) {
  work.brought = 1;
  wait_in_vain();
  EXPECT_THAT(diary, ElementsAre("announce", "round", "last look", "cancel"));
}

// It might hold a lock or a slot that others wait for.
TEST_F(SleeperTest, SeesAnOwnCommandThroughBeforeItSleeps) {
  work.answers = true;
  wait_in_vain();
  EXPECT_EQ(std::ranges::count(diary, "round"), 5);
}

TEST_F(SleeperTest, SleepsUntilTheNextLookOrItsEndAtMost) {
  wait_in_vain();
  wait_in_vain(1); // long past
  EXPECT_THAT(network.sleeps, ElementsAre(20ms, 0ms));
}

TEST_F(SleeperTest, TakesEverLongerNapsWhileSomethingMustBeTriedAgain) {
  work.tries_again = true;
  for (int i = 0; i < 10; ++i) wait_in_vain();
  EXPECT_THAT(network.sleeps, ElementsAre(100us, 200us, 400us, 800us, 1600us, 3200us, 6400us, 12800us, 20ms, 20ms));
  sleeper.pass_time(1); // something was done
  wait_in_vain();
  EXPECT_EQ(network.sleeps.back(), 100us);
}

TEST_F(SleeperTest, NapsWhereSomethingMayArriveUntold) {
  network.tells = false;
  wait_in_vain();
  ASSERT_EQ(network.sleeps.size(), 1U);
  EXPECT_LT(network.sleeps[0], 1ms);
}

TEST_F(SleeperTest, HasADescriptorThatANetworkMakesReadable) {
  const auto descriptor = sleeper.descriptor();
  ASSERT_TRUE(descriptor);
  EXPECT_EQ(*sleeper.descriptor(), *descriptor) << "always the same";
  ASSERT_TRUE(sleeper.ready_to_sleep().value());
  EXPECT_FALSE(readable(*descriptor));
  make_readable(network.ready);
  EXPECT_TRUE(readable(*descriptor));
}

TEST_F(SleeperTest, IsNotReadyToSleepWhileThereIsSomethingToDo) {
  work.events = true;
  EXPECT_FALSE(sleeper.ready_to_sleep().value());
  work.events = false;
  work.to_do = 1;
  EXPECT_FALSE(sleeper.ready_to_sleep().value());
  EXPECT_EQ(diary.back(), "cancel");
  EXPECT_TRUE(sleeper.ready_to_sleep().value());
}

TEST_F(SleeperTest, WakesAProgramsLoopForWhatMustBeTriedAgain) {
  work.tries_again = true;
  ASSERT_TRUE(sleeper.ready_to_sleep().value());
  EXPECT_TRUE(readable(*sleeper.descriptor(), 60'000));
}

TEST_F(SleeperTest, WakesAProgramsLoopForANetworkThatWantsToBePolled) {
  ASSERT_TRUE(sleeper.ready_to_sleep().value());
  EXPECT_FALSE(readable(*sleeper.descriptor(), 50));
  network.must_be_polled_within = 1ms;
  ASSERT_TRUE(sleeper.ready_to_sleep().value());
  EXPECT_TRUE(readable(*sleeper.descriptor(), 60'000));
}

TEST_F(SleeperTest, HearsTheStoreInAProgramsLoopUntilItIsLost) {
  ASSERT_TRUE(sleeper.ready_to_sleep().value());
  make_readable(store.ready);
  EXPECT_TRUE(readable(*sleeper.descriptor()));
  store.broken = true;
  ASSERT_TRUE(sleeper.ready_to_sleep().value());
  EXPECT_FALSE(readable(*sleeper.descriptor())) << "or the program would never sleep again";
}

} // namespace
} // namespace heddle::progress
