#include "translators/verbs/address.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace heddle::translators::verbs {
namespace {

Place on_subnet() {
  Place place{.door = 0x12'3456, .lid = 96, .lmc = 5, .uid = 77};
  place.gid[0] = std::byte{0xfe};
  place.gid[1] = std::byte{0x80};
  place.bootstrap = ir::MemoryKey{key_base_of(77) << 32U | 0x8899'aabbU};
  return place;
}
Place on_ethernet() {
  Place place{.door = 17, .addresses = 3, .uid = 78};
  for (std::size_t i = 0; i < place.gid.size(); ++i) place.gid.at(i) = static_cast<std::byte>(i + 1);
  place.bootstrap = ir::MemoryKey{key_base_of(78) << 32U | 0x1122'3344U};
  return place;
}

TEST(VerbsAddress, ComesBackAsItWas) {
  for (const Place& place : {on_subnet(), on_ethernet()}) {
    const auto again = Place::unpack(place.pack());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, place);
  }
}

TEST(VerbsAddress, OfAnOpenWorldFollowsFromItsShortFormAndTheUniqueId) {
  for (const Place& place : {on_subnet(), on_ethernet()}) {
    const ir::ShortAddress shortened = place.shorten();
    const auto again = Place::lengthen(place.uid, shortened.used());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, place);
    EXPECT_FALSE(Place::lengthen(place.uid, shortened.used().first(shortened.size - 1U)));
    EXPECT_FALSE(Place::lengthen(0, shortened.used()));
  }
}

TEST(VerbsAddress, ThatCannotBeIsUnreachable) {
  Place no_door = on_subnet();
  no_door.door = 0;
  Place wide_door = on_subnet();
  wide_door.door = 1U << 24U;
  Place both = on_subnet();
  both.addresses = 1;
  Place neither = on_subnet();
  neither.lid = 0;
  Place many = on_subnet();
  many.lmc = 8;
  for (const Place& wrong : {Place{}, no_door, wide_door, both, neither, many}) {
    const auto refused = Place::unpack(wrong.pack());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unreachable);
  }
}

TEST(VerbsAddress, HasAPathForEachLidOrAddress) {
  EXPECT_EQ(on_subnet().paths(), 32U);
  EXPECT_EQ(on_ethernet().paths(), 3U);
}

TEST(VerbsAddress, OnASubnetTheVectorHoldsTheLidOfThePath) {
  for (std::uint32_t path = 0; path < on_subnet().paths(); ++path) {
    const ibv_ah_attr vector = address_vector({.port = 2, .path = 5}, on_subnet(), path);
    EXPECT_EQ(vector.dlid, 96 + path);
    EXPECT_EQ(vector.src_path_bits, 5);
    EXPECT_EQ(vector.is_global, 0);
    EXPECT_EQ(vector.port_num, 2);
  }
}

TEST(VerbsAddress, OnEthernetTheVectorHoldsTheAddressAndTheOwnOnesNumber) {
  const Place there = on_ethernet();
  const ibv_ah_attr vector = address_vector({.port = 1, .gid_index = 4}, there, 1);
  EXPECT_EQ(vector.is_global, 1);
  EXPECT_EQ(vector.src_path_bits, 0);
  EXPECT_EQ(vector.dlid, 0);
  EXPECT_EQ(vector.grh.sgid_index, 4);
  EXPECT_EQ(std::memcmp(vector.grh.dgid.raw, there.gid.data(), there.gid.size()), 0);
}

} // namespace
} // namespace heddle::translators::verbs
