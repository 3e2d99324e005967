#include "launch/hydra_signal.hpp"

#include <csignal>

namespace heddle::launch {

namespace {

// Not SIG_IGN, which a program that this one starts would inherit.
extern "C" void bear(int /*signal*/) {}

} // namespace

void bear_hydra_signal() {
  struct sigaction action{};
  if (::sigaction(SIGUSR1, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0) return;
  if (action.sa_handler != SIG_DFL) return;
  action.sa_handler = bear;
  action.sa_flags = SA_RESTART; // the program's calls go on
  ::sigaction(SIGUSR1, &action, nullptr);
}

} // namespace heddle::launch
