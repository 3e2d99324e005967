#include "launch/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>

namespace heddle::launch {

namespace {

constexpr std::array kHandled{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE};

} // namespace

Signals::Signals() {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, &child_before_);
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kHandled) sigaddset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  descriptor_ = base::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Signals::~Signals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
}

std::optional<int> Signals::next() const {
  signalfd_siginfo info{};
  if (::read(descriptor_.number(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

} // namespace heddle::launch
