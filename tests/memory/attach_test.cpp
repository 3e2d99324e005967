// A network that has no memory to attach a peer: the call that needs it says so, and the next one begins anew.
#include "base/flight_recorder.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"
#include "tests/engine/cluster.hpp"
#include "translators/decorator.hpp"
#include "translators/loopback/loopback.hpp"

#include <gtest/gtest.h>

#include <array>
#include <new>

namespace heddle::tests {
namespace {

class ShortAtAttaching final : public translators::Decorator {
 public:
  using Decorator::Decorator;
  Result<ir::RemotePlace> attach(ir::Peer peer, const ir::Address& address) override {
    if (failures > 0) {
      --failures;
      throw std::bad_alloc();
    }
    return Decorator::attach(peer, address);
  }
  int failures = 0;
};

struct Attacher {
  Attacher(translators::LoopbackFabric& fabric, std::uint32_t rank) : loopback(fabric, ir::Peer{rank}) {
    engine::ScheduleQueue* only = &queue;
    engine = *engine::Engine::create(rank, 2, usual_limits(), {&only, 1}, recorder);
    engine->set_contacts(std::vector<engine::Contact>(2));
  }
  translators::Loopback loopback;
  ShortAtAttaching network{loopback};
  engine::ScheduleQueue queue{network};
  base::FlightRecorder recorder{64};
  std::unique_ptr<engine::Engine> engine;
};

TEST(Attaching, ThatFindsNoMemoryIsBegunAnewByTheNextCall) {
  translators::LoopbackFabric fabric(2, translators::LoopbackFabric::Manner::connected);
  Attacher a(fabric, 0);
  Attacher b(fabric, 1);
  a.network.failures = 2;
  std::uint64_t word = 7;
  std::uint64_t heard = 0;
  const auto message = std::as_bytes(std::span(&word, 1));
  const auto send = [&] {
    return a.engine->send({.to = Rank{1}, .tag = Tag{1}}, ConstLayout(message.data(), message.size()));
  };
  for (int i = 0; i < 2; ++i) {
    const auto sent = send();
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, ErrorCode::out_of_memory);
  }
  const auto sent = send();
  ASSERT_TRUE(sent) << sent.error().message();
  const auto into = std::as_writable_bytes(std::span(&heard, 1));
  ASSERT_TRUE(b.engine->receive({.source = Rank{0}, .tag = Tag{1}}, Layout(into.data(), into.size()), {}));
  for (int i = 0; i < 10'000 && heard == 0; ++i) {
    a.engine->progress();
    b.engine->progress();
  }
  EXPECT_EQ(heard, 7U);
}

} // namespace
} // namespace heddle::tests
