// A store at an address that all know. What a launcher's board does is tried with real ones (tests/launchers).
#include "launch/meeting.hpp"

#include "store/address.hpp"
#include "store/server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace heddle::launch {
namespace {

base::Deadline soon() {
  return base::deadline_in(std::chrono::seconds(60));
}

class Agreed : public testing::Test {
 protected:
  Agreed() {
    net::Endpoint place{.host = net::loopback()};
    const auto listener = net::listen_at(place);
    port_ = place.port;
  }
  [[nodiscard]] JobIdentity rank_1(const auth::Secret& secret) const {
    return {.meeting = Meeting::agreed,
            .rank = 1,
            .size = 2,
            .job = "job",
            .store = "tcp:127.0.0.1:" + std::to_string(port_),
            .secret = secret};
  }
  [[nodiscard]] store::Server::Config config(const std::string& job) const {
    return {.size = 2,
            .job = job,
            .by_tcp = store::Server::Config::ByTcp{
                .host = net::loopback(), .ports = {.first = port_, .last = port_}, .secret = secret_}};
  }
  // Serves for as long as somebody tries to come.
  static Result<Admission> enter_at(store::Server& server, const JobIdentity& identity) {
    Result<Admission> entered;
    std::atomic<bool> over = false;
    std::jthread comer([&] {
      entered = enter_store(identity, {}, soon());
      over = true;
    });
    while (!over) server.wait(base::deadline_in(std::chrono::milliseconds(10)));
    return entered;
  }
  const auth::Secret secret_ = auth::Secret::draw();
  std::uint16_t port_ = 0;
};

TEST_F(Agreed, PlaceIsTriedAgainWhereNobodyListensYet) {
  Result<Admission> entered;
  std::atomic<bool> over = false;
  std::jthread comer([&] {
    entered = enter_store(rank_1(secret_), {}, soon());
    over = true;
  });
  auto server = store::Server::start(config("job"));
  ASSERT_TRUE(server) << server.error().message();
  while (!over) (*server)->wait(base::deadline_in(std::chrono::milliseconds(10)));
  EXPECT_TRUE(entered) << entered.error().message();
}

// What does not become better by waiting is said at once.
TEST_F(Agreed, PlaceIsGivenUpAtOnceWhereItIsAnothers) {
  const auto begin = base::Clock::now();
  auto server = store::Server::start(config("job"));
  ASSERT_TRUE(server) << server.error().message();
  const auto stranger = enter_at(**server, rank_1(auth::Secret::draw()));
  ASSERT_FALSE(stranger);
  EXPECT_TRUE(stranger.error().fact.contains("secret")) << stranger.error().fact;
  JobIdentity other = rank_1(secret_);
  other.job = "other";
  const auto lost = enter_at(**server, other);
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().fact.contains("other")) << lost.error().fact;
  EXPECT_LT(base::Clock::now() - begin, std::chrono::seconds(30)); // of the minute that both had
}

TEST_F(Agreed, PlaceAcrossNodesTakesASecret) {
  JobIdentity identity = rank_1(secret_);
  identity.secret.reset();
  const auto entered = enter_store(identity, {}, soon());
  ASSERT_FALSE(entered);
  EXPECT_TRUE(entered.error().fact.contains("has several nodes and no secret")) << entered.error().fact;
  EXPECT_TRUE(entered.error().remedy.contains("export HEDDLE_SECRET=")) << entered.error().remedy;
}

TEST_F(Agreed, PlaceThatCannotBeFoundCanBeNamed) {
  for (const std::uint32_t rank : {0U, 1U}) {
    JobIdentity identity = rank_1(secret_);
    identity.rank = rank;
    identity.store = "tcp:no..host:4000";
    const auto entered = enter_store(identity, {}, soon());
    ASSERT_FALSE(entered);
    EXPECT_TRUE(entered.error().fact.contains("the address of host 'no..host' is not known")) << entered.error().fact;
    EXPECT_TRUE(entered.error().remedy.contains("HEDDLE_STORE=tcp:HOST:PORT")) << entered.error().remedy;
  }
}

} // namespace
} // namespace heddle::launch
