// Cables of RHiNET that are cut and plugged under a program's feet: traffic takes other ways, keeps its order, and nothing is lost
// or done twice.
#include "tests/onesided_simulated/simulated.hpp"

#include <heddle/simulation.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace heddle::simulation {
namespace {

constexpr std::uint64_t kRounds = 60;
constexpr std::size_t kMany = 6000; // more than a packet

// Each sends numbered messages round the ring, pushes to its neighbour, and adds to a word of everybody's; the first also tells
// all at once. A message out of order, lost or doubled would show in the numbers, a doubled atomic in the sum.
Task chatter(Peer& peer) {
  OneSided& one_sided = peer.context().one_sided();
  const auto memory = *one_sided.allocate(kArea, kMany + 64);
  co_await peer.barrier();
  const Rank next{(std::to_underlying(peer.rank()) + 1) % peer.size()};
  const Rank opposite{(std::to_underlying(peer.rank()) + peer.size() / 2) % peer.size()};
  const Rank before{(std::to_underlying(peer.rank()) + peer.size() - peer.size() / 2) % peer.size()};
  std::vector<Rank> all;
  for (std::uint32_t rank = 0; rank < peer.size(); ++rank) all.push_back(Rank{rank});
  std::vector<std::byte> data(kMany);
  Tracker tracker;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::uint64_t number = round * 100 + std::to_underlying(peer.rank());
    std::uint64_t heard = 0;
    const std::array requests{
        *peer.context().receive({.source = before, .tag = Tag{1}}, std::as_writable_bytes(std::span(&heard, 1))),
        *peer.context().send(opposite, Tag{1}, std::as_bytes(std::span(&number, 1)))};
    std::memset(data.data(), static_cast<int>(round + 1), data.size());
    one_sided.push({next, kArea, 64}, data, tracker);
    for (const Rank rank : all) one_sided.atomic({rank, kArea, 0}, Atomic::add(1), tracker);
    if (peer.rank() == Rank{0}) one_sided.mcast(all, kArea, 8, std::as_bytes(std::span(&number, 1)), tracker);
    demand(co_await peer.wait_all(requests) == ErrorCode::ok, "a message");
    demand(heard == round * 100 + static_cast<std::uint64_t>(before), "a message is lost, doubled or out of order");
    demand(co_await peer.wait(tracker) == ErrorCode::ok, "a one-sided operation");
    co_await peer.sleep(std::chrono::microseconds(20));
  }
  co_await peer.barrier();
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), memory.data(), sizeof words);
  demand(words[0] == kRounds * peer.size(), "an addition is lost or was done twice");
  demand(words[1] == (kRounds - 1) * 100, "an mcast is lost");
  for (std::size_t i = 64; i < memory.size(); ++i) demand(memory[i] == std::byte{kRounds}, "a push is lost");
  co_await peer.barrier();
}

std::uint64_t resent_in(const Setup& setup) {
  auto world = World::create(setup);
  if (!world) {
    ADD_FAILURE() << world.error().message();
    return 0;
  }
  const auto outcome = world->run(chatter);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message();
    return 0;
  }
  EXPECT_EQ(outcome->errors, std::vector<std::string>{});
  return outcome->resent;
}

// On a ring cable 2i is node i's, cable 2i + 1 joins switches i and i + 1.
TEST(Cables, CutsAreWorkedAround) {
  EXPECT_EQ(resent_in({.fabric = "rhinet:ring:6"}), 0U);
  EXPECT_GT(resent_in({.fabric = "rhinet:ring:6", .cables = {{.cable = 3, .at = std::chrono::microseconds(900)}}}), 0U);
}

TEST(Cables, HotPlugsAreTakenUp) {
  resent_in({.fabric = "rhinet:ring:6",
             .cables = {{.cable = 3, .at = std::chrono::microseconds(700), .plugged = true},
                        {.cable = 9, .at = std::chrono::microseconds(1500)},
                        {.cable = 9, .at = std::chrono::microseconds(2500), .plugged = true}}});
}

// A node's only cable: everybody waits for it, and goes on when it is back.
TEST(Cables, ANodeThatComesBackHasLostNothing) {
  EXPECT_GT(resent_in({.fabric = "rhinet:ring:6",
                       .cables = {{.cable = 4, .at = std::chrono::microseconds(1000)},
                                  {.cable = 4, .at = std::chrono::microseconds(4000), .plugged = true}}}),
            0U);
}

TEST(Cables, RandomChangesLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    simulation::Setup setup{.fabric = "rhinet:ring:6"};
    for (int i = 0; i < 6; ++i) {
      const auto cable = static_cast<std::uint32_t>(random() % 12);
      const Time at = std::chrono::microseconds(200 + random() % 4000);
      setup.cables.push_back({.cable = cable, .at = at});
      setup.cables.push_back(
          {.cable = cable, .at = at + Time{std::chrono::microseconds(random() % 1500)}, .plugged = true});
    }
    resent_in(setup);
  }
}

TEST(Cables, AreRefusedWhereThereAreNone) {
  const auto why = [](const char* fabric, std::uint32_t cable) {
    auto world = World::create({.fabric = fabric, .cables = {{.cable = cable, .at = {}}}});
    return world ? std::string() : world.error().message();
  };
  EXPECT_NE(why("rhinet:ring:6", 12).find("no cable 12"), std::string::npos);
  EXPECT_NE(why("tofu:1x1x1", 0).find("fixed"), std::string::npos);
}

} // namespace
} // namespace heddle::simulation
