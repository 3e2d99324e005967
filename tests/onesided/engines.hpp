// Engines that do one-sided operations with each other, over a loopback network of a given manner.
#pragma once

#include "tests/engine/cluster.hpp"

#include <heddle/onesided.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <span>
#include <vector>

namespace heddle::tests {

constexpr AreaId kArea{7};
constexpr AreaId kLock{9};

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned salt) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 131 + salt * 17 + (i >> 8U)) & 0xffU);
  return data;
}

inline std::span<std::byte> unconst(std::span<const std::byte> data) {
  return {const_cast<std::byte*>(data.data()), data.size()};
}

struct Manner {
  const char* name;
  Shape shape;
};
inline void PrintTo(const Manner& manner, std::ostream* out) {
  *out << manner.name;
}

class Engines : public testing::TestWithParam<Manner> {
 protected:
  void build(std::uint32_t size, std::uint64_t seed = 1) {
    cluster = std::make_unique<Cluster>(size, usual_limits(), GetParam().shape, seed);
  }
  onesided::OneSidedEngine& at(std::uint32_t rank) { return *cluster->node(rank).one_sided; }
  ErrorCode finish(const Tracker& tracker) {
    for (int i = 0; i < 200'000 && !tracker.ended(); ++i) cluster->progress();
    EXPECT_TRUE(tracker.ended()) << (*cluster)[0].waiting_for();
    return tracker.ended() ? tracker.code() : ErrorCode::timed_out;
  }
  ErrorCode push(std::uint32_t from, const Place& to, std::span<const std::byte> data, const Selection& selection = {},
                 Signal signal = {}) {
    Tracker tracker;
    at(from).push({.place = to, .local = unconst(data), .selection = selection, .signal = signal}, tracker);
    return finish(tracker);
  }
  ErrorCode pull(std::uint32_t by, const Place& from, std::span<std::byte> into, const Selection& selection = {},
                 std::span<std::byte> twin = {}) {
    Tracker tracker;
    at(by).pull({.place = from, .local = into, .selection = selection, .twin = twin}, tracker);
    return finish(tracker);
  }
  void kill(std::uint32_t rank) {
    cluster->kill(rank);
    for (std::uint32_t other = 0; other < cluster->size(); ++other)
      if (cluster->alive(other)) (*cluster)[other].peer_failed(rank);
  }

  std::unique_ptr<Cluster> cluster;
};

} // namespace heddle::tests
