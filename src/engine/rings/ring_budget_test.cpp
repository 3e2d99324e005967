#include "engine/rings/ring_budget.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

namespace heddle::engine {
namespace {

// Memory only: no commands.
class MemoryTranslator final : public ir::Translator {
 public:
  [[nodiscard]] std::string_view name() const override { return "memory"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Address address() const override { return {}; }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t bytes) override {
    if (allocations_left == 0) return std::unexpected(Error{.code = ErrorCode::out_of_memory});
    --allocations_left;
    auto& memory = owned_[++next_];
    memory.resize(bytes);
    return ir::ExposedMemory{.memory = memory, .place = {.key = ir::MemoryKey{next_}, .offset = 0}};
  }
  void deallocate(const ir::ExposedMemory& memory) override {
    EXPECT_EQ(owned_.erase(static_cast<std::uint64_t>(memory.place.key)), 1U);
  }
  Result<ir::RemotePlace> expose(std::span<std::byte>) override { return ir::RemotePlace{}; }
  void withdraw(const ir::RemotePlace&) override {}
  Result<ir::RemotePlace> attach(ir::Peer, const ir::Address&) override { return ir::RemotePlace{}; }
  void detach(ir::Peer) override {}
  std::size_t submit(std::span<const ir::Command> commands) override { return commands.size(); }
  std::size_t poll(std::span<ir::Event>) override { return 0; }

  std::size_t allocations_left = 1000;
  [[nodiscard]] std::size_t held() const { return owned_.size(); }

 private:
  ir::Capabilities capabilities_;
  std::map<std::uint64_t, std::vector<std::byte>> owned_;
  std::uint64_t next_ = 0;
};

constexpr std::uint64_t kRing = 8192;

TEST(RingBudget, GivesExclusiveRingsFirstComeFirstServedAndKeepsTheLastToShare) {
  MemoryTranslator translator;
  SharedRing shared;
  RingBudget budget(4 * kRing, kRing);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(budget.take(translator, shared).grant.type, RingType::exclusive);
  const auto fourth = budget.take(translator, shared);
  const auto fifth = budget.take(translator, shared);
  EXPECT_EQ(fourth.grant.type, RingType::shared);
  EXPECT_EQ(fifth.grant.type, RingType::shared);
  EXPECT_EQ(fourth.grant.place.key, fifth.grant.place.key);
  EXPECT_EQ(fourth.grant.slot_bytes, shared_slot_bytes(kRing));
  EXPECT_EQ(budget.used(), budget.limit());
  EXPECT_EQ(translator.held(), 4U);
}

TEST(RingBudget, NeverPassesItsLimitForSeveralTranslators) {
  for (std::uint64_t limit = kRing; limit < 9 * kRing; limit += kRing / 2) {
    MemoryTranslator translators[2];
    SharedRing shared[2];
    RingBudget budget(limit, kRing);
    budget.share_between(2);
    for (int i = 0; i < 20; ++i) EXPECT_NE(budget.take(translators[0], shared[0]).grant.type, RingType::refused);
    EXPECT_NE(budget.take(translators[1], shared[1]).grant.type, RingType::refused);
    EXPECT_LE(budget.used(), limit);
  }
}

TEST(RingBudget, NeverPassesItsLimit) {
  for (std::uint64_t limit = kRing; limit < 9 * kRing; limit += kRing / 2) {
    MemoryTranslator translator;
    SharedRing shared;
    RingBudget budget(limit, kRing);
    for (int i = 0; i < 20; ++i) {
      EXPECT_NE(budget.take(translator, shared).grant.type, RingType::refused);
      EXPECT_LE(budget.used(), limit);
    }
  }
}

TEST(RingBudget, GivesARingThatCameBackToTheNext) {
  MemoryTranslator translator;
  SharedRing shared;
  RingBudget budget(2 * kRing, kRing);
  const auto first = budget.take(translator, shared);
  EXPECT_EQ(first.grant.type, RingType::exclusive);
  const auto second = budget.take(translator, shared);
  EXPECT_EQ(second.grant.type, RingType::shared);
  budget.give_back(translator, second);
  EXPECT_EQ(budget.used(), 2 * kRing);
  budget.give_back(translator, first);
  EXPECT_EQ(budget.used(), kRing);
  EXPECT_EQ(budget.take(translator, shared).grant.type, RingType::exclusive);
}

TEST(RingBudget, SharesWhenTheNetworkHasNoMoreMemoryAndRefusesWhenItHasNone) {
  MemoryTranslator translator;
  translator.allocations_left = 0;
  SharedRing shared;
  RingBudget budget(16 * kRing, kRing);
  EXPECT_EQ(budget.take(translator, shared).grant.type, RingType::refused);
  EXPECT_EQ(budget.used(), 0U);
  translator.allocations_left = 1;
  EXPECT_EQ(budget.take(translator, shared).grant.type, RingType::exclusive);
  translator.allocations_left = 0;
  EXPECT_EQ(budget.take(translator, shared).grant.type, RingType::refused);
}

} // namespace
} // namespace heddle::engine
