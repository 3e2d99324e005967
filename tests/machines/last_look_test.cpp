// Some networks bring a peer's records only when they are asked for events. Whoever goes to sleep after asking must have looked at
// the rings since: the network has nothing left to wake it with.
#include "engine/engine.hpp"
#include "translators/contract/socket_network.hpp"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using translators::contract::SocketNetwork;

constexpr std::uint32_t kSides = 2;

struct Side {
  base::FlightRecorder recorder{16};
  std::unique_ptr<SocketNetwork> network;
  std::unique_ptr<engine::ScheduleQueue> queue;
  std::unique_ptr<engine::Engine> engine;
};

class LastLook : public testing::Test {
 protected:
  void SetUp() override {
    auto sockets = translators::contract::connect_all(kSides);
    std::vector<engine::Contact> contacts(kSides);
    for (std::uint32_t rank = 0; rank < kSides; ++rank) {
      Side& side = sides_[rank];
      side.network = std::make_unique<SocketNetwork>(rank, std::move(sockets[rank]));
      side.queue = std::make_unique<engine::ScheduleQueue>(*side.network);
      engine::ScheduleQueue* queue = side.queue.get();
      side.engine = *engine::Engine::create(
          rank, kSides, {.eager_limit = 1024, .ring_bytes = 1 << 14, .ring_memory = 1 << 20, .chunk_bytes = 4096},
          {&queue, 1}, side.recorder);
      contacts[rank].address = side.network->address();
    }
    for (Side& side : sides_) side.engine->set_contacts(contacts);
  }

  void send() {
    const auto sent = sides_[0].engine->send({.to = Rank{1}, .tag = Tag{1}}, std::span(&word_, 1));
    ASSERT_TRUE(sent);
    while (!sides_[0].engine->take_completion(*sent)) {
      sides_[0].engine->progress_all();
      if (!connected_) sides_[1].engine->progress_all();
    }
    while (!sides_[0].network->drained()) sides_[0].engine->progress_all();
  }

  std::array<Side, kSides> sides_;
  std::uint64_t word_ = 7;
  bool connected_ = false;
};

TEST_F(LastLook, SeesWhatAskingTheNetworkHasBrought) {
  send();
  engine::Engine& receiver = *sides_[1].engine;
  while (receiver.progress_all() > 0) {
  }
  connected_ = true;
  for (int round = 0; round < 200; ++round) {
    send();
    std::uint64_t got = 0;
    // In whatever round of idle polls the message comes.
    for (int i = 0; i < round; ++i) receiver.glance();
    const auto request = receiver.receive({.source = Rank{0}, .tag = Tag{1}}, std::span(&got, 1), {});
    ASSERT_TRUE(request);
    if (!receiver.ended(*request)) {
      EXPECT_GT(receiver.last_look(), 0U);
    }
    ASSERT_TRUE(receiver.take_completion(*request)) << "it would have slept through message " << round;
  }
}

} // namespace
} // namespace heddle
