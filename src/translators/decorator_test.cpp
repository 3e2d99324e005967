#include "translators/decorator.hpp"

#include "translators/faulty/faulty.hpp"
#include "translators/loopback/loopback.hpp"
#include "translators/trace/trace.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::translators {
namespace {

// A network whose peers can be stored to.
class Open final : public Decorator, public ir::DirectMemory {
 public:
  using Decorator::Decorator;
  [[nodiscard]] ir::Facets facets() override { return {.direct_memory = this}; }
  ir::DirectRing direct_ring(ir::Peer peer, const ir::RemotePlace&, std::uint64_t) override {
    return {.memory = memory_.data(), .asleep = &asleep_, .peer = peer};
  }
  ir::DirectArea direct_area(ir::Peer, const ir::RemotePlace&, std::uint64_t) override { return {}; }
  void leave_area(ir::Peer, const ir::RemotePlace&) override {}
  void wake(ir::Peer) override {}

 private:
  std::array<std::byte, 64> memory_{};
  std::atomic<std::uint32_t> asleep_{0};
};

TEST(Decorator, OffersNoDirectMemorySoThatEveryPutComesByAsACommand) {
  LoopbackFabric fabric(2);
  Loopback loopback(fabric, ir::Peer{0});
  Open open(loopback);
  ASSERT_NE(open.facets().direct_memory, nullptr);
  std::vector<TraceRecord> records;
  EXPECT_EQ(Trace(open, records).facets().direct_memory, nullptr);
  EXPECT_EQ(Faulty(open, FaultPlan{}).facets().direct_memory, nullptr);
}

} // namespace
} // namespace heddle::translators
