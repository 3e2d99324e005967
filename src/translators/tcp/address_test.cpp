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

TEST(TcpPlace, IsTheSameAfterItsTravelInAName) {
  for (const auto& [host, bytes] : {std::pair{"10.1.0.3", 10U}, std::pair{"2001:db8::3", 22U}}) {
    Place place = place_of(host);
    place.endpoint.port = 4000;
    place.machine = 99;
    place.bootstrap = bootstrap_of(place.id);
    EXPECT_EQ(place.shorten().size, bytes);
    const auto again = Place::lengthen(7, place.shorten().used());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->pack(), place.pack()) << host;
    EXPECT_FALSE(Place::lengthen(0, place.shorten().used())) << "nobody has this id";
  }
  EXPECT_FALSE(Place::lengthen(7, place_of("::1").shorten().used())) << "it has no port";
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
