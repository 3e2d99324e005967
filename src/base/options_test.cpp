#include "base/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/option_table.hpp"

namespace heddle::base {
namespace {

FileReader file_of(std::vector<FileEntry> entries) {
  return [entries](const std::string&) -> Result<std::vector<FileEntry>> { return entries; };
}

const ResolvedOption& find(const ResolvedOptions& resolved, std::string_view name) {
  return *std::ranges::find(resolved.list, name, &ResolvedOption::name);
}

TEST(Options, TakesDefaultsWhenNothingIsSet) {
  const auto resolved = resolve({}, Environment{});
  ASSERT_TRUE(resolved) << resolved.error().message();
  EXPECT_EQ(resolved->settings, Settings{});
  EXPECT_EQ(resolved->list.size(), option_names().size());
  EXPECT_EQ(find(*resolved, "eager_limit").value, "64KiB");
  EXPECT_EQ(find(*resolved, "eager_limit").origin, "default");
  EXPECT_EQ(find(*resolved, "eager_limit").unit, "bytes");
  EXPECT_EQ(find(*resolved, "waiting").value, "automatic");
}

TEST(Options, PrefersCodeThenEnvironmentThenFile) {
  const Environment environment =
      Environment::of({{"HEDDLE_FILE", "my.toml"}, {"HEDDLE_SPIN_US", "2"}, {"HEDDLE_WATCHDOG_S", "2"}});
  const auto reader = file_of({{"spin_us", "1", 4}, {"watchdog_s", "1", 5}, {"log_level", "debug", 6}});
  const auto resolved = resolve(Options{.spin_us = 3}, environment, reader);
  ASSERT_TRUE(resolved) << resolved.error().message();
  EXPECT_EQ(resolved->settings.spin_us, 3U);
  EXPECT_EQ(resolved->settings.watchdog_s, 2U);
  EXPECT_EQ(resolved->settings.log_level, LogLevel::debug);
  EXPECT_EQ(find(*resolved, "spin_us").origin, "code");
  EXPECT_EQ(find(*resolved, "watchdog_s").origin, "HEDDLE_WATCHDOG_S");
  EXPECT_EQ(find(*resolved, "log_level").origin, "my.toml:6");
  EXPECT_EQ(find(*resolved, "file").origin, "HEDDLE_FILE");
}

TEST(Options, ReadsTheFileThatCodeNamesRatherThanTheEnvironment) {
  std::string path;
  const FileReader reader = [&path](const std::string& named) -> Result<std::vector<FileEntry>> {
    path = named;
    return std::vector<FileEntry>{};
  };
  ASSERT_TRUE(resolve(Options{.file = "mine.toml"}, Environment::of({{"HEDDLE_FILE", "theirs.toml"}}), reader));
  EXPECT_EQ(path, "mine.toml");
}

TEST(Options, SuggestsTheNearestVariable) {
  const auto resolved = resolve({}, Environment::of({{"HEDDLE_EAGERLIMIT", "8"}}));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().message(),
            "bad_option: environment: no option is called 'HEDDLE_EAGERLIMIT' (remedy: did you mean "
            "HEDDLE_EAGER_LIMIT?)");
}

TEST(Options, SuggestsTheNearestNameInAFile) {
  const auto resolved = resolve(Options{.file = "a.toml"}, Environment{}, file_of({{"ring_byte", "8", 7}}));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().message(),
            "bad_option: a.toml:7: no option is called 'ring_byte' (remedy: did you mean ring_bytes?)");
}

TEST(Options, LeavesTheLaunchersVariablesAlone) {
  EXPECT_TRUE(resolve({}, Environment::of({{"HEDDLE_RANK", "0"}, {"HEDDLE_SIZE", "2"}, {"HEDDLE_JOB", "x"}})));
}

TEST(Options, SaysWhatWasExpectedOfABadValue) {
  const auto resolved = resolve({}, Environment::of({{"HEDDLE_RING_BYTES", "100KB"}}));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().message(),
            "bad_option: HEDDLE_RING_BYTES: option ring_bytes cannot be '100KB': expected a power of two from 1KiB to "
            "1GiB");
}

