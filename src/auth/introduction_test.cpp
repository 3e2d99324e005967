#include "auth/introduction.hpp"

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "net/sockets.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

namespace heddle::auth {
namespace {

using Role = Introduction::Role;
using State = Introduction::State;
using Sent = std::vector<std::byte>;

constexpr Service kService{.purpose = Purpose::store, .version = 3};

Sent said(const Introduction& side) {
  return {side.reply().begin(), side.reply().end()};
}

State hear(Introduction& side, const Sent& message) {
  return side.take(std::span<const std::byte, kMessageBytes>(message));
}

struct Talk {
  Secret secret = Secret::draw();
  Introduction caller{Role::calls, secret, kService};
  Introduction answerer{Role::answers, secret, kService};
  Sent greeting, challenge, proof;

  // Up to the caller's proof.
  void run() {
    caller.begin();
    greeting = said(caller);
    ASSERT_EQ(hear(answerer, greeting), State::goes_on);
    challenge = said(answerer);
    ASSERT_EQ(hear(caller, challenge), State::goes_on);
    proof = said(caller);
  }
};

TEST(Introduction, ProvesBothSides) {
  Talk talk;
  talk.run();
  EXPECT_EQ(hear(talk.answerer, talk.proof), State::proven);
  EXPECT_EQ(hear(talk.caller, said(talk.answerer)), State::proven);
}

TEST(Introduction, TurnsAwayWhoDoesNotKnowTheSecret) {
  const Secret theirs = Secret::draw();
  Talk talk;
  Introduction stranger(Role::calls, theirs, kService);
  stranger.begin();
  ASSERT_EQ(hear(talk.answerer, said(stranger)), State::goes_on);
  ASSERT_EQ(hear(stranger, said(talk.answerer)), State::goes_on);
  EXPECT_EQ(hear(talk.answerer, said(stranger)), State::failed);
  EXPECT_TRUE(said(talk.answerer).empty()) << "it is told nothing";
  EXPECT_EQ(talk.answerer.reason(), "it does not know the secret");
}

TEST(Introduction, TurnsAwayAServerThatDoesNotKnowTheSecret) {
  Talk talk;
  talk.run();
  Sent forged = talk.proof; // its own, sent back
  EXPECT_EQ(hear(talk.caller, forged), State::failed);
  EXPECT_EQ(talk.caller.reason(), "it does not know the secret");
}

TEST(Introduction, IsNotFooledByWhatWasSaidInAnotherConnection) {
  Talk first;
  first.run();
  ASSERT_EQ(hear(first.answerer, first.proof), State::proven);
  Introduction again(Role::answers, first.secret, kService);
  ASSERT_EQ(hear(again, first.greeting), State::goes_on);
  EXPECT_NE(said(again), first.challenge);
  EXPECT_EQ(hear(again, first.proof), State::failed);
}

TEST(Introduction, EveryBitCounts) {
  Talk talk;
  talk.run();
  for (std::size_t bit = 0; bit < 8 * kMessageBytes; ++bit) {
    Introduction answerer = talk.answerer;
    Sent changed = talk.proof;
    changed[bit / 8] ^= std::byte(1U << (bit % 8));
    EXPECT_EQ(hear(answerer, changed), State::failed) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * kMessageBytes; ++bit) { // of the greeting, changed on its way
    Introduction caller(Role::calls, talk.secret, kService);
    Introduction answerer(Role::answers, talk.secret, kService);
    caller.begin();
    Sent changed = said(caller);
    changed[bit / 8] ^= std::byte(1U << (bit % 8));
    if (hear(answerer, changed) == State::failed) continue;
    if (hear(caller, said(answerer)) == State::failed) continue;
    EXPECT_EQ(hear(answerer, said(caller)), State::failed) << bit;
  }
}

TEST(Introduction, SaysWhatDiffers) {
  const Secret secret = Secret::draw();
  const auto reason = [&](Service wanted, Service offered) {
    Introduction caller(Role::calls, secret, wanted);
    Introduction answerer(Role::answers, secret, offered);
    caller.begin();
    EXPECT_EQ(hear(answerer, said(caller)), State::failed);
    EXPECT_EQ(hear(caller, said(answerer)), State::failed);
    return caller.reason();
  };
  EXPECT_EQ(reason({.purpose = Purpose::store, .version = 3}, {.purpose = Purpose::store, .version = 4}),
            "it speaks version 4 of the protocol, this process 3");
  EXPECT_EQ(reason({.purpose = Purpose::store, .version = 3}, {.purpose = Purpose::peer, .version = 3}),
            "another service of Heddle listens there");
}

TEST(Introduction, RefusesAnotherByteOrderWhereItMatters) {
  constexpr std::size_t kOrderAt = 9;
  for (const bool matters : {false, true}) {
    const Service service{.purpose = Purpose::peer, .version = 1, .own_order = matters};
    const Secret secret = Secret::draw();
    Introduction caller(Role::calls, secret, service);
    Introduction answerer(Role::answers, secret, service);
    caller.begin();
    Sent greeting = said(caller);
    greeting[kOrderAt] = greeting[kOrderAt] == std::byte{'l'} ? std::byte{'b'} : std::byte{'l'};
    EXPECT_EQ(hear(answerer, greeting), matters ? State::failed : State::goes_on);
    if (matters) {
      hear(caller, said(answerer));
      EXPECT_EQ(caller.reason(), "its machine has another byte order");
    }
  }
}

// Who took too long, or was turned out to make room, may know the secret, however late it notices.
TEST(Introduction, TakesOnlyAnEndInGoodOrderForARefusal) {
  for (const bool reset : {false, true})
    for (const bool before_the_proof : {false, true}) {
      SCOPED_TRACE(testing::Message() << (reset ? "reset " : "closed ") << (before_the_proof ? "before" : "after"));
      net::Endpoint place{.host = net::loopback()};
      const auto listener = net::listen_at(place);
      ASSERT_TRUE(listener);
      const auto here = net::begin_connect(place);
      ASSERT_TRUE(here);
      base::Descriptor there;
      while (!there.open()) there = net::accept_one(listener->number());
      while (net::connect_error(here->number()) == EINPROGRESS) {
      }
      const Secret secret = Secret::draw();
      Introduction caller(Role::calls, secret, kService);
      Introduction answerer(Role::answers, secret, kService);
      const auto await = [](int socket) { net::wait_for(socket, POLLIN, base::deadline_in(std::chrono::seconds(20))); };
      ASSERT_EQ(caller.advance(here->number()), State::goes_on);
      await(there.number());
      ASSERT_EQ(answerer.advance(there.number()), State::goes_on); // the challenge
      await(here->number());
      if (!before_the_proof) {
        ASSERT_EQ(caller.advance(here->number()), State::goes_on); // has proven itself
        std::array<std::byte, kMessageBytes> proof{};
        await(there.number());
        ASSERT_EQ(::recv(there.number(), proof.data(), proof.size(), 0), static_cast<ssize_t>(proof.size()));
      }
      if (reset) net::reset_when_closed(there.number());
      there.reset();
      State state = State::goes_on;
      while (state == State::goes_on) {
        await(here->number());
        state = caller.advance(here->number());
      }
      EXPECT_EQ(state, State::failed);
      EXPECT_EQ(caller.broke_off(), reset) << caller.reason();
    }
}

TEST(Introduction, TellsAPortScannerNothing) {
  Introduction answerer(Role::answers, Secret::draw(), kService);
  Sent scan(kMessageBytes, std::byte{'G'});
  EXPECT_EQ(hear(answerer, scan), State::failed);
  EXPECT_TRUE(said(answerer).empty());
}

class IntroductionBySocket : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    here_ = base::Descriptor(ends[0]);
    there_ = base::Descriptor(ends[1]);
  }
  base::Descriptor here_, there_;
};

