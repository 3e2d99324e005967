// What a job may use, as a process of it sees it: not what the process alone is bound to.
#include "provider/crowd.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace heddle::tests {
namespace {

// Runs in a child; what it returns.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

cpu_set_t usable() {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}
cpu_set_t first_of(const cpu_set_t& set) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &set)) CPU_SET(i, &one);
  return one;
}
int bound_to(const cpu_set_t& set, const std::function<int()>& work) {
  return ::sched_setaffinity(0, sizeof set, &set) == 0 ? work() : -1;
}

TEST(Crowd, AJobMayUseWhatItsLauncherMay) {
  const cpu_set_t all = usable();
  const cpu_set_t one = first_of(all);
  const auto asked = [] { return provider::processors_of_job("HEDDLE_NO_SUCH_VARIABLE"); };
  // The launcher is kept to one, as in a set of processors that is smaller than the machine.
  EXPECT_EQ(in_child([&] { return bound_to(one, [&] { return in_child(asked); }); }), 1);
  // The launcher is free, and each process bound.
  const auto bound = [&] { return bound_to(one, asked); };
  EXPECT_EQ(in_child([&] { return in_child(bound); }), CPU_COUNT(&all));
}

} // namespace
} // namespace heddle::tests
