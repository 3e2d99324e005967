#include "tools/heddle/progress.hpp"

#include <gtest/gtest.h>

namespace heddle::tool {
namespace {

constexpr std::uint64_t kSecond = Progress::kSecond;

TEST(Progress, SaysNothingOfWhatIsSoonOver) {
  std::string screen;
  {
    Progress progress("heddle perf", true, 100, [&](std::string_view text) { screen += text; });
    progress.at("first", 100);
    progress.at("second", 100 + 2 * kSecond - 1);
  }
  EXPECT_EQ(screen, "");
}

TEST(Progress, WritesOverOneLineOfATerminalAndTakesItAway) {
  std::string screen;
  Progress progress("heddle perf", true, 0, [&](std::string_view text) { screen += text; });
  progress.at("8 bytes", 2 * kSecond);
  progress.at("too soon", 2 * kSecond + 1);
  progress.at("1KiB", 3 * kSecond);
  EXPECT_EQ(screen, "\r\x1b[Kheddle perf: 8 bytes\r\x1b[Kheddle perf: 1KiB");
  screen.clear();
  progress.wipe();
  progress.wipe();
  EXPECT_EQ(screen, "\r\x1b[K");
}

TEST(Progress, WritesALineEveryTenSecondsElsewhere) {
  std::string screen;
  {
    Progress progress("heddle perf", false, 0, [&](std::string_view text) { screen += text; });
    for (std::uint64_t tenths = 0; tenths < 250; ++tenths)
      progress.at(std::to_string(tenths / 10), tenths * kSecond / 10);
  }
  EXPECT_EQ(screen, "heddle perf: 2\nheddle perf: 12\nheddle perf: 22\n");
}

} // namespace
} // namespace heddle::tool
