#include "translators/tcp/sockets.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace heddle::translators::tcp {
namespace {

Place place_at(const char* host) {
  Place place;
  EXPECT_EQ(::inet_pton(AF_INET6, host, &place.host), 1);
  place.id = 7;
  return place;
}

class TcpSockets : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Family, TcpSockets, testing::Values("::ffff:127.0.0.1", "::1"));

TEST_P(TcpSockets, CarryBytesBothWays) {
  Place place = place_at(GetParam());
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

TEST(TcpPlace, IsTheSameAfterItsTravel) {
  Place place = place_at("2001:db8::3");
  place.port = 4000;
  place.bootstrap = ir::MemoryKey{0x1234'5678'9abc'def0ULL};
  const auto again = Place::unpack(place.pack());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->pack(), place.pack());
  EXPECT_EQ(again->id, 7U);
  EXPECT_EQ(again->bootstrap, place.bootstrap);
  EXPECT_EQ(again->text(), "[2001:db8::3]:4000");
  EXPECT_EQ(place_at("::ffff:10.1.0.3").text(), "10.1.0.3:0");
}

TEST(TcpPlace, IsNotReadFromOtherAddresses) {
  EXPECT_FALSE(Place::unpack({}));
  ir::Address other{};
  other.fill(std::byte{0xa5});
  EXPECT_FALSE(Place::unpack(other));
  Place without_port = place_at("::1");
  EXPECT_FALSE(Place::unpack(without_port.pack()));
}

} // namespace
} // namespace heddle::translators::tcp
