#include "base/lines.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

TEST(Lines, ThatFitStayAsTheyAre) {
  EXPECT_EQ(fitting_lines("", 0), "");
  EXPECT_EQ(fitting_lines("a\nb\n", 4), "a\nb\n");
}

TEST(Lines, AreNeverCutInTheMiddle) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + "\n";
  for (std::size_t most = 0; most < text.size(); ++most) {
    const std::string fitting = fitting_lines(text, most);
    ASSERT_LE(fitting.size(), most);
    if (fitting.empty()) {
      EXPECT_LT(most, std::string("and 100 lines more\n").size());
      continue;
    }
    const std::size_t last = fitting.rfind('\n', fitting.size() - 2);
    const std::size_t kept = last == std::string::npos ? 0 : last + 1;
    EXPECT_TRUE(text.starts_with(fitting.substr(0, kept)));
    const auto whole = static_cast<std::size_t>(std::ranges::count(fitting.substr(0, kept), '\n'));
    EXPECT_EQ(fitting.substr(kept), "and " + std::to_string(100 - whole) + " lines more\n");
  }
}

} // namespace
} // namespace heddle::base
