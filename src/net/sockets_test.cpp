#include "net/sockets.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace heddle::net {
namespace {

Endpoint place_at(const char* host) {
  Endpoint place;
  EXPECT_EQ(::inet_pton(AF_INET6, host, &place.host), 1);
  return place;
}

class Sockets : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Family, Sockets, testing::Values("::ffff:127.0.0.1", "::1"));

TEST_P(Sockets, CarryBytesBothWays) {
  Endpoint place = place_at(GetParam());
  auto listener = listen_at(place);
  if (!listener && (listener.error().system_code == EAFNOSUPPORT || listener.error().system_code == EADDRNOTAVAIL))
    GTEST_SKIP() << "this machine does not have the family";
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_NE(place.port, 0);
  auto here = begin_connect(place);
  ASSERT_TRUE(here) << here.error().message();
  while (connect_error(here->number()) == EINPROGRESS) {
  }
  const base::Descriptor there = accept_one(listener->number());
  ASSERT_TRUE(there.open());
  EXPECT_FALSE(accept_one(listener->number()).open()) << "nobody else has connected";
  for (const auto& [from, to] :
       {std::pair(here->number(), there.number()), std::pair(there.number(), here->number())}) {
    std::array<char, 6> out{"hello"};
    std::array<char, 6> in{};
    iovec given{.iov_base = out.data(), .iov_len = out.size()};
    iovec taken{.iov_base = in.data(), .iov_len = in.size()};
    EXPECT_EQ(receive_some(to, {&taken, 1}), 0) << "nothing has come";
    EXPECT_EQ(send_some(from, {&given, 1}), out.size());
    std::ptrdiff_t got = 0;
    while ((got = receive_some(to, {&taken, 1})) == 0) {
    }
    EXPECT_EQ(got, 6);
    EXPECT_EQ(in, out);
  }
  here->reset();
  std::array<char, 1> byte{};
  iovec last{.iov_base = byte.data(), .iov_len = 1};
  std::ptrdiff_t got = 0;
  while ((got = receive_some(there.number(), {&last, 1})) == 0) {
  }
  EXPECT_EQ(got, -1);
  listener->reset();
  const auto refused = begin_connect(place);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unreachable);
  EXPECT_NE(refused.error().fact.find(place.text()), std::string::npos) << refused.error().fact;
}

TEST(PortRange, IsRead) {
  EXPECT_EQ(PortRange::parse("any")->first, 0);
  EXPECT_EQ(PortRange::parse("20000")->last, 20000);
  EXPECT_EQ(PortRange::parse("20000-20999")->first, 20000);
  EXPECT_EQ(PortRange::parse("20000-20999")->last, 20999);
  for (const char* text : {"", "0", "-", "5-4", "1-70000", "x", "1-2-3", "20000-"})
    EXPECT_FALSE(PortRange::parse(text)) << text;
}

TEST(Sockets, ListenInsideTheRangeUntilItIsFull) {
  Endpoint any{.host = loopback()};
  const auto probe = listen_at(any); // somewhere where ports are free
  ASSERT_TRUE(probe);
  const auto first = static_cast<std::uint16_t>(std::min<int>(any.port, 65000) + 1);
  const PortRange range{.first = first, .last = static_cast<std::uint16_t>(first + 3)};
  std::vector<base::Descriptor> taken;
  while (true) {
    Endpoint place{.host = loopback()};
    auto listener = listen_at(place, range);
    if (!listener) {
      EXPECT_NE(listener.error().fact.find("no port from " + std::to_string(first)), std::string::npos)
          << listener.error().fact;
      EXPECT_NE(listener.error().remedy.find("widen option tcp.ports"), std::string::npos) << listener.error().remedy;
      break;
    }
    EXPECT_GE(place.port, range.first);
    EXPECT_LE(place.port, range.last);
    taken.push_back(std::move(*listener));
    ASSERT_LE(taken.size(), 4U);
  }
  EXPECT_GE(taken.size(), 1U);
}

TEST(SocketsOfOneMachine, DoNotSpreadOverTimeWhatTheySend) {
  Endpoint place = place_at("::ffff:127.0.0.1");
  const auto listener = listen_at(place);
  ASSERT_TRUE(listener) << listener.error().message();
  const auto here = begin_connect(place);
  ASSERT_TRUE(here) << here.error().message();
  while (connect_error(here->number()) == EINPROGRESS) {
  }
  hurry_if_local(here->number());
  std::array<char, 16> name{};
  socklen_t length = name.size();
  ASSERT_EQ(::getsockopt(here->number(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &length), 0);
  EXPECT_STREQ(name.data(), "reno");
}

TEST(Sockets, OneThatListensAtNoAddressInParticularIsReachedByBothFamilies) {
  Endpoint everywhere{};
  const auto listener = listen_at(everywhere);
  ASSERT_TRUE(listener) << listener.error().message();
  for (const char* text : {"127.0.0.1", "::1"}) {
    const Endpoint there{.host = parse_host(text).value(), .port = everywhere.port};
    Endpoint tried{.host = there.host};
    if (!listen_at(tried)) continue; // the system has no such address
    const auto socket = begin_connect(there);
    ASSERT_TRUE(socket) << text << ": " << socket.error().message();
    ASSERT_TRUE(wait_for(socket->number(), POLLOUT, base::deadline_in(std::chrono::seconds(10)))) << text;
    EXPECT_EQ(connect_error(socket->number()), 0) << text;
  }
}

} // namespace
} // namespace heddle::net
