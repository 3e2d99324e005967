#include "base/size_text.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(SizeText, ReadsPlainNumbersAndBinaryUnits) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("8"), 8U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("1MiB"), 1048576U);
  EXPECT_EQ(parse_size("3GiB"), 3221225472U);
  EXPECT_EQ(parse_size("18446744073709551615"), UINT64_MAX);
}

TEST(SizeText, RefusesWhatIsNoSize) {
  for (const char* text : {"", "-1", "KiB", "64KB", "64 KiB", "64k", "1.5MiB", "18446744073709551616", "16777216TiB"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, ErrorCode::bad_argument);
    EXPECT_NE(size.error().fact.find("'" + std::string(text) + "'"), std::string::npos) << size.error().fact;
  }
}

TEST(SizeText, ReadsLists) {
  EXPECT_EQ(parse_size_list("8,64KiB"), (std::vector<std::uint64_t>{8, 65536}));
  EXPECT_FALSE(parse_size_list(""));
  EXPECT_FALSE(parse_size_list("8,"));
  EXPECT_FALSE(parse_size_list(",8"));
}

TEST(SizeText, PrintsTheShortestExactForm) {
  EXPECT_EQ(print_size(0), "0");
  EXPECT_EQ(print_size(1000), "1000");
  EXPECT_EQ(print_size(65536), "64KiB");
  EXPECT_EQ(print_size(65537), "65537");
  EXPECT_EQ(print_size(std::uint64_t{5} << 40), "5TiB");
}

TEST(SizeText, ReadsBackWhatItPrints) {
  for (std::uint64_t bytes : {0ULL, 1ULL, 1023ULL, 1024ULL, 1536ULL, 1ULL << 63, ~0ULL}) {
    EXPECT_EQ(parse_size(print_size(bytes)), bytes);
  }
}

} // namespace
} // namespace heddle::base
