#include "translators/tcp/address.hpp"

#include <gtest/gtest.h>

namespace heddle::translators::tcp {
namespace {

Place place_of(const char* host) {
  return {.endpoint = {.host = *net::parse_host(host)}, .id = 7};
}

TEST(TcpPlace, IsTheSameAfterItsTravel) {
  Place place = place_of("2001:db8::3");
  place.endpoint.port = 4000;
  place.bootstrap = ir::MemoryKey{0x1234'5678'9abc'def0ULL};
  place.machine = 99;
  const auto again = Place::unpack(place.pack());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->pack(), place.pack());
  EXPECT_EQ(again->id, 7U);
  EXPECT_EQ(again->machine, 99U);
  EXPECT_EQ(again->bootstrap, place.bootstrap);
  EXPECT_EQ(again->endpoint.text(), "[2001:db8::3]:4000");
}

TEST(TcpPlace, IsNotReadFromOtherAddresses) {
  EXPECT_FALSE(Place::unpack({}));
  ir::Address other{};
  other.fill(std::byte{0xa5});
  EXPECT_FALSE(Place::unpack(other));
  EXPECT_FALSE(Place::unpack(place_of("::1").pack())) << "it has no port";
}

} // namespace
} // namespace heddle::translators::tcp
