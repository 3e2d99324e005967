#include "base/number_text.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(NumberText, IsReadWhole) {
  EXPECT_EQ(number_in("0"), 0U);
  EXPECT_EQ(number_in("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(number_in<std::uint16_t>("65535"), 65535U);
  EXPECT_EQ(number_in("ff", 16), 255U);
}

TEST(NumberText, IsNotGuessedFromWhatIsNone) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1x", "0x1", "1.0", "18446744073709551616"})
    EXPECT_EQ(number_in(text), std::nullopt) << text;
  EXPECT_EQ(number_in<std::uint16_t>("65536"), std::nullopt);
}

} // namespace
} // namespace heddle::base
