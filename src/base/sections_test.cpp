// Options of sections, resolved with the others: where they are set, how they are refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/options.hpp"

namespace heddle::base {
namespace {

enum class Way : std::uint8_t { slow, fast };
constexpr std::string_view kWays[] = {"slow", "fast"};
constexpr SectionOption kNetwork{
    .name = "network", .expected = "a network such as 10.0.0.0/8", .meaning = "where peers are"};
constexpr SectionOption kPorts{.name = "ports",
                               .kind = SectionOption::Kind::number,
                               .initial = "4",
                               .expected = "a number from 1 to 16",
                               .meaning = "connections to each peer",
                               .least = 1,
                               .most = 16};
constexpr SectionOption kBuffer{.name = "buffer",
                                .kind = SectionOption::Kind::size,
                                .initial = "64KiB",
                                .unit = "bytes",
                                .expected = "a size up to 1MiB",
                                .meaning = "kept by the kernel",
                                .most = 1 << 20};
constexpr SectionOption kWay{.name = "way",
                             .kind = SectionOption::Kind::choice,
                             .initial = "slow",
                             .expected = "slow or fast",
                             .meaning = "how",
                             .words = kWays};
constexpr SectionOption kTcp[] = {kNetwork, kPorts, kBuffer, kWay};
constexpr Section kSections[] = {{.name = "tcp", .options = kTcp}, {.name = "bare", .options = {}}};

FileReader entries_of(std::vector<FileEntry> entries) {
  return [entries](const std::string&) -> Result<std::vector<FileEntry>> { return entries; };
}

Result<ResolvedOptions> from_file(FileEntry entry) {
  return resolve(Options{.file = "a.toml"}, Environment{}, entries_of({std::move(entry)}), kSections);
}
Result<ResolvedOptions> from_environment(std::string name, std::string value) {
  return resolve({}, Environment::of({{std::move(name), std::move(value)}}), {}, kSections);
}
Result<ResolvedOptions> from_code(std::string name, std::string value) {
  return resolve(Options{.translator_options = {{std::move(name), std::move(value)}}}, Environment{}, {}, kSections);
}
std::string refusal(const Result<ResolvedOptions>& resolved) {
  return resolved ? "taken" : resolved.error().message();
}

const ResolvedOption& shown(const ResolvedOptions& resolved, std::string_view name) {
  return *std::ranges::find(resolved.list, name, &ResolvedOption::name);
}

TEST(Sections, HaveTheirDefaultsWhenNothingIsSet) {
  const auto resolved = resolve({}, Environment{}, {}, kSections);
  ASSERT_TRUE(resolved) << resolved.error().message();
  const Values& tcp = resolved->section("tcp");
  EXPECT_EQ(tcp.text(kNetwork), "");
  EXPECT_EQ(tcp.number(kPorts), 4U);
  EXPECT_EQ(tcp.number(kBuffer), 65536U);
  EXPECT_EQ(tcp.choice<Way>(kWay), Way::slow);
  EXPECT_EQ(resolved->list.size(), option_names().size() + std::size(kTcp));
  EXPECT_EQ(shown(*resolved, "tcp.buffer").value, "64KiB");
  EXPECT_EQ(shown(*resolved, "tcp.buffer").origin, "default");
  EXPECT_EQ(shown(*resolved, "tcp.buffer").unit, "bytes");
}

TEST(Sections, PreferCodeThenEnvironmentThenFile) {
  const Options code{.file = "a.toml", .translator_options = {{"tcp.ports", "3"}}};
  const Environment environment = Environment::of({{"HEDDLE_TCP_PORTS", "2"}, {"HEDDLE_TCP_BUFFER", "2048"}});
  const auto resolved = resolve(code, environment,
                                entries_of({{"", "", 1, "tcp"},
                                            {"ports", "1", 2, "tcp"},
                                            {"buffer", "1024", 3, "tcp"},
                                            {"way", "fast", 4, "tcp"},
                                            {"", "", 5, "bare"}}),
                                kSections);
  ASSERT_TRUE(resolved) << resolved.error().message();
  const Values& tcp = resolved->section("tcp");
  EXPECT_EQ(tcp.number(kPorts), 3U);
  EXPECT_EQ(tcp.number(kBuffer), 2048U);
  EXPECT_EQ(tcp.choice<Way>(kWay), Way::fast);
  EXPECT_EQ(shown(*resolved, "tcp.ports").origin, "code");
  EXPECT_EQ(shown(*resolved, "tcp.buffer").origin, "HEDDLE_TCP_BUFFER");
  EXPECT_EQ(shown(*resolved, "tcp.buffer").value, "2KiB");
  EXPECT_EQ(shown(*resolved, "tcp.way").origin, "a.toml:4");
  EXPECT_EQ(shown(*resolved, "tcp.network").origin, "default");
}

TEST(Sections, RefuseValuesOfEveryKindAndOrigin) {
  EXPECT_EQ(refusal(from_file({"ports", "17", 2, "tcp"})),
            "bad_option: a.toml:2: option tcp.ports cannot be '17': expected a number from 1 to 16");
  EXPECT_EQ(refusal(from_environment("HEDDLE_TCP_BUFFER", "2MiB")),
            "bad_option: HEDDLE_TCP_BUFFER: option tcp.buffer cannot be '2MiB': expected a size up to 1MiB");
  EXPECT_EQ(refusal(from_code("tcp.way", "sideways")),
            "bad_option: code: option tcp.way cannot be 'sideways': expected slow or fast");
  EXPECT_EQ(refusal(from_environment("HEDDLE_TCP_NETWORK", "")), "taken");
}

TEST(Sections, NameTheNearestOption) {
  EXPECT_EQ(refusal(from_file({"port", "1", 2, "tcp"})),
            "bad_option: a.toml:2: section [tcp] has no option called 'port' (remedy: did you mean ports?)");
  EXPECT_EQ(refusal(from_file({"port", "1", 2, "bare"})),
            "bad_option: a.toml:2: section [bare] has no option called 'port' (remedy: leave it out: the section has "
            "none at all)");
  EXPECT_EQ(refusal(from_environment("HEDDLE_TCP_PORT", "1")),
            "bad_option: environment: no option is called 'HEDDLE_TCP_PORT' (remedy: did you mean HEDDLE_TCP_PORTS?)");
  EXPECT_EQ(refusal(from_code("tcp.port", "1")),
            "bad_option: code: no translator has an option 'tcp.port' (remedy: did you mean tcp.ports?)");
}

TEST(Sections, SayWhereAnOptionWithoutItsSectionBelongs) {
  EXPECT_EQ(refusal(from_file({"ports", "1", 2})),
            "bad_option: a.toml:2: no option is called 'ports' (remedy: it is ports in section [tcp])");
  EXPECT_EQ(refusal(from_environment("HEDDLE_PORTS", "1")),
            "bad_option: environment: no option is called 'HEDDLE_PORTS' (remedy: it is HEDDLE_TCP_PORTS)");
  EXPECT_EQ(refusal(from_code("ports", "1")),
            "bad_option: code: no translator has an option 'ports' (remedy: it is tcp.ports)");
}

TEST(Sections, SayThatAnOptionBelongsToNone) {
  EXPECT_EQ(refusal(from_file({"spin_us", "1", 2, "tcp"})),
            "bad_option: a.toml:2: section [tcp] has no option called 'spin_us' (remedy: it belongs to no section: "
            "write it above the first)");
  EXPECT_EQ(refusal(from_code("spin_us", "1")),
            "bad_option: code: no translator has an option 'spin_us' (remedy: it is a member of Options)");
}

TEST(Sections, AreRefusedWhereThisBuildLacksTheirTranslator) {
  EXPECT_EQ(refusal(from_file({"", "", 3, "ucx"})),
            "bad_option: a.toml:3: this build has no translator called 'ucx' (remedy: it has: tcp, bare)");
  EXPECT_EQ(refusal(from_code("ucx.ports", "1")),
            "bad_option: code: this build has no translator called 'ucx' (remedy: it has: tcp, bare)");
  EXPECT_EQ(refusal(from_file({"ports", "1", 4, "tpc"})),
            "bad_option: a.toml:4: this build has no translator called 'tpc' (remedy: did you mean [tcp]?)");
}

} // namespace
} // namespace heddle::base
