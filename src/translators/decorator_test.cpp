#include "translators/decorator.hpp"

#include "translators/faulty/faulty.hpp"
#include "translators/loopback/loopback.hpp"
#include "translators/trace/trace.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::translators {
namespace {

// A network whose peers can be stored to.
class Open final : public Decorator {
 public:
  using Decorator::Decorator;
  ir::Window window(ir::Peer peer, const ir::RemotePlace&, std::uint64_t) override {
    return {.memory = memory_.data(), .asleep = &asleep_, .peer = peer};
  }

 private:
  std::array<std::byte, 64> memory_{};
  std::atomic<std::uint32_t> asleep_{0};
};

TEST(Decorator, OffersNoWindowSoThatEveryPutComesByAsACommand) {
  LoopbackFabric fabric(2);
  Loopback loopback(fabric, ir::Peer{0});
  Open open(loopback);
  ASSERT_TRUE(open.window(ir::Peer{1}, {}, 64).exists());
  std::vector<TraceRecord> records;
  EXPECT_FALSE(Trace(open, records).window(ir::Peer{1}, {}, 64).exists());
  EXPECT_FALSE(Faulty(open, FaultPlan{}).window(ir::Peer{1}, {}, 64).exists());
}

} // namespace
} // namespace heddle::translators
