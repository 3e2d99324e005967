#include "onesided/work.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace heddle::onesided {
namespace {

// What is done, in order.
struct Log {
  std::string text;
  bool operator()(const Granted&) { return note("granted"); }
  bool operator()(const Closed&) { return note("closed"); }
  bool operator()(const Gathered&) { return note("gathered"); }
  bool note(const char* what) {
    text += text.empty() ? what : std::string(" ") + what;
    return true;
  }
};

TEST(Work, DoesWhatIsReadyInItsOrderAndWhatComesOfItAfterwards) {
  Work work;
  KnownArea area;
  Log log;
  EXPECT_FALSE(work.busy());
  work.add(Granted{&area});
  work.add(Gathered{});
  EXPECT_TRUE(work.busy());
  bool first = true;
  work.settle([&](const auto& task) {
    log(task);
    if (std::exchange(first, false)) work.add(Closed{&area});
  });
  EXPECT_EQ(log.text, "granted gathered closed");
  EXPECT_FALSE(work.busy());
  EXPECT_FALSE(work.tries_again());
}

TEST(Work, LeavesWhatComesUpInTheMiddleToTheOuterCall) {
  Work work;
  KnownArea area;
  Log log;
  work.add(Granted{&area});
  work.settle([&](const auto& task) {
    log(task);
    if (log.text != "granted") return;
    work.add(Closed{&area});
    work.settle([&](const auto&) { log.note("too soon"); });
    log.note("end");
  });
  EXPECT_EQ(log.text, "granted end closed");
}

TEST(Work, GoesOnAfterATaskThatThrew) {
  Work work;
  KnownArea area;
  Log log;
  work.add(Granted{&area});
  work.add(Closed{&area});
  EXPECT_THROW(work.settle([](const auto&) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(work.busy());
  work.settle([&](const auto& task) { log(task); });
  EXPECT_EQ(log.text, "closed");
  EXPECT_FALSE(work.busy());
}

// As the engine does at every call of progress.
template <typename Try>
std::size_t progress(Work& work, const Try& attempt) {
  const std::size_t done = work.try_all(attempt);
  work.settle([](const auto&) {});
  return done;
}
constexpr auto kNever = [](const auto&) { return false; };
constexpr auto kAlways = [](const auto&) { return true; };

// Does those, and notes what it sees.
struct MissedOnly {
  std::string& order;
  bool operator()(const Missed&) const {
    order += "missed ";
    return true;
  }
  bool operator()(const RelayMessage& message) const {
    order += "message of " + std::to_string(message.bytes.size());
    return false;
  }
  bool operator()(const auto&) const { return true; }
};

TEST(Work, TriesAgainUntilItIsDone) {
  Work work;
  work.retry(Missed{.number = 3, .rank = 1});
  work.retry(RelayMessage{{std::byte{7}}});
  EXPECT_EQ(progress(work, kNever), 0U);
  EXPECT_TRUE(work.busy());
  EXPECT_TRUE(work.tries_again());
  std::string order;
  EXPECT_EQ(progress(work, MissedOnly{order}), 1U);
  EXPECT_EQ(order, "missed message of 1");
  EXPECT_TRUE(work.busy());
  EXPECT_EQ(progress(work, kAlways), 1U);
  EXPECT_FALSE(work.busy());
}

TEST(Work, LeavesWhatIsAddedMeanwhileToTheNextCall) {
  Work work;
  work.retry(Missed{});
  EXPECT_EQ(progress(work,
                     [&work](const auto&) {
                       work.retry(Missed{});
                       return true;
                     }),
            1U);
  EXPECT_TRUE(work.busy());
  EXPECT_EQ(progress(work, kAlways), 1U);
  EXPECT_FALSE(work.busy());
}

TEST(Work, DropsWhatIsNoLongerWaitedForAlsoWhileItTries) {
  Work work;
  KnownArea one;
  KnownArea other;
  work.retry(LockTurn{&one});
  work.retry(LockTurn{&other});
  std::size_t tried = 0;
  EXPECT_EQ(progress(work,
                     [&](const auto&) {
                       ++tried;
                       work.drop(other);
                       return false;
                     }),
            0U);
  EXPECT_EQ(tried, 1U);
  EXPECT_TRUE(work.busy());
  work.drop(one);
  EXPECT_EQ(progress(work, kAlways), 0U);
  EXPECT_FALSE(work.busy());
}

TEST(Work, KeepsAnAttemptThatThrew) {
  Work work;
  work.retry(Missed{});
  EXPECT_THROW(work.try_all([](const auto&) -> bool { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(progress(work, kAlways), 1U);
}

TEST(Work, ALocksTurnIsToldUnlessProcessesHaveDied) {
  Work work;
  KnownArea area;
  work.retry(LockTurn{&area});
  EXPECT_FALSE(work.tries_again());
  area.seat.alert = true;
  EXPECT_TRUE(work.tries_again());
  work.drop(area);
  EXPECT_FALSE(work.tries_again());
}

} // namespace
} // namespace heddle::onesided
