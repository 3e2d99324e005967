// Two processes that add each other and send at the same moment: both begin to connect, and one connection comes of it.
// Also over queue pairs: tests/verbs/inside.
#include <heddle/heddle.hpp>

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Tag kGreeting{7};
constexpr std::chrono::seconds kPatience{20};

// One side's part: 0, or the number of the step that failed.
int meet(int other) {
  auto context = Context::open();
  if (!context) return 1;
  const auto own = context->name();
  std::array<std::byte, Name::kBytes> bytes{};
  if (!own || ::write(other, own->bytes().data(), bytes.size()) != Name::kBytes) return 2;
  if (::read(other, bytes.data(), bytes.size()) != Name::kBytes) return 3;
  const auto name = Name::from_bytes(bytes);
  const auto peer = name ? context->add_peer(*name) : Result<Rank>(std::unexpected(name.error()));
  if (!peer) return 4;
  std::uint64_t heard = 0;
  const std::uint64_t said = 42;
  const auto sent = context->send(*peer, kGreeting, std::as_bytes(std::span(&said, 1)));
  const auto received =
      context->receive({.source = *peer, .tag = kGreeting}, std::as_writable_bytes(std::span(&heard, 1)));
  if (!sent || !received) return 5;
  bool has_left = false;
  bool has_come = false;
  // As a program does that polls between other things.
  const auto end = Clock::now() + kPatience;
  while (!has_left || !has_come) {
    std::array<Event, 4> events;
    static_cast<void>(context->poll(events));
    if (!has_left) has_left = context->test(*sent).has_value();
    if (!has_come) has_come = context->test(*received).has_value();
    if (Clock::now() > end) {
      std::fprintf(stderr, "%s", context->waiting_for().c_str());
      return 6;
    }
  }
  // Neither leaves before both have met.
  char met = 1;
  if (::write(other, &met, 1) != 1 || ::read(other, &met, 1) != 1) return 7;
  return heard == said ? 0 : 8;
}

TEST(Crossing, TwoThatBeginAtOnceMeet) {
  for (int round = 0; round < 5 && !HasFailure(); ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    std::array<pid_t, 2> sides{};
    for (std::size_t i = 0; i < 2; ++i) {
      sides[i] = ::fork();
      if (sides[i] == 0) {
        ::close(ends[1 - i]);
        ::_exit(meet(ends[i]));
      }
    }
    ::close(ends[0]);
    ::close(ends[1]);
    for (const pid_t side : sides) {
      int status = 0;
      ASSERT_EQ(::waitpid(side, &status, 0), side);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << "round " << round << ": step " << WEXITSTATUS(status);
    }
  }
}

} // namespace
} // namespace heddle
