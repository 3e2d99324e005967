// What a peer costs that is connected and says nothing.
#include "net/sockets.hpp"
#include "translators/tcp/tcp.hpp"

#include <gtest/gtest.h>

#include <malloc.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>

namespace heddle::translators {
namespace {

constexpr std::uint32_t kEnough = 46; // each with each: 1,035 connections, of two ends

std::size_t allocated() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// As before when it goes.
class FileLimit {
 public:
  explicit FileLimit(const rlimit& before) : before_(before) {}
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_;
};

// Null where the system does not allow so many.
std::unique_ptr<FileLimit> raise_limit_on_files(rlim_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < wanted) return nullptr;
  auto restored = std::make_unique<FileLimit>(limit);
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::move(restored) : nullptr;
}

TEST(ManyPeers, CostLittleWhileTheySayNothing) {
  const auto files = raise_limit_on_files(4096);
  if (!files) GTEST_SKIP() << "the limit on open files is too low";
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
}

// One process with a thousand peers, which are no more here than what they say to get in.
TEST(ManyPeers, OfOneProcessCostNoPollOfTheirOwn) {
  constexpr std::uint32_t kThousand = 1000;
  const auto files = raise_limit_on_files(2 * kThousand + 64);
  if (!files) GTEST_SKIP() << "the limit on open files is too low";
  const auto idle_poll_ns = [](Tcp& tcp) {
    std::array<ir::Event, 8> events{};
    constexpr int kPolls = 100'000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kPolls; ++i) EXPECT_EQ(tcp.poll(events), 0U);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / kPolls;
  };
  auto made = Tcp::create({.rank = 0, .size = kThousand + 1});
  ASSERT_TRUE(made) << made.error().message();
  Tcp& tcp = **made;
  const auto place = tcp::Place::unpack(tcp.address());
  std::vector<base::Descriptor> peers;
  const std::size_t empty = allocated();
  double with_one = 0;
  for (std::uint32_t rank = 1; rank <= kThousand; ++rank) {
    auto socket = net::begin_connect(place->endpoint);
    ASSERT_TRUE(socket) << socket.error().message();
    auth::Introduction introduction(auth::Introduction::Role::calls, auth::Secret{}, tcp::kService);
    while (introduction.advance(socket->number()) == auth::Introduction::State::goes_on) tcp.poll({});
    tcp::Hello hello{.id = rank + 1, .wanted = 1, .attempt = 1, .lane = 0, .listens = {}};
    iovec whole{.iov_base = &hello, .iov_len = sizeof hello};
    ASSERT_EQ(net::send_some(socket->number(), {&whole, 1}), sizeof hello);
    peers.push_back(std::move(*socket));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!tcp.will_tell_end(ir::Peer{rank})) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "rank " << rank;
      tcp.poll({});
    }
    if (rank == 1) with_one = idle_poll_ns(tcp);
  }
  const std::size_t bytes = (allocated() - empty) / kThousand;
  std::printf("%zu bytes for each of %u peers beside the system's; an idle poll takes %.0f ns, with one peer %.0f ns\n",
              bytes, kThousand, idle_poll_ns(tcp), with_one);
  EXPECT_LT(bytes, 2048U);
}

} // namespace
} // namespace heddle::translators