TEST_F(IntroductionBySocket, ReadsNothingThatComesAfter) {
  const Secret secret = Secret::draw();
  Introduction caller(Role::calls, secret, kService);
  Introduction answerer(Role::answers, secret, kService);
  State one = State::goes_on;
  State other = State::goes_on;
  for (int i = 0; i < 4; ++i) {
    if (one == State::goes_on) one = caller.advance(here_.number());
    if (one == State::proven) {
      ASSERT_EQ(::send(here_.number(), "hello", 5, 0), 5);
      break;
    }
    if (other == State::goes_on) other = answerer.advance(there_.number());
    if (other == State::proven) {
      ASSERT_EQ(::send(there_.number(), "welcome", 7, 0), 7);
    }
  }
  ASSERT_EQ(one, State::proven);
  ASSERT_EQ(other, State::proven);
  std::array<char, 16> text{};
  EXPECT_EQ(::recv(here_.number(), text.data(), text.size(), 0), 7);
  EXPECT_EQ(::recv(there_.number(), text.data(), text.size(), 0), 5);
}

TEST_F(IntroductionBySocket, TellsTheCallerThatTheOtherLeaves) {
  for (const bool after_challenge : {false, true}) {
    SetUp();
    const Secret secret = Secret::draw();
    Introduction caller(Role::calls, secret, kService);
    Introduction answerer(Role::answers, secret, kService);
    caller.advance(here_.number());
    if (after_challenge) answerer.advance(there_.number());
    if (after_challenge) caller.advance(here_.number());
    Introduction::decline(there_.number());
    EXPECT_EQ(caller.advance(here_.number()), State::failed);
    EXPECT_TRUE(caller.declined());
  }
}

