// Ranks 0 and 1 exchange messages without a break for as many milliseconds as the argument says; then, with a second argument,
// rank 1 keeps all others waiting until SIGUSR1 comes.
#include "tests/job/member.hpp"

#include <array>
#include <csignal>

int main(int argc, char** argv) {
  using namespace heddle::tests;
  demand(argc >= 2, "usage: watchdog_program BUSY_MS [silent]");
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGUSR1); // comes to all
  ::sigprocmask(SIG_BLOCK, &told, nullptr);
  auto context = demand(heddle::Context::join(), "join");
  const bool first = context.rank() == heddle::Rank{0};
  const heddle::Rank other{first ? 1U : 0U};
  const auto must_end = [&](heddle::Request request) {
    demand(context.wait(request).code == heddle::ErrorCode::ok, "a message failed");
  };
  const auto send = [&](std::uint64_t word) { must_end(*context.send(other, heddle::Tag{word}, word)); };
  const auto receive = [&](std::uint64_t tag) {
    std::uint64_t in = 0;
    must_end(*context.receive({.source = other, .tag = heddle::Tag{tag}}, in));
    return in;
  };

  constexpr std::uint64_t kGoOn = 1;
  constexpr std::uint64_t kEnough = 2;
  const std::uint64_t end = machine_ns() + number(argv[1]) * 1'000'000;
  if (context.rank() > heddle::Rank{1}) {
  } else if (first) {
    for (bool enough = false; !enough;) {
      enough = machine_ns() >= end;
      const std::uint64_t word = enough ? kEnough : kGoOn;
      must_end(*context.send(other, heddle::Tag{0}, word));
      receive(kGoOn);
    }
  } else {
    while (receive(0) != kEnough) send(kGoOn);
    send(kGoOn);
  }

  constexpr std::uint64_t kLate = 77;
  if (first) {
    receive(kLate);
  } else if (context.rank() == heddle::Rank{1}) {
    int number = 0;
    if (argc > 2) ::sigwait(&told, &number);
    send(kLate);
  }
  demand(context.barrier(), "barrier");
}
