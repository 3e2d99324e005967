#include "job/join_log.hpp"

#include "job/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::job {
namespace {

std::string lines_at(LogLevel level, const Joined& joined) {
  std::string lines;
  const base::Log log(level, 2, [&lines](std::string_view line) { lines += line; });
  const auto options = base::resolve({}, base::Environment::of({{"HEDDLE_SPIN_US", "7"}}), {}, sections());
  log_join(log, joined, *options);
  return lines;
}

const Joined kJoined{.rank = 2,
                     .size = 5,
                     .host = "node7",
                     .services = {{.translator = "shm", .peers = {0, 1, 4}, .remark = "it works"}, {"tcp", {}, ""}}};

TEST(JoinLog, SaysWhoServesWhomAndWhatIsSet) {
  const std::string lines = lines_at(LogLevel::info, kJoined);
  EXPECT_TRUE(lines.starts_with("heddle[2]: info: joined as rank 2 of 5, process ")) << lines;
  EXPECT_NE(lines.find(" on node7\n"), std::string::npos) << lines;
  for (const char* line : {"info: shm serves ranks 0-1,4 (it works)\n", "info: tcp serves no peer\n",
                           "info: option spin_us is 7, by HEDDLE_SPIN_US\n"})
    EXPECT_NE(lines.find(line), std::string::npos) << line << lines;
  EXPECT_EQ(lines.find("ring_bytes"), std::string::npos) << lines;
}

TEST(JoinLog, AnnouncesWhoServesWhomInOneLine) {
  Joined joined = kJoined;
  EXPECT_EQ(announcement(joined), "5 processes; shm serves ranks 0-1,4 (it works)");
  joined.services[1].peers = {3};
  EXPECT_EQ(announcement(joined), "5 processes; shm serves ranks 0-1,4 (it works); tcp serves rank 3");
}

TEST(JoinLog, SaysWhyATranslatorIsNotUsed) {
  EXPECT_NE(lines_at(LogLevel::info, {}).find("info: shm is not used: option translators does not name it\n"),
            std::string::npos);
}

TEST(JoinLog, ShowsEveryOptionAtDebug) {
  const std::string lines = lines_at(LogLevel::debug, kJoined);
  EXPECT_NE(lines.find("debug: option ring_bytes is 512KiB, by default\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("debug: option topology is empty, by default\n"), std::string::npos) << lines;
}

TEST(JoinLog, IsSilentAtWarning) {
  EXPECT_EQ(lines_at(LogLevel::warning, kJoined), "");
}

} // namespace
} // namespace heddle::job
