#include "translators/area_keys.hpp"

#include "translators/loopback/loopback.hpp"
#include "translators/shm/areas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace heddle::translators {
namespace {

// What was xored with its own upper bits.
std::uint64_t unshifted(std::uint64_t word, unsigned shift) {
  std::uint64_t found = word;
  for (unsigned known = shift; known < 64; known += shift) found = word ^ (found >> shift);
  return found;
}

// The factor that undoes a multiplication by an odd one: Newton's iteration, each step doubles the bits that are right.
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t found = odd;
  for (int step = 0; step < 6; ++step) found *= 2 - odd * found;
  return found;
}

// What splitmix64 gives after `drawn`: whoever sees one number of it can compute all that follow.
std::uint64_t next_of_splitmix(std::uint64_t drawn) {
  std::uint64_t word = unshifted(drawn, 31) * inverse(0x94d0'49bb'1331'11ebULL);
  word = unshifted(word, 27) * inverse(0xbf58'476d'1ce4'e5b9ULL);
  return base::mix(unshifted(word, 30));
}

TEST(AreaKeys, OfASimulatedJobAreTheSameEachTime) {
  AreaKeys first(7);
  AreaKeys second(7);
  std::uint64_t before = first.draw();
  EXPECT_EQ(second.draw(), before);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t drawn = first.draw();
    EXPECT_EQ(second.draw(), drawn);
    EXPECT_EQ(drawn, next_of_splitmix(before)) << "and so they can be computed from one another";
    before = drawn;
  }
}

TEST(AreaKeys, OfARealJobAreNot) {
  std::set<std::uint64_t> seen;
  for (int generator = 0; generator < 4; ++generator) {
    AreaKeys keys = AreaKeys::secret();
    std::uint64_t before = keys.draw();
    EXPECT_TRUE(seen.insert(before).second) << "two processes draw the same";
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t drawn = keys.draw();
      EXPECT_NE(drawn, next_of_splitmix(before));
      EXPECT_TRUE(seen.insert(drawn).second);
      before = drawn;
    }
  }
}

// By what processes of a job have in common, or what they can count, no key is found: two that do just the same have other keys.
void expect_other_keys_each_time(const std::function<std::vector<std::uint64_t>()>& keys_of_a_process) {
  std::set<std::uint64_t> seen;
  for (int process = 0; process < 4; ++process) {
    const auto keys = keys_of_a_process();
    EXPECT_FALSE(keys.empty());
    for (const std::uint64_t key : keys) EXPECT_TRUE(seen.insert(key).second) << key;
  }
}

TEST(AreaKeys, OfSharedMemoryDifferBetweenProcessesThatDoTheSame) {
  expect_other_keys_each_time([] {
    auto segment = Segment::create(std::size_t{1} << 20U);
    EXPECT_TRUE(segment);
    OwnAreas areas(*segment, 2, false);
    std::vector<std::uint64_t> keys;
    for (int i = 0; i < 8; ++i) {
      const auto made = areas.allocate(64);
      EXPECT_TRUE(made) << made.error().message();
      keys.push_back(made->key);
    }
    return keys;
  });
}

TEST(AreaKeys, OfLoopbackDifferBetweenProcessesThatDoTheSame) {
  expect_other_keys_each_time([] {
    LoopbackFabric fabric(1);
    Loopback loopback(fabric, ir::Peer{0});
    std::vector<std::uint64_t> keys;
    for (int i = 0; i < 8; ++i) {
      const auto made = loopback.allocate_area(64);
      EXPECT_TRUE(made) << made.error().message();
      keys.push_back(static_cast<std::uint64_t>(made->place.key));
      EXPECT_TRUE(loopback.close_area(made->place));
      loopback.release_area(*made);
    }
    return keys;
  });
}

} // namespace
} // namespace heddle::translators
