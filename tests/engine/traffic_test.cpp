// Random traffic over loopback, under limits and networks of many kinds, checked against a model.
#include "tests/engine/world.hpp"

#include <gtest/gtest.h>

namespace heddle::tests {
namespace {

void run(const Mix& mix, std::uint64_t count) {
  for (const std::uint64_t seed : seeds(count)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    World world(mix, seed);
    world.run();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Traffic, IsWholeAndInOrderBetweenTwo) {
  run({.size = 2}, 4);
}
TEST(Traffic, IsWholeAndInOrderBetweenThree) {
  run({.size = 3}, 4);
}
TEST(Traffic, IsWholeAndInOrderBetweenEight) {
  run({.size = 8}, 3);
}
TEST(Traffic, IsWholeAndInOrderToOneself) {
  run({.size = 1}, 3);
}
TEST(Traffic, IsWholeAndInOrderThroughTinyRings) {
  run({.size = 3,
       .limits =
           {.eager_limit = 512, .ring_bytes = 4096, .ring_memory = 1U << 20U, .chunk_bytes = 4096, .assist = true}},
      4);
}
TEST(Traffic, IsWholeAndInOrderThroughASharedRing) {
  run({.size = 4,
       .limits = {.eager_limit = 4096, .ring_bytes = 65536, .ring_memory = 65536, .chunk_bytes = 8192, .assist = true}},
      4);
}
TEST(Traffic, IsWholeAndInOrderThroughATinySharedRing) {
  run({.size = 5,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 4096, .ring_memory = 3 * 4096, .chunk_bytes = 4096, .assist = true},
       .largest = 60'000},
      4);
}
TEST(Traffic, IsWholeAndInOrderWithNothingEager) {
  run({.size = 3,
       .limits =
           {.eager_limit = 0, .ring_bytes = 65536, .ring_memory = 1U << 22U, .chunk_bytes = 16384, .assist = true}},
      3);
}
TEST(Traffic, IsWholeAndInOrderWithMuchEager) {
  run({.size = 3,
       .limits = {.eager_limit = 1U << 18U,
                  .ring_bytes = 1U << 20U,
                  .ring_memory = 1U << 24U,
                  .chunk_bytes = 1U << 20U,
                  .assist = false}},
      3);
}
TEST(Traffic, IsWholeAndInOrderWhereMemoryCannotBeRead) {
  run({.size = 3, .shape = {.reads_any_memory = false}}, 3);
}
TEST(Traffic, IsWholeAndInOrderWithManyReadsUnderWay) {
  run({.size = 3,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 16384, .ring_memory = 1U << 22U, .chunk_bytes = 4096, .assist = true},
       .shape = {.processor_copies = false, .largest_transfer = 3000, .late_percent = 50}},
      4);
}
TEST(Traffic, IsWholeAndInOrderWithoutConnections) {
  run({.size = 5, .shape = {.announcing = true}}, 4);
}
TEST(Traffic, IsWholeAndInOrderWithoutConnectionsThroughASharedRing) {
  run({.size = 5,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 4096, .ring_memory = 3 * 4096, .chunk_bytes = 4096, .assist = true},
       .shape = {.announcing = true, .late_percent = 50},
       .largest = 60'000},
      4);
}
TEST(Traffic, IsWholeAndInOrderWithoutConnectionsUnderBackPressureAndLateArrival) {
  run({.size = 4,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 8192, .ring_memory = 1U << 20U, .chunk_bytes = 4096, .assist = true},
       .shape = {.processor_copies = false,
                 .inline_bytes = 128,
                 .largest_transfer = 3000,
                 .refuse_percent = 30,
                 .announcing = true,
                 .late_percent = 60},
       .largest = 200'000},
      6);
}
TEST(Traffic, IsWholeAndInOrderWherePayloadsAreReadLate) {
  run({.size = 4,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 8192, .ring_memory = 1U << 18U, .chunk_bytes = 4096, .assist = true},
       .shape = {.inline_bytes = 64, .late_percent = 60},
       .largest = 100'000},
      6);
}
TEST(Traffic, EndsWithoutConnectionsWhenAPeerIsKilled) {
  run({.size = 5, .shape = {.announcing = true, .late_percent = 40}, .largest = 100'000, .kill = true}, 8);
}
TEST(Traffic, IsWholeAndInOrderUnderBackPressureAndLateArrival) {
  run({.size = 4,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 8192, .ring_memory = 1U << 20U, .chunk_bytes = 4096, .assist = true},
       .shape = {.refuse_percent = 30, .late_percent = 60},
       .largest = 200'000},
      6);
}
TEST(Traffic, IsWholeAndInOrderThroughASharedRingUnderBackPressureAndLateArrival) {
  run({.size = 4,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 8192, .ring_memory = 2 * 8192, .chunk_bytes = 4096, .assist = true},
       .shape = {.refuse_percent = 30, .late_percent = 60},
       .largest = 60'000},
      6);
}

TEST(Death, EndsWhatConcernsTheDeadAndNothingElse) {
  run({.size = 4, .steps = 800, .kill = true}, 12);
}
TEST(Death, EndsWhatConcernsTheDeadOnASharedRing) {
  run({.size = 4,
       .limits =
           {.eager_limit = 1024, .ring_bytes = 8192, .ring_memory = 2 * 8192, .chunk_bytes = 4096, .assist = true},
       .steps = 800,
       .largest = 60'000,
       .kill = true},
      12);
}
TEST(Death, EndsWhatConcernsTheDeadWithMuchUnderWay) {
  run({.size = 4,
       .limits =
           {.eager_limit = 512, .ring_bytes = 4096, .ring_memory = 1U << 20U, .chunk_bytes = 4096, .assist = true},
       .shape = {.processor_copies = false, .late_percent = 60},
       .steps = 800,
       .largest = 200'000,
       .kill = true},
      12);
}
TEST(Death, EndsWhatConcernsTheDeadAmidSharedCopies) {
  run({.size = 3,
       .limits =
           {.eager_limit = 512, .ring_bytes = 8192, .ring_memory = 1U << 20U, .chunk_bytes = 4096, .assist = true},
       .shape = {.refuse_percent = 20, .late_percent = 60},
       .steps = 600,
       .kill = true},
      12);
}

} // namespace
} // namespace heddle::tests
