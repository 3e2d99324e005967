// What patterns cost in memory: a start allocates nothing, a compile that fails keeps nothing.
#include "pattern/patterns.hpp"
#include "tests/engine/cluster.hpp"
#include "tests/traffic/counted_new.hpp"

#include <gtest/gtest.h>

#include <malloc.h>

#include <array>

namespace heddle::tests {
namespace {

using pattern::Declared;

// Two processes that exchange several messages of a size with each other.
class Pair {
 public:
  static constexpr std::size_t kMessages = 8;

  explicit Pair(std::uint64_t bytes) : memory_(kMessages * bytes), bytes_(bytes) {
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      patterns_[rank] = std::make_unique<pattern::Patterns>(cluster_[rank]);
  }

  pattern::PlannedPattern& declared(std::uint32_t rank) {
    pattern::PlannedPattern& one = **patterns_[rank]->create({});
    for (std::size_t i = 0; i < kMessages; ++i) {
      std::byte* const at = memory_.data() + i * bytes_;
      EXPECT_TRUE(one.declare({.kind = Declared::Kind::send, .rank = 1 - rank, .tag = i, .source = {at, bytes_}}));
      EXPECT_TRUE(one.declare({.kind = Declared::Kind::receive, .rank = 1 - rank, .tag = i, .target = {at, bytes_}}));
    }
    return one;
  }
  // Until both have ended.
  std::array<ErrorCode, 2> wait(const std::array<Request, 2>& requests) {
    while (!cluster_[0].ended(requests[0]) || !cluster_[1].ended(requests[1]))
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        cluster_.progress(rank);
        patterns_[rank]->progress();
      }
    return {cluster_[0].take_completion(requests[0])->code, cluster_[1].take_completion(requests[1])->code};
  }

 private:
  Cluster cluster_{2, usual_limits()};
  std::array<std::unique_ptr<pattern::Patterns>, 2> patterns_;
  std::vector<std::byte> memory_;
  std::uint64_t bytes_;
};

constexpr std::array kFine{ErrorCode::ok, ErrorCode::ok};

class StartedPattern : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, StartedPattern, testing::Values(0, 8, 512, 4096, 100'000)); // records, and straight

TEST_P(StartedPattern, AllocatesNothing) {
  Pair pair(GetParam());
  pattern::PlannedPattern& first = pair.declared(0);
  pattern::PlannedPattern& second = pair.declared(1);
  ASSERT_EQ(pair.wait({*first.compile({}), *second.compile({})}), kFine);
  const auto round = [&] { ASSERT_EQ(pair.wait({*first.start({}), *second.start({})}), kFine); };
  for (int i = 0; i < 10; ++i) round();
  const std::size_t before = allocations;
  for (int i = 0; i < 1000; ++i) round();
  EXPECT_EQ(allocations - before, 0U);
}

TEST(CompiledPattern, KeepsNoMemoryWhenItDoesNotFitTogether) {
  Pair pair(4096);
  std::byte more{};
  const auto fail = [&] {
    pattern::PlannedPattern& first = pair.declared(0);
    pattern::PlannedPattern& second = pair.declared(1);
    ASSERT_TRUE(first.declare({.kind = Declared::Kind::send, .rank = 1, .tag = 99, .source = {&more, 1}}));
    constexpr std::array kRefused{ErrorCode::bad_argument, ErrorCode::bad_argument};
    ASSERT_EQ(pair.wait({*first.compile({}), *second.compile({})}), kRefused);
    first.abandon();
    second.abandon();
  };
  const auto in_use = [] {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  for (int i = 0; i < 10; ++i) fail();
  const std::size_t before = in_use();
  for (int i = 0; i < 100; ++i) fail();
  EXPECT_LT(in_use(), before + 100'000) << "each takes 128 KiB while it lasts";
}

} // namespace
} // namespace heddle::tests
