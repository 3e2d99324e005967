#include "auth/door.hpp"

#include "auth/call.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

namespace heddle::auth {
namespace {

constexpr Service kGate{.purpose = Purpose::agent, .version = 7};

std::unique_ptr<Door> open_door(const Secret& secret) {
  auto door = Door::open({.host = net::loopback(), .secret = secret, .service = kGate});
  EXPECT_TRUE(door) << door.error().message();
  return std::move(*door);
}

// Serves the door until `enough` have come in, or the time is over.
std::vector<base::Descriptor> serve(Door& door, std::size_t enough, std::chrono::milliseconds limit) {
  std::vector<base::Descriptor> in;
  const auto deadline = base::deadline_in(limit);
  while (in.size() < enough && base::Clock::now() < deadline) {
    pollfd entry{.fd = door.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, base::milliseconds_until(deadline));
    for (base::Descriptor& each : door.admit()) in.push_back(std::move(each));
  }
  return in;
}

base::Descriptor connect_to(const Door& door) {
  auto socket = net::begin_connect(door.endpoint());
  EXPECT_TRUE(socket);
  return std::move(*socket);
}

// Bytes that came before the other side closed the connection.
std::string all_from(int socket) {
  std::string text;
  std::array<char, 256> part{};
  while (true) {
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 10'000) <= 0) return "still open";
    const ssize_t got = ::recv(socket, part.data(), part.size(), 0);
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

// Somebody who belongs here comes in.
void expect_open_to(Door& door, const Secret& secret) {
  Result<base::Descriptor> there;
  std::thread caller(
      [&] { there = call(door.endpoint(), secret, kGate, base::deadline_in(std::chrono::seconds(10))); });
  EXPECT_EQ(serve(door, 1, std::chrono::seconds(10)).size(), 1U);
  caller.join();
  EXPECT_TRUE(there);
}

// Somebody has taken the port of one that has gone. Whoever calls there is passed on to its own door, or to any other.
TEST(Door, LetsNobodyInWhoPassesOnWhatOthersSay) {
  const Secret secret = Secret::draw();
  const auto door = open_door(secret);
  net::Endpoint taken{.host = net::loopback()};
  auto listener = net::listen_at(taken);
  ASSERT_TRUE(listener);
  Result<base::Descriptor> there;
  std::thread caller([&] { there = call(taken, secret, kGate, base::deadline_in(std::chrono::seconds(5))); });
  base::Descriptor heard;
  while (!heard.open()) heard = net::accept_one(listener->number());
  base::Descriptor passed_on = connect_to(*door);
  std::size_t in = 0;
  const auto pass = [](int from, int to) {
    std::array<std::byte, 256> part{};
    iovec piece{.iov_base = part.data(), .iov_len = part.size()};
    const std::ptrdiff_t got = net::receive_some(from, {&piece, 1});
    piece.iov_len = static_cast<std::size_t>(std::max<std::ptrdiff_t>(got, 0));
    if (got > 0) net::send_some(to, {&piece, 1});
    return got >= 0;
  };
  const auto end = base::deadline_in(std::chrono::seconds(5));
  while (pass(heard.number(), passed_on.number()) && pass(passed_on.number(), heard.number()) &&
         base::Clock::now() < end)
    in += door->admit().size();
  heard.reset();
  caller.join();
  EXPECT_EQ(in, 0U);
  EXPECT_FALSE(there);
  expect_open_to(*door, secret);
}

// A child of this process holds what the parent closes. Nothing of what has gone is told of.
TEST(Door, HearsNothingOfStrangersThatHaveGoneWhereAChildHoldsThem) {
  const auto door = open_door(Secret::draw());
  const base::Descriptor stranger = connect_to(*door);
  serve(*door, 1, std::chrono::milliseconds(300)); // accepted
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char none = 0;
    [[maybe_unused]] const auto got = ::read(ends[0], &none, 1); // until the test is over
    ::_exit(0);
  }
  ::close(ends[0]);
  const std::array<char, kMessageBytes> nonsense{};
  ::send(stranger.number(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
  serve(*door, 1, std::chrono::milliseconds(300)); // turned away
  ::send(stranger.number(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
  pollfd entry{.fd = door->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&entry, 1, 100), 0);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(Door, LetsInWhoKnowsTheSecret) {
  const Secret secret = Secret::draw();
  const auto door = open_door(secret);
  Result<base::Descriptor> there;
  std::thread caller(
      [&] { there = call(door->endpoint(), secret, kGate, base::deadline_in(std::chrono::seconds(10))); });
  auto in = serve(*door, 1, std::chrono::seconds(10));
  caller.join();
  ASSERT_TRUE(there) << there.error().message();
  ASSERT_EQ(in.size(), 1U);
  ASSERT_EQ(::send(there->number(), "hello", 5, 0), 5);
  pollfd entry{.fd = in[0].number(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  std::array<char, 8> text{};
  EXPECT_EQ(::recv(in[0].number(), text.data(), text.size(), 0), 5);
}

TEST(Door, TellsAStrangerNothingButThatItIsClosed) {
  const auto door = open_door(Secret::draw());
  const base::Descriptor scanner = connect_to(*door);
  const std::string request = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
  while (net::connect_error(scanner.number()) == EINPROGRESS) {
  }
  ASSERT_GT(::send(scanner.number(), request.data(), request.size(), 0), 32);
  EXPECT_TRUE(serve(*door, 1, std::chrono::milliseconds(50)).empty());
  EXPECT_EQ(all_from(scanner.number()), "");
}

TEST(Door, RefusesAnotherSecretWithOneLine) {
  const auto door = open_door(Secret::draw());
  Result<base::Descriptor> there;
  std::atomic<bool> done = false;
  std::thread caller([&] {
    there = call(door->endpoint(), Secret::draw(), kGate, base::deadline_in(std::chrono::seconds(10)));
    done = true;
  });
  while (!done) EXPECT_TRUE(serve(*door, 1, std::chrono::milliseconds(1)).empty());
  caller.join();
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().fact,
            "no connection to " + door->endpoint().text() + ": it has closed the connection: its secret is another");
}

// An end in good order would say that its secret is another, and it would not call whoever listens there next.
TEST(Door, LetsThoseCallAgainWhomItTurnsOut) {
  const Secret secret = Secret::draw();
  const auto door = open_door(secret);
  const base::Descriptor half_in = connect_to(*door);
  const base::Descriptor just_called = connect_to(*door);
  Introduction caller(Introduction::Role::calls, secret, kGate);
  Introduction late(Introduction::Role::calls, secret, kGate);
  for (const base::Descriptor* each : {&half_in, &just_called})
    while (net::connect_error(each->number()) == EINPROGRESS) {
    }
  ASSERT_EQ(caller.advance(half_in.number()), Introduction::State::goes_on);
  std::byte challenge{};
  while (::recv(half_in.number(), &challenge, 1, MSG_PEEK | MSG_DONTWAIT) != 1) // it is asked for its proof
    EXPECT_TRUE(serve(*door, 1, std::chrono::milliseconds(1)).empty());
  door->turn_all_out();
  EXPECT_EQ(caller.advance(half_in.number()), Introduction::State::failed);
  EXPECT_TRUE(caller.broke_off()) << caller.reason();
  EXPECT_EQ(late.advance(just_called.number()), Introduction::State::failed);
  EXPECT_TRUE(late.broke_off()) << late.reason();
}

TEST(Door, ManyWhoSayNothingKeepNobodyOut) {
  const Secret secret = Secret::draw();
  const auto door = open_door(secret);
  std::vector<base::Descriptor> silent;
  for (std::size_t i = 0; i < 3 * kMostIntroductions; ++i) {
    silent.push_back(connect_to(*door));
    [[maybe_unused]] const auto sent = ::send(silent.back().number(), "h", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    EXPECT_TRUE(door->admit().empty());
  }
  expect_open_to(*door, secret);
  EXPECT_EQ(all_from(silent.front().number()), "") << "the first of them has given way";
}

// As when a large job begins: more than are let in at once, and each must be.
TEST(Door, HundredsWhoComeAtOnceAreAllLetIn) {
  constexpr std::size_t kCallers = 3 * kMostIntroductions;
  const Secret secret = Secret::draw();
  const auto door = open_door(secret);
  std::vector<base::Descriptor> sockets;
  std::vector<Introduction> callers;
  for (std::size_t i = 0; i < kCallers; ++i) {
    sockets.push_back(connect_to(*door));
    callers.emplace_back(Introduction::Role::calls, secret, kGate);
  }
  std::vector<base::Descriptor> in;
  std::size_t proven = 0;
  std::vector<bool> done(kCallers);
  for (const auto deadline = base::deadline_in(std::chrono::seconds(10)); proven < kCallers;) {
    ASSERT_LT(base::Clock::now(), deadline) << proven << " of them are in";
    for (base::Descriptor& each : serve(*door, 1, std::chrono::milliseconds(1))) in.push_back(std::move(each));
    for (std::size_t i = 0; i < kCallers; ++i) {
      if (done[i] || net::connect_error(sockets[i].number()) != 0) continue;
      const auto state = callers[i].advance(sockets[i].number());
      ASSERT_NE(state, Introduction::State::failed) << i << ": " << callers[i].reason();
      done[i] = state == Introduction::State::proven;
      proven += done[i] ? 1 : 0;
    }
  }
  EXPECT_EQ(in.size(), kCallers);
}

TEST(Door, OutlivesALackOfDescriptors) {
  const Secret secret = Secret::draw();
  const auto door = open_door(secret);
  const base::Descriptor waiting = connect_to(*door);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = before.rlim_max};
  testing::internal::CaptureStderr();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_TRUE(door->admit().empty());
  pollfd entry{.fd = door->descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&entry, 1, 0), 0) << "it does not ask again and again";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Too many open files"), std::string::npos) << said;
  expect_open_to(*door, secret);
}

} // namespace
} // namespace heddle::auth