TEST_F(IntroductionBySocket, GoesOnByteByByte) {
  Talk talk;
  talk.run();
  Introduction answerer(Role::answers, talk.secret, kService);
  for (std::size_t i = 0; i < talk.greeting.size(); ++i) {
    EXPECT_EQ(answerer.advance(there_.number()), State::goes_on);
    ASSERT_EQ(::send(here_.number(), &talk.greeting[i], 1, 0), 1);
  }
  EXPECT_EQ(answerer.advance(there_.number()), State::goes_on);
  Sent challenge(kMessageBytes);
  EXPECT_EQ(::recv(here_.number(), challenge.data(), challenge.size(), 0), 32);
  here_.reset();
  EXPECT_EQ(answerer.advance(there_.number()), State::failed);
}

TEST(Secret, IsWrittenAndReadAsDigits) {
  const Secret secret = Secret::draw();
  const auto read = Secret::parse(secret.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->bytes, secret.bytes);
  EXPECT_NE(Secret::draw().bytes, secret.bytes);
}

TEST(Secret, RefusesWhatIsNone) {
  for (const char* text : {"", "12", "zz"}) EXPECT_FALSE(Secret::parse(text)) << text;
  std::string almost = Secret::draw().text();
  EXPECT_FALSE(Secret::parse(almost + "0"));
  almost[7] = 'x';
  const auto refused = Secret::parse(almost);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message().find(almost.substr(0, 6)), std::string::npos) << "a secret is not shown";
  EXPECT_FALSE(Secret::parse(std::string(64, '0'))) << "anybody would guess it";
}

TEST(Secret, ComesFromTheEnvironment) {
  EXPECT_FALSE(Secret::of(base::Environment::of({}))->has_value());
  const Secret secret = Secret::draw();
  const auto found = Secret::of(base::Environment::of({{"HEDDLE_SECRET", secret.text()}}));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->bytes, secret.bytes);
  EXPECT_FALSE(Secret::of(base::Environment::of({{"HEDDLE_SECRET", "guess"}})));
}

} // namespace
} // namespace heddle::auth
