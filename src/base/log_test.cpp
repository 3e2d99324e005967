#include "base/log.hpp"

#include <gtest/gtest.h>

namespace heddle::base {
namespace {

struct Lines {
  std::string text;
  Log::Sink sink() {
    return [this](std::string_view line) { text.append(line); };
  }
};

TEST(Log, PrefixesEachLineWithTheRank) {
  Lines lines;
  Log(LogLevel::warning, 3, lines.sink()).warning("ring memory is short");
  EXPECT_EQ(lines.text, "heddle[3]: warning: ring memory is short\n");
}

TEST(Log, LeavesTheRankOutWhereThereIsNone) {
  Lines lines;
  Log(LogLevel::error, kNoPeer, lines.sink()).error("no");
  EXPECT_EQ(lines.text, "heddle: error: no\n");
}

TEST(Log, DropsWhatIsBelowItsLevel) {
  Lines lines;
  const Log log(LogLevel::warning, 0, lines.sink());
  log.info("no");
  log.debug("no");
  EXPECT_EQ(lines.text, "");
  EXPECT_TRUE(log.enabled(LogLevel::error));
  EXPECT_FALSE(log.enabled(LogLevel::info));
}

TEST(Log, WritesNothingWhenSilent) {
  Lines lines;
  const Log log(LogLevel::silent, 0, lines.sink());
  log.error("no");
  log.announce("no");
  log.write(LogLevel::silent, "no");
  EXPECT_EQ(lines.text, "");
}

TEST(Log, KeepsAMessageOnOneLine) {
  Lines lines;
  Log(LogLevel::error, 0, lines.sink()).error("a\nb");
  EXPECT_EQ(lines.text, "heddle[0]: error: a b\n");
}

TEST(Log, AnnouncesWithoutALevel) {
  Lines lines;
  Log(LogLevel::error, 0, lines.sink()).announce("shm serves ranks 1-3");
  EXPECT_EQ(lines.text, "heddle[0]: shm serves ranks 1-3\n");
}

} // namespace
} // namespace heddle::base
