#include "launch/hydra_signal.hpp"

#include <csignal>

namespace heddle::launch {

namespace {

// Not SIG_IGN, which a program that this one starts would inherit.
extern "C" void bear(int /*signal*/) {}

bool is_handled_by(void (*handler)(int)) {
  struct sigaction now{};
  return ::sigaction(SIGUSR1, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler;
}

void handle_by(void (*handler)(int)) {
  struct sigaction wanted{};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART; // the program's calls go on
  ::sigaction(SIGUSR1, &wanted, nullptr);
}

} // namespace

void bear_hydra_signal() {
  if (is_handled_by(SIG_DFL)) handle_by(bear);
}

void bear_hydra_signal_no_more() {
  if (is_handled_by(bear)) handle_by(SIG_DFL);
}

} // namespace heddle::launch
