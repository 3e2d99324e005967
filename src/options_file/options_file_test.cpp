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

TEST(OptionsFile, ReadsSections) {
  const auto entries = parse("spin_us = 5\n [ shm ] # mine\nspin_us = 6\n[\"tcp\"]\n", "a.toml");
  ASSERT_TRUE(entries) << entries.error().message();
  std::vector<std::string> found;
  for (const auto& entry : *entries)
    found.push_back(std::to_string(entry.line) + ":" + entry.section + ":" + entry.name + ":" + entry.value);
  EXPECT_EQ(found, (std::vector<std::string>{"1::spin_us:5", "2:shm::", "3:shm:spin_us:6", "4:tcp::"}));
}

TEST(OptionsFile, RefusesListsAndNestedTables) {
  const auto list = parse("\ntranslators = [\"shm\"]\n", "a.toml");
  ASSERT_FALSE(list);
  EXPECT_TRUE(list.error().fact.starts_with("a.toml:2: option 'translators' cannot be a list")) << list.error().fact;
}

std::string value_of(std::string_view text) {
  const auto entries = parse(text, "a.toml");
  return entries ? entries->front().value : entries.error().fact;
}

TEST(OptionsFile, ReadsStringsInBothQuotesWithEscapesAndLettersBeyondAscii) {
  EXPECT_EQ(value_of("store = \"unix:/tmp/\\u01a3 \\\"\" # \xc6\xa3\n"), "unix:/tmp/\xc6\xa3 \"");
  EXPECT_EQ(value_of("a='C:\\x # \"'\r\n"), "C:\\x # \"");
  EXPECT_EQ(value_of("\xef\xbb\xbf\"a\" = \"\xc6\xa3\\t\\U0001F9F5\""), "\xc6\xa3\t\xf0\x9f\xa7\xb5");
}

TEST(OptionsFile, ReadsIntegersInAnyBaseAsDecimalOnes) {
  EXPECT_EQ(value_of("a = 0x1F"), "31");
  EXPECT_EQ(value_of("a = +1_000"), "1000");
  EXPECT_EQ(value_of("a=-0b101#"), "-5");
  for (const char* wrong : {"a = 1__0", "a = 007", "a = 0x", "a = 99999999999999999999", "a = 1.5", "a = 1979-05-27"})
    EXPECT_EQ(value_of(wrong),
              "a.toml:1: option 'a' cannot be a list, date or fraction: expected a string, an integer or a boolean")
        << wrong;
}

TEST(OptionsFile, NamesTheLineOfWhateverIsNoOption) {
  EXPECT_EQ(value_of("\n\n[/"), "a.toml:3: not a section: expected [name], such as [shm]"); // toml++ aborted here
  for (const char* wrong : {"[]", "[\"\"]", "[shm", "[[shm]]", "[shm.more]", "[shm more]"})
    EXPECT_EQ(value_of(wrong), "a.toml:1: not a section: expected [name], such as [shm]") << wrong;
  EXPECT_EQ(value_of("[shm] a = 1"), "a.toml:1: more than a name in brackets in the line of a section");
  EXPECT_EQ(value_of("[shm]\n[tcp]\n[shm]"), "a.toml:3: section [shm] appears twice, first on line 1");
  EXPECT_EQ(value_of("[shm]\na = 1\na = 2"), "a.toml:3: option 'a' appears twice, first on line 2");
  EXPECT_EQ(value_of("\"\" = 1"), "a.toml:1: expected name = value");
  EXPECT_EQ(value_of("a=-['\xc6\xa3"),
            "a.toml:1: option 'a' is not TOML: expected a string in quotes, an integer, true or false");
  EXPECT_EQ(value_of("\xc6\xa3 = 1"), "a.toml:1: expected name = value");
  EXPECT_EQ(value_of("a.b = 1"), "a.toml:1: 'a' has no parts here: write it as a section, [a]");
  EXPECT_EQ(value_of("a = 64KiB"), "a.toml:1: option 'a' has a size without quotes: expected \"64KiB\"");
  EXPECT_EQ(value_of("a = 1 2"), "a.toml:1: more than a value after 'a ='");
  EXPECT_EQ(value_of("a = \"x"), "a.toml:1: a string does not end on its line");
  EXPECT_EQ(value_of("a = \"\"\"x\"\"\""), "a.toml:1: option 'a' cannot be a string over several lines");
  EXPECT_EQ(value_of("a = yes"),
            "a.toml:1: option 'a' is not TOML: expected a string in quotes, an integer, true or false");
  EXPECT_EQ(value_of("a = 1\nb = 2\n a = 3"), "a.toml:3: option 'a' appears twice, first on line 1");
  for (const char* escape : {"\\x", "\\ud800", "\\u0000", "\\U00110000", "\\u12"})
    EXPECT_TRUE(value_of("a = \"" + std::string(escape) + "\"").starts_with("a.toml:1: no such escape")) << escape;
}

TEST(OptionsFile, TakesNestingOfAnyDepthForWhatItIs) {
  EXPECT_FALSE(parse("a = " + std::string(500'000, '['), "a.toml"));
  EXPECT_FALSE(parse(std::string(500'000, '['), "a.toml"));
}

TEST(OptionsFile, SaysWhyAFileCannotBeRead) {
  const auto entries = read("/nonexistent/heddle.toml");
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().system_code, ENOENT);
  for (const char* path : {"/", "/dev/zero", "/dev/tty"}) {
    const auto refused = read(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::bad_option);
    EXPECT_TRUE(refused.error().fact.starts_with(std::string("option file '") + path + "' ")) << refused.error().fact;
  }
}

TEST(OptionsFile, TakesSizesAsIntegersAndAsText) {
  const auto reader = [](const std::string& path) {
    return parse("eager_limit = 4096\nring_bytes = 0x10_0000\nchunk_bytes = \"8KiB\"\n", path);
  };
  const auto resolved = base::resolve({.file = "a.toml"}, base::Environment{}, reader);
  ASSERT_TRUE(resolved) << resolved.error().message();
  EXPECT_EQ(resolved->settings.eager_limit, 4096U);
  EXPECT_EQ(resolved->settings.ring_bytes, 1U << 20U);
  EXPECT_EQ(resolved->settings.chunk_bytes, 8192U);
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
