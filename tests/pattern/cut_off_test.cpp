// Two processes lose each other while all compile a pattern: nobody waits for ever, and it stands nowhere.
#include "engine/record.hpp"
#include "pattern/patterns.hpp"
#include "tests/engine/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::tests {
namespace {

constexpr std::uint32_t kSize = 4;

class CutOff : public testing::Test {
 protected:
  // What `by` finds next in the ring that `from` writes to makes no sense.
  void spoil(std::uint32_t by, std::uint32_t from) {
    std::array<std::uint64_t, 8> secret{};
    std::array<std::uint64_t, 8> into{};
    for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = 0x5eca'1234'0000'0000U + i;
    const auto received = cluster_[by].receive({.source = Rank{from}}, std::as_writable_bytes(std::span(into)), {});
    const auto sent = cluster_[from].send({.to = Rank{by}}, ConstLayout(std::as_bytes(std::span(secret))));
    ASSERT_TRUE(received && sent);
    cluster_.settle();
    ASSERT_TRUE(cluster_[by].take_completion(*received));
    ASSERT_TRUE(cluster_[from].take_completion(*sent));
    for (const std::span<std::byte> memory : cluster_.node(by).translator->given()) {
      const auto bytes = std::as_bytes(std::span(secret));
      const auto found = std::ranges::search(memory, bytes);
      if (found.empty()) continue;
      const std::byte* record = found.data() - engine::kRecordHeadBytes;
      const std::uint64_t garbage = ~std::uint64_t{0};
      std::memcpy(const_cast<std::byte*>(record) + engine::record_span(sizeof secret), &garbage, sizeof garbage);
      return;
    }
    FAIL() << "the ring was not found";
  }
  void progress() {
    cluster_.progress();
    for (auto& patterns : patterns_) patterns->progress();
  }

  Cluster cluster_{kSize, usual_limits()};
  std::vector<std::unique_ptr<pattern::Patterns>> patterns_;
};

TEST_F(CutOff, EndsTheCompileEverywhere) {
  for (std::uint32_t rank = 0; rank < kSize; ++rank)
    patterns_.push_back(std::make_unique<pattern::Patterns>(cluster_[rank]));
  spoil(0, 1);
  std::array<std::array<std::byte, 100>, kSize> out{};
  std::array<std::array<std::byte, 100>, kSize> in{};
  std::array<pattern::PlannedPattern*, kSize> ones{};
  std::array<Request, kSize> requests{};
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    ones[rank] = *patterns_[rank]->create({});
    using Kind = pattern::Declared::Kind;
    ASSERT_TRUE(
        ones[rank]->declare({.kind = Kind::send, .rank = (rank + 1) % kSize, .source = ConstLayout(out[rank])}));
    ASSERT_TRUE(
        ones[rank]->declare({.kind = Kind::receive, .rank = (rank + kSize - 1) % kSize, .target = Layout(in[rank])}));
    requests[rank] = *ones[rank]->compile({});
  }
  for (int i = 0; i < 10'000; ++i) progress();
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    const auto completion = cluster_[rank].take_completion(requests[rank]);
    ASSERT_TRUE(completion) << "rank " << rank << ": " << cluster_[rank].waiting_for();
    EXPECT_NE(completion->code, ErrorCode::ok) << rank;
    if (rank < 2) {
      EXPECT_EQ(completion->code, ErrorCode::connection_lost) << rank;
    }
  }
}

} // namespace
} // namespace heddle::tests
