#include "base/process_watch.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace heddle::base {
namespace {

pid_t sleeper() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  return child;
}
void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}
std::vector<std::int32_t> ended(ProcessWatch& watch) {
  std::array<std::int32_t, 4> all{};
  const std::size_t count = watch.take_ended(all);
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(ProcessWatch, TellsOnceOfEachThatHasEnded) {
  const pid_t first = sleeper();
  const pid_t second = sleeper();
  ProcessWatch watch;
  watch.watch(first);
  watch.watch(first);
  watch.watch(second);
  EXPECT_TRUE(ended(watch).empty());
  end(first);
  pollfd ready{.fd = watch.descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
  EXPECT_EQ(ended(watch), std::vector<std::int32_t>{first});
  EXPECT_TRUE(ended(watch).empty());
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
  watch.forget(first);
  watch.forget(first);
  end(second);
  EXPECT_EQ(ended(watch), std::vector<std::int32_t>{second});
}

TEST(ProcessWatch, TellsOnceThoughAChildHoldsItsDescriptors) {
  const pid_t child = sleeper();
  ProcessWatch watch;
  watch.watch(child);
  const pid_t holder = sleeper(); // has inherited them
  end(child);
  EXPECT_EQ(ended(watch), std::vector<std::int32_t>{child});
  EXPECT_TRUE(ended(watch).empty());
  pollfd ready{.fd = watch.descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
  end(holder);
}

TEST(ProcessWatch, TellsNothingOfWhatItHasForgotten) {
  const pid_t child = sleeper();
  ProcessWatch watch;
  watch.watch(child);
  watch.forget(child);
  end(child);
  EXPECT_TRUE(ended(watch).empty());
}

TEST(ProcessWatch, TellsOfOneThatHadEndedBefore) {
  const pid_t child = sleeper();
  end(child);
  ProcessWatch watch;
  watch.watch(child);
  EXPECT_EQ(ended(watch), std::vector<std::int32_t>{child});
}

TEST(ProcessWatch, AsksWhereThereIsNoDescriptor) {
  const pid_t child = sleeper();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  {
    ProcessWatch watch;
    EXPECT_EQ(watch.descriptor(), -1);
    watch.watch(child);
    EXPECT_TRUE(ended(watch).empty());
    end(child);
    EXPECT_EQ(ended(watch), std::vector<std::int32_t>{child});
  }
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

} // namespace
} // namespace heddle::base
