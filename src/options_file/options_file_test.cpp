#include "options_file/options_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace heddle::options_file {
namespace {

TEST(OptionsFile, ReadsStringsIntegersAndBooleansWithTheirLines) {
  const auto entries = parse("# mine\nring_bytes = \"64KiB\"\nspin_us = 5\n\nassist = false\n", "a.toml");
  ASSERT_TRUE(entries) << entries.error().message();
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].name, "ring_bytes");
  EXPECT_EQ((*entries)[0].value, "64KiB");
  EXPECT_EQ((*entries)[0].line, 2U);
  EXPECT_EQ((*entries)[1].value, "5");
  EXPECT_EQ((*entries)[2].value, "false");
  EXPECT_EQ((*entries)[2].line, 5U);
}

TEST(OptionsFile, SaysWhereTheTextIsNotToml) {
  const auto entries = parse("spin_us = 5\nspin us = \n", "a.toml");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, ErrorCode::bad_option);
  EXPECT_TRUE(entries.error().fact.starts_with("a.toml:2: ")) << entries.error().fact;
}

TEST(OptionsFile, RefusesTablesAndLists) {
  EXPECT_FALSE(parse("[ring]\nbytes = 5\n", "a.toml"));
  const auto list = parse("\ntranslators = [\"shm\"]\n", "a.toml");
  ASSERT_FALSE(list);
  EXPECT_TRUE(list.error().fact.starts_with("a.toml:2: option 'translators' cannot be a list")) << list.error().fact;
}

TEST(OptionsFile, AllowsLettersBeyondAsciiInCommentsOnly) {
  const auto entries = parse("store = \"unix:/tmp/\\u01a3 \\\"\" # \xc6\xa3\n", "a.toml");
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->front().value, "unix:/tmp/\xc6\xa3 \"");
  for (const char* text : {"\n\xc6\xa3 = 1\n", "\nfile = \"#\xc6\xa3\"\n", "\na=-['\xc6\xa3"}) {
    const auto refused = parse(text, "a.toml");
    ASSERT_FALSE(refused) << text;
    EXPECT_TRUE(refused.error().fact.starts_with("a.toml:2: a letter beyond ASCII")) << refused.error().fact;
  }
}

TEST(OptionsFile, SaysWhyAFileCannotBeRead) {
  const auto entries = read("/nonexistent/heddle.toml");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().system_code, ENOENT);
  EXPECT_FALSE(read("/"));
}

TEST(OptionsFile, ResolvesThroughAFileNamedInTheEnvironment) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("heddle_options_" + std::to_string(::getpid()) + ".toml");
  std::ofstream(path) << "eager_limit = \"8KiB\"\n";
  const auto resolved = resolve_with_file({}, base::Environment::of({{"HEDDLE_FILE", path.string()}}));
  std::filesystem::remove(path);
  ASSERT_TRUE(resolved) << resolved.error().message();
  EXPECT_EQ(resolved->settings.eager_limit, 8192U);
}

} // namespace
} // namespace heddle::options_file
