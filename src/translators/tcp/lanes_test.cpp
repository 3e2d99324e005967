// Several networks between two processes: here several addresses of loopback, one connection by each.
#include "net/interfaces.hpp"
#include "translators/contract/network.hpp"
#include "translators/tcp/tcp.hpp"

#include <gtest/gtest.h>

#include <linux/tcp.h> // knows more of it than netinet/tcp.h
#include <sys/socket.h>

#include <array>
#include <functional>
#include <map>
#include <numeric>

namespace heddle::translators {
namespace {

constexpr std::uint32_t kSize = 2;
constexpr std::array kHosts{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"};

class TcpLanes : public testing::Test {
 protected:
  // Rank 0 listens at so many addresses, rank 1 at so many.
  void start(std::size_t here, std::size_t there) {
    all_[0] = made(0, here);
    all_[1] = made(1, there);
    memory_ = *all_[1]->allocate(1 << 20);
    ASSERT_TRUE(all_[0]->attach(ir::Peer{1}, all_[1]->address()));
    ASSERT_TRUE(all_[1]->attach(ir::Peer{0}, all_[0]->address()));
    ASSERT_NO_FATAL_FAILURE(all_are_used(std::min(here, there)));
  }
  void all_are_used(std::size_t lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      ASSERT_TRUE(until([&] { return carries(static_cast<std::uint8_t>(lane)); })) << "lane " << lane;
    EXPECT_EQ(open_at().size(), 2 * lanes);
  }
  // Whether what names that engine goes by its network.
  bool carries(std::uint8_t engine) {
    std::array<std::byte, 1000> data{};
    ir::Command put = contract::put(1, memory_.place, data);
    put.send_engine = engine;
    const std::uint64_t before = received_by_network()[engine + 1];
    EXPECT_EQ(carry_out(put), ir::Status::ok);
    return received_by_network()[engine + 1] >= before + data.size();
  }

  static std::unique_ptr<Tcp> made(std::uint32_t rank, std::size_t networks) {
    tcp::Listening listening;
    listening.at.clear();
    for (std::size_t i = 0; i < networks; ++i)
      listening.at.push_back({.name = "lo", .host = *net::parse_host(kHosts[i]), .prefix = 8});
    auto tcp = Tcp::create({.rank = rank, .size = kSize, .listening = listening});
    EXPECT_TRUE(tcp) << tcp.error().message();
    return std::move(*tcp);
  }

  // Sockets of this process whose connection is made, by the number of the address at their own end and at the other.
  static std::multimap<std::pair<int, int>, int> open_at() {
    std::multimap<std::pair<int, int>, int> found;
    for (int socket = 3; socket < 256; ++socket) {
      net::SocketAddress own;
      net::SocketAddress other;
      if (::getsockname(socket, own.get(), &own.length) != 0 || ::getpeername(socket, other.get(), &other.length) != 0)
        continue;
      found.emplace(std::pair(own.endpoint().host.s6_addr[15], other.endpoint().host.s6_addr[15]), socket);
    }
    return found;
  }
  static std::uint64_t received(int socket) {
    tcp_info info{};
    socklen_t size = sizeof info;
    EXPECT_EQ(::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info.tcpi_bytes_received;
  }
  // By address, both ends together.
  static std::map<int, std::uint64_t> received_by_network() {
    std::map<int, std::uint64_t> bytes;
    for (const auto& [at, socket] : open_at()) bytes[at.first] += received(socket);
    return bytes;
  }

  bool until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + contract::kPatience;
    for (; !done(); poll())
      if (std::chrono::steady_clock::now() >= end) return false;
    return true;
  }
  void poll() {
    for (std::size_t rank = 0; rank < kSize; ++rank) {
      if (all_[rank] == nullptr) continue;
      std::array<ir::Event, 16> some;
      const std::size_t count = all_[rank]->poll(some);
      events_[rank].insert(events_[rank].end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  ir::Status carry_out(ir::Command command) {
    command.flags = command.flags | ir::Flags::signalled;
    events_[0].clear();
    EXPECT_TRUE(until([&] { return all_[0]->submit({&command, 1}) == 1; }));
    EXPECT_TRUE(until([&] { return !events_[0].empty(); }));
    return events_[0].empty() ? ir::Status::failed : events_[0].front().status;
  }
  bool tells(std::size_t rank, ir::EventKind kind) {
    return until(
        [&] { return std::ranges::any_of(events_[rank], [&](const ir::Event& event) { return event.kind == kind; }); });
  }

  std::array<std::unique_ptr<Tcp>, kSize> all_;
  std::array<std::vector<ir::Event>, kSize> events_;
  ir::ExposedMemory memory_;
};

TEST_F(TcpLanes, AreAsManyAsBothSidesHaveNetworks) {
  for (const auto& [here, there] : {std::pair(3, 3), std::pair(1, 3), std::pair(3, 1), std::pair(4, 2)}) {
    start(static_cast<std::size_t>(here), static_cast<std::size_t>(there));
    const auto open = open_at();
    for (int i = 1; i <= std::min(here, there); ++i) EXPECT_EQ(open.count({i, i}), 2U) << i;
    all_ = {};
  }
}

TEST_F(TcpLanes, CarryLargeGetsTogether) {
  start(3, 3);
  const auto wanted = contract::pattern(memory_.memory.size(), 3);
  std::ranges::copy(wanted, memory_.memory.begin());
  const auto before = received_by_network();
  constexpr std::uint64_t kPart = 64 << 10;
  std::vector<std::byte> got(wanted.size());
  std::vector<ir::Command> gets;
  for (std::uint64_t at = 0; at < wanted.size(); at += kPart) {
    ir::Command get = contract::make_command(ir::Operation::get, 1, memory_.place.at(at));
    get.flags = ir::Flags::signalled;
    get.local = got.data() + at;
    get.bytes = kPart;
    gets.push_back(get);
  }
  events_[0].clear();
  ASSERT_EQ(all_[0]->submit(gets), gets.size());
  ASSERT_TRUE(until([&] { return events_[0].size() == gets.size(); }));
  EXPECT_EQ(got, wanted);
  for (const auto& [network, bytes] : received_by_network())
    EXPECT_GE(bytes - before.at(network), wanted.size() / 4) << "network " << network;
}

// Also where the data is much and the word behind it little.
TEST_F(TcpLanes, KeepTheOrderOfPutsThatNameOneEngine) {
  start(3, 3);
  constexpr std::uint64_t kBytes = 200'000;
  for (std::uint64_t round = 1; round <= 30; ++round) {
    const auto engine = static_cast<std::uint8_t>(round % 3);
    const auto before = received_by_network();
    auto data = contract::pattern(kBytes, static_cast<unsigned>(round));
    ir::Command put = contract::put(1, memory_.place.at(64), data);
    put.send_engine = engine;
    ir::Command flag = contract::put_word(1, memory_.place, round + 1);
    flag.send_engine = engine;
    ASSERT_EQ(all_[0]->submit(std::array{put, flag}), 2U);
    ASSERT_TRUE(until([&] { return contract::load_word(memory_.memory.data()) == round + 1; }));
    ASSERT_TRUE(std::ranges::equal(data, memory_.memory.subspan(64, kBytes))) << "round " << round;
    const auto after = received_by_network();
    for (int network = 1; network <= 3; ++network)
      EXPECT_EQ(after.at(network) - before.at(network) >= kBytes, network == engine + 1) << network;
  }
}

TEST_F(TcpLanes, AreAllMadeAnewWhenOneBreaks) {
  start(2, 2);
  for (int round = 0; round < 5; ++round) {
    events_ = {};
    ::shutdown(open_at().find({2, 2})->second, SHUT_RDWR);
    EXPECT_TRUE(tells(0, ir::EventKind::connection_lost));
    EXPECT_TRUE(tells(1, ir::EventKind::connection_lost));
    ASSERT_TRUE(all_[0]->attach(ir::Peer{1}, all_[1]->address()));
    ASSERT_TRUE(all_[1]->attach(ir::Peer{0}, all_[0]->address()));
    ASSERT_NO_FATAL_FAILURE(all_are_used(2));
  }
}

// What a process had put by any of them is there before its end is told.
TEST_F(TcpLanes, BringAllThatAProcessHadSentBeforeItLeft) {
  start(3, 3);
  constexpr std::uint64_t kBytes = 40'000; // that the system takes at once
  auto data = contract::pattern(kBytes, 9);
  for (std::uint8_t engine = 0; engine < 3; ++engine) {
    ir::Command put = contract::put(1, memory_.place.at(engine * kBytes), data);
    put.send_engine = engine;
    ASSERT_EQ(all_[0]->submit({&put, 1}), 1U);
  }
  ASSERT_TRUE(all_[0]->drained());
  all_[0].reset();
  events_ = {};
  ASSERT_TRUE(tells(1, ir::EventKind::peer_left));
  for (std::uint64_t engine = 0; engine < 3; ++engine)
    EXPECT_TRUE(std::ranges::equal(data, memory_.memory.subspan(engine * kBytes, kBytes))) << "engine " << engine;
}

TEST_F(TcpLanes, AreEnginesToPlanWith) {
  start(3, 3);
  EXPECT_EQ(ir::resources_of(*all_[0]).engines, 3U);
  EXPECT_GT(ir::resources_of(*all_[0]).engine_rate, 0);
  EXPECT_EQ(ir::resources_of(*made(0, 1)).engines, 1U);
}

} // namespace
} // namespace heddle::translators