TEST(Options, RefusesAMethodOfPathsThatIsNotThere) {
  const auto resolved = resolve({}, Environment::of({{"HEDDLE_PATHS", "zz"}}));
  ASSERT_FALSE(resolved) << "also where no topology is given and nothing uses it";
  EXPECT_EQ(resolved.error().message(),
            "bad_option: HEDDLE_PATHS: option paths cannot be 'zz': expected conventional, node, pair or colouring");
  EXPECT_FALSE(resolve(Options{.paths = "zz"}, Environment{}));
  EXPECT_FALSE(resolve(Options{.paths = ""}, Environment{}));
  for (const std::string_view method : kPathMethods) {
    EXPECT_TRUE(resolve(Options{.paths = std::string(method)}, Environment{})) << method;
    EXPECT_TRUE(resolve({}, Environment::of({{"HEDDLE_PATHS", std::string(method)}}))) << method;
  }
}

TEST(Options, RefusesABadValueEvenWhereItIsOverridden) {
  EXPECT_FALSE(resolve(Options{.spin_us = 1}, Environment::of({{"HEDDLE_SPIN_US", "soon"}})));
}

TEST(Options, ChecksRangesOfEveryOrigin) {
  EXPECT_FALSE(resolve(Options{.ring_bytes = 512}, Environment{}));
  EXPECT_FALSE(resolve(Options{.ring_bytes = 300 << 10}, Environment{}));
  EXPECT_FALSE(resolve(Options{.join_timeout_s = 0}, Environment{}));
  EXPECT_FALSE(resolve(Options{.waiting = static_cast<Waiting>(9)}, Environment{}));
  EXPECT_FALSE(resolve(Options{.translators = ""}, Environment{}));
  EXPECT_FALSE(resolve({}, Environment::of({{"HEDDLE_ASSIST", "maybe"}})));
  EXPECT_FALSE(resolve({}, Environment::of({{"HEDDLE_SPIN_US", "-1"}})));
  EXPECT_TRUE(resolve({}, Environment::of({{"HEDDLE_ASSIST", "0"}})));
}

TEST(Options, ChecksThatOptionsFitTogether) {
  const auto eager = resolve(Options{.eager_limit = 256 << 10}, Environment{});
  ASSERT_FALSE(eager);
  EXPECT_EQ(eager.error().message(),
            "bad_option: code: eager_limit 256KiB is more than a quarter of ring_bytes 512KiB (remedy: set eager_limit "
            "to at most 128KiB or raise ring_bytes)");
  const auto memory = resolve({}, Environment::of({{"HEDDLE_RING_MEMORY", "64KiB"}}));
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.error().fact.find("HEDDLE_RING_MEMORY: ring_memory 64KiB is less than one ring"), std::string::npos);
}

TEST(Options, SmallerRingsLowerTheDefaultEagerLimit) {
  const auto resolved = resolve(Options{.ring_bytes = 64 << 10}, Environment{});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->settings.eager_limit, 16U << 10U);
  EXPECT_EQ(find(*resolved, "eager_limit").origin, "default, a quarter of ring_bytes");
}

TEST(Options, RefusesAFileInsideAFile) {
  EXPECT_FALSE(resolve(Options{.file = "a"}, Environment{}, file_of({{"file", "b", 1}})));
}

TEST(Options, PassesOnWhyAFileCannotBeRead) {
  const FileReader refuse = [](const std::string& path) -> Result<std::vector<FileEntry>> {
    return std::unexpected(Error{.code = ErrorCode::bad_option, .fact = path + " is a folder"});
  };
  const auto resolved = resolve(Options{.file = "a"}, Environment{}, refuse);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().fact, "a is a folder");
}

TEST(Options, ReadsBackEveryDefaultItShows) {
  for (const OptionRow& row : option_table()) {
    Settings settings;
    EXPECT_TRUE(row.assign(settings, row.show(Settings{}))) << row.name;
    EXPECT_EQ(settings, Settings{}) << row.name;
    EXPECT_FALSE(row.expected.empty()) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
  }
}

} // namespace
} // namespace heddle::base
