#include "launch/hydra_signal.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace heddle::launch {
namespace {

// What becomes of a child that does that, and then gets SIGUSR1: as waitpid says; 0 where it lives.
int after_signal(const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGUSR1, SIG_DFL);
    act();
    ::raise(SIGUSR1);
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

extern "C" void end_with_three(int /*signal*/) {
  ::_exit(3);
}

TEST(HydraSignal, IsBorne) {
  EXPECT_EQ(after_signal([] {}), SIGUSR1);
  EXPECT_EQ(after_signal(bear_hydra_signal), 0);
}

TEST(HydraSignal, IsTheProgramsWhereItHasSaidWhatItDoes) {
  const int status = after_signal([] {
    ::signal(SIGUSR1, end_with_three);
    bear_hydra_signal();
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(HydraSignal, IsAsEverInAProgramThatIsStarted) {
  const int status = after_signal([] {
    bear_hydra_signal();
    ::execl("/bin/sh", "sh", "-c", "kill -USR1 $$; exit 0", nullptr);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGUSR1);
}

} // namespace
} // namespace heddle::launch
