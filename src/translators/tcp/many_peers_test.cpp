// What a peer costs that is connected and says nothing.
#include "translators/tcp/tcp.hpp"

#include <gtest/gtest.h>

#include <malloc.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdio>

namespace heddle::translators {
namespace {

constexpr std::uint32_t kEnough = 46; // each with each: 1,035 connections, of two ends

std::size_t allocated() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(ManyPeers, CostLittleWhileTheySayNothing) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  if (limit.rlim_max < 4096 || ::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    GTEST_SKIP() << "the limit on open files is " << limit.rlim_max;
  std::vector<std::unique_ptr<Tcp>> all;
  for (std::uint32_t rank = 0; rank < kEnough; ++rank) {
    auto made = Tcp::create({.rank = rank, .size = kEnough});
    ASSERT_TRUE(made) << made.error().message();
    all.push_back(std::move(*made));
  }
  const std::size_t empty = allocated();
  for (std::uint32_t a = 0; a < kEnough; ++a)
    for (std::uint32_t b = a + 1; b < kEnough; ++b) ASSERT_TRUE(all[a]->attach(ir::Peer{b}, all[b]->address()));
  const auto ends = [&] {
    std::size_t count = 0;
    for (std::uint32_t a = 0; a < kEnough; ++a)
      for (std::uint32_t b = 0; b < kEnough; ++b) count += a != b && all[a]->will_tell_end(ir::Peer{b}) ? 1 : 0;
    return count;
  };
  std::array<ir::Event, 8> events{};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (ends() < std::size_t{kEnough} * (kEnough - 1)) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << ends() << " ends are connected";
    for (const auto& each : all) ASSERT_EQ(each->poll(events), 0U);
  }
  const std::size_t bytes = (allocated() - empty) / (std::size_t{kEnough} * (kEnough - 1));
  constexpr int kPolls = 100'000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kPolls; ++i) ASSERT_EQ(all[0]->poll(events), 0U);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu bytes for each peer beside the system's; an idle poll with %u peers takes %.0f ns\n", bytes,
              kEnough - 1, took.count() / kPolls);
  EXPECT_LT(bytes, 2048U);
  all.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

} // namespace
} // namespace heddle::translators
