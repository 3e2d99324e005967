#include "job/contact_name.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::job {
namespace {

using testing::HasSubstr;

Name some_name() {
  ContactName contact{.uid = 0x0123'4567'89ab'cdefULL, .translator = "shm", .address = {}};
  for (std::size_t i = 0; i < contact.address.size(); ++i) contact.address[i] = static_cast<std::byte>(i * 5 + 1);
  return contact.encode();
}

TEST(Name, HoldsWhoAndWhere) {
  const ContactName read = ContactName::decode(some_name());
  EXPECT_EQ(read.uid, 0x0123'4567'89ab'cdefULL);
  EXPECT_EQ(read.translator, "shm");
  EXPECT_EQ(read.address[39], std::byte{196});
  EXPECT_EQ(ContactName::decode(ContactName{.uid = 1, .translator = "elevenchars", .address = {}}.encode()).translator,
            "elevenchars");
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
