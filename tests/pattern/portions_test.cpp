// Patterns of more requests than one portion of wants and answers holds (pattern/wire.hpp).
#include "pattern/patterns.hpp"
#include "tests/engine/cluster.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::tests {
namespace {

using Kind = pattern::Declared::Kind;

class Portions : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr std::uint32_t kSize = 2;

  void end(std::array<Request, kSize> requests) {
    for (int i = 0; i < 100'000 && !(cluster_[0].ended(requests[0]) && cluster_[1].ended(requests[1])); ++i) {
      cluster_.progress();
      for (auto& patterns : patterns_) patterns->progress();
    }
    for (std::uint32_t rank = 0; rank < kSize; ++rank) {
      const auto completion = cluster_[rank].take_completion(requests[rank]);
      ASSERT_TRUE(completion) << cluster_[rank].waiting_for();
      ASSERT_EQ(completion->code, ErrorCode::ok) << ones_[rank]->error()->message();
    }
  }

  Cluster cluster_{kSize, usual_limits()};
  std::array<std::unique_ptr<pattern::Patterns>, kSize> patterns_{std::make_unique<pattern::Patterns>(cluster_[0]),
                                                                  std::make_unique<pattern::Patterns>(cluster_[1])};
  std::array<pattern::PlannedPattern*, kSize> ones_{*patterns_[0]->create({}), *patterns_[1]->create({})};
};
INSTANTIATE_TEST_SUITE_P(Counts, Portions,
                         testing::Values(1, pattern::kPortion - 1, pattern::kPortion, pattern::kPortion + 1,
                                         3 * pattern::kPortion + 7));

// Sends and puts in turn, each word to its place.
TEST_P(Portions, BringEveryRequestToItsPlace) {
  const std::uint64_t count = GetParam();
  std::array<std::vector<std::uint64_t>, kSize> out;
  std::array<std::vector<std::uint64_t>, kSize> in;
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    out[rank].resize(count);
    in[rank].resize(count);
    const std::uint32_t other = 1 - rank;
    ASSERT_TRUE(ones_[rank]->declare({.kind = Kind::expose, .rank = rank, .tag = 5, .target = Layout(in[rank])}));
    for (std::uint64_t i = 0; i < count; ++i) {
      out[rank][i] = 1000 * rank + i + 1;
      if (i % 2 == 0) {
        ASSERT_TRUE(ones_[rank]->declare(
            {.kind = Kind::put, .rank = other, .tag = 5, .offset = 8 * i, .source = ConstLayout(out[rank][i])}));
        continue;
      }
      ASSERT_TRUE(
          ones_[rank]->declare({.kind = Kind::send, .rank = other, .tag = i, .source = ConstLayout(out[rank][i])}));
      ASSERT_TRUE(
          ones_[rank]->declare({.kind = Kind::receive, .rank = other, .tag = i, .target = Layout(in[rank][i])}));
    }
  }
  end({*ones_[0]->compile({}), *ones_[1]->compile({})});
  end({*ones_[0]->start({}), *ones_[1]->start({})});
  for (int i = 0; i < 1000; ++i) cluster_.progress();
  for (std::uint32_t rank = 0; rank < kSize; ++rank) EXPECT_EQ(in[rank], out[1 - rank]);
}

} // namespace
} // namespace heddle::tests
