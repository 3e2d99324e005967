#include "onesided/work_list.hpp"

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

TEST(WorkList, DoesWhatIsReadyInItsOrderAndWhatComesOfItAfterwards) {
  WorkList list;
  KnownArea area;
  Log log;
  EXPECT_FALSE(list.busy());
  list.add(Granted{&area});
  list.add(Gathered{});
  EXPECT_TRUE(list.busy());
  bool first = true;
  list.settle([&](const auto& task) {
    log(task);
    if (std::exchange(first, false)) list.add(Closed{&area});
  });
  EXPECT_EQ(log.text, "granted gathered closed");
  EXPECT_FALSE(list.busy());
  EXPECT_FALSE(list.tries_again());
}

TEST(WorkList, LeavesWhatComesUpInTheMiddleToTheOuterCall) {
  WorkList list;
  KnownArea area;
  Log log;
  list.add(Granted{&area});
  list.settle([&](const auto& task) {
    log(task);
    if (log.text != "granted") return;
    list.add(Closed{&area});
    list.settle([&](const auto&) { log.note("too soon"); });
    log.note("end");
  });
  EXPECT_EQ(log.text, "granted end closed");
}

TEST(WorkList, GoesOnAfterATaskThatThrew) {
  WorkList list;
  KnownArea area;
  Log log;
  list.add(Granted{&area});
  list.add(Closed{&area});
  EXPECT_THROW(list.settle([](const auto&) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_TRUE(list.busy());
  list.settle([&](const auto& task) { log(task); });
  EXPECT_EQ(log.text, "closed");
  EXPECT_FALSE(list.busy());
}

// As the engine does at every call of progress.
template <typename Try>
std::size_t progress(WorkList& list, const Try& attempt) {
  const std::size_t done = list.try_all(attempt);
  list.settle([](const auto&) {});
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

TEST(WorkList, TriesAgainUntilItIsDone) {
  WorkList list;
  list.retry(Missed{.number = 3, .rank = 1});
  list.retry(RelayMessage{{std::byte{7}}});
  EXPECT_EQ(progress(list, kNever), 0U);
  EXPECT_TRUE(list.busy());
  EXPECT_TRUE(list.tries_again());
  std::string order;
  EXPECT_EQ(progress(list, MissedOnly{order}), 1U);
  EXPECT_EQ(order, "missed message of 1");
  EXPECT_TRUE(list.busy());
  EXPECT_EQ(progress(list, kAlways), 1U);
  EXPECT_FALSE(list.busy());
}

TEST(WorkList, LeavesWhatIsAddedMeanwhileToTheNextCall) {
  WorkList list;
  list.retry(Missed{});
  EXPECT_EQ(progress(list,
                     [&list](const auto&) {
                       list.retry(Missed{});
                       return true;
                     }),
            1U);
  EXPECT_TRUE(list.busy());
  EXPECT_EQ(progress(list, kAlways), 1U);
  EXPECT_FALSE(list.busy());
}

TEST(WorkList, DropsWhatIsNoLongerWaitedForAlsoWhileItTries) {
  WorkList list;
  KnownArea one;
  KnownArea other;
  list.retry(LockTurn{&one});
  list.retry(LockTurn{&other});
  std::size_t tried = 0;
  EXPECT_EQ(progress(list,
                     [&](const auto&) {
                       ++tried;
                       list.drop(other);
                       return false;
                     }),
            0U);
  EXPECT_EQ(tried, 1U);
  EXPECT_TRUE(list.busy());
  list.drop(one);
  EXPECT_EQ(progress(list, kAlways), 0U);
  EXPECT_FALSE(list.busy());
}

TEST(WorkList, KeepsAnAttemptThatThrew) {
  WorkList list;
  list.retry(Missed{});
  EXPECT_THROW(list.try_all([](const auto&) -> bool { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(progress(list, kAlways), 1U);
}

TEST(WorkList, ALocksTurnIsToldUnlessProcessesHaveDied) {
  WorkList list;
  KnownArea area;
  list.retry(LockTurn{&area});
  EXPECT_FALSE(list.tries_again());
  area.seat.alert = true;
  EXPECT_TRUE(list.tries_again());
  list.drop(area);
  EXPECT_FALSE(list.tries_again());
}

} // namespace
} // namespace heddle::onesided
