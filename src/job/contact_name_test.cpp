#include "job/contact_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::job {
namespace {

using testing::HasSubstr;

ContactName::Entry entry_of(char letter, std::uint8_t bytes) {
  ContactName::Entry entry{.letter = letter, .address = {.size = bytes}};
  for (std::size_t i = 0; i < bytes; ++i) entry.address.bytes[i] = static_cast<std::byte>(i * 5 + 1);
  return entry;
}

ContactName some_contact() {
  return {.uid = 0x0123'4567'89ab'cdefULL, .networks = {entry_of('a', 24), entry_of('b', 22)}};
}

Name some_name() {
  return *some_contact().encode();
}

TEST(Name, HoldsWhoAndWhereOnEachNetwork) {
  const ContactName read = ContactName::decode(some_name());
  EXPECT_EQ(read.uid, 0x0123'4567'89ab'cdefULL);
  ASSERT_EQ(read.networks.size(), 2U);
  EXPECT_EQ(read.networks[0].letter, 'a') << "in their order";
  EXPECT_EQ(read.networks[0].address.size, 24U);
  EXPECT_EQ(read.networks[0].address.bytes[23], std::byte{116});
  ASSERT_NE(read.find('b'), nullptr);
  EXPECT_EQ(read.find('b')->address.used().size(), 22U);
  EXPECT_EQ(read.find('b')->address.bytes[21], std::byte{106});
  EXPECT_EQ(read.find('c'), nullptr);
}

TEST(Name, RefusesMoreNetworksThanItHasRoomFor) {
  ContactName contact = some_contact();
  contact.networks.push_back(entry_of('c', 0));
  const auto name = contact.encode();
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().code, ErrorCode::unsupported);
  EXPECT_THAT(name.error().message(), HasSubstr("no room for the addresses of all networks"));
}

// Whoever knows how can give a name any bytes, and a check that fits.
TEST(Name, LeavesOutWhatIsNotSound) {
  ContactName contact{.uid = 1, .networks = {entry_of('a', 10), entry_of('a', 4)}};
  EXPECT_EQ(ContactName::decode(*contact.encode()).networks.size(), 1U) << "one of a kind";
  EXPECT_EQ(ContactName::decode(*contact.encode()).find('a')->address.size, 10U);
  contact.networks = {entry_of(0, 3), entry_of('a', 4)};
  EXPECT_TRUE(ContactName::decode(*contact.encode()).networks.empty()) << "zero ends them";
  // Inside the first address stands what looks like a second entry, which is longer than the name.
  contact.networks = {entry_of('a', 1), entry_of('b', 0)};
  contact.networks[1].address.size = 24;
  contact.networks[1].address.bytes = {};
  EXPECT_EQ(ContactName::decode(*contact.encode()).networks.size(), 2U);
}

TEST(Name, TravelsAsBytesAndAsText) {
  const Name name = some_name();
  EXPECT_EQ(*Name::from_bytes(name.bytes()), name);
  EXPECT_EQ(name.text().size(), 128U);
  EXPECT_EQ(*Name::from_text(name.text()), name);
  EXPECT_EQ(*Name::from_text(name.text() + "\n"), name) << "as a line of a file";
}

TEST(Name, IsRefusedWhereAnyBitIsWrong) {
  for (std::size_t bit = 0; bit < 8 * Name::kBytes; ++bit) {
    auto bytes = some_name().bytes();
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto read = Name::from_bytes(bytes);
    ASSERT_FALSE(read) << "bit " << bit;
    EXPECT_EQ(read.error().code, ErrorCode::bad_argument);
  }
}

TEST(Name, IsRefusedWithWhatWasExpected) {
  const std::string text = some_name().text();
  EXPECT_THAT(Name::from_bytes({}).error().fact, HasSubstr("64 bytes, not 0"));
  EXPECT_THAT(Name::from_text("").error().fact, HasSubstr("128 digits, not 0"));
  EXPECT_THAT(Name::from_text(text.substr(1)).error().fact, HasSubstr("128 digits, not 127"));
  EXPECT_THAT(Name::from_text("G" + text.substr(1)).error().fact, HasSubstr("digits 0-9 and a-f"));
  EXPECT_THAT(Name::from_text(std::string(128, '0')).error().fact, HasSubstr("not a name, or are damaged"));
}

TEST(Uid, IsNeverTheSame) {
  EXPECT_NE(draw_uid(), draw_uid());
}

} // namespace
} // namespace heddle::job
