// `heddle info` as users meet it.
#include "base/options.hpp"
#include "tests/tools/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace heddle::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// As `why` writes the limit where nothing sets it.
const std::string kEagerLimit = "eager_limit " + std::to_string(base::Settings{}.eager_limit);

// The one object on stdout, or an empty one with a failure noted.
json object_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(is_one_line(outcome.out));
  json object = json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << outcome.out;
  return object;
}

json option(const json& info, const std::string& name) {
  for (const json& one : info.at("options"))
    if (one.at("name") == name) return one;
  ADD_FAILURE() << "no option " << name;
  return {};
}

json way_over(const json& info, const std::string& translator) {
  for (const json& way : info.at("why").at("protocols"))
    if (way.at("translator") == translator) return way;
  ADD_FAILURE() << "no way over " << translator;
  return {};
}

TEST(Info, ShowsTranslatorsAndEveryOptionToPeople) {
  const Outcome outcome = heddle({"info"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("shm: used: reaches processes of the same machine"));
  EXPECT_THAT(outcome.out, HasSubstr("cross-memory read"));
  EXPECT_THAT(outcome.out, HasSubstr("job: none: not started by a launcher"));
  for (const std::string_view name : base::option_names())
    EXPECT_THAT(outcome.out, HasSubstr("  " + std::string(name) + " "));
  EXPECT_THAT(outcome.out, HasSubstr("  shm.cross_memory "));
}

TEST(Info, GivesMachinesEveryOptionWithItsOrigin) {
  const json info = object_of(heddle({"info", "--json"}, {{"HEDDLE_EAGER_LIMIT", "8KiB"}}));
  EXPECT_GT(info.at("options").size(), base::option_names().size()); // those of translators are there, too
  EXPECT_EQ(option(info, "eager_limit").at("value"), "8KiB");
  EXPECT_EQ(option(info, "eager_limit").at("origin"), "HEDDLE_EAGER_LIMIT");
  EXPECT_EQ(option(info, "eager_limit").at("unit"), "bytes");
  EXPECT_EQ(option(info, "single").at("value"), "false"); // it joins alone without claiming that the user said so
  EXPECT_EQ(option(info, "single").at("origin"), "default");
  EXPECT_NE(option(info, "waiting").at("meaning"), "");
  EXPECT_TRUE(info.at("job").is_null());
  EXPECT_FALSE(info.contains("why"));
}

TEST(Info, SaysWhatATranslatorCanDo) {
  const json shm = object_of(heddle({"info", "--json"})).at("translators").at(0);
  EXPECT_EQ(shm.at("name"), "shm");
  EXPECT_EQ(shm.at("standing"), "used");
  EXPECT_EQ(shm.at("capabilities").at("atomics"), true);
  EXPECT_EQ(shm.at("capabilities").at("announces_writes"), false);
}

TEST(Info, SaysOfTcpThatItConnectsAndWhereItListens) {
  const std::vector<std::pair<std::string, std::string>> only_tcp{{"HEDDLE_TRANSLATORS", "tcp"},
                                                                  {"HEDDLE_TCP_NETWORK", "lo"}};
  const json info = object_of(heddle({"info", "--json"}, only_tcp));
  for (const json& each : info.at("translators")) {
    if (!each.at("capabilities").is_object()) continue;
    EXPECT_EQ(each.at("capabilities").at("needs_connection"), each.at("name") == "tcp") << each.at("name");
    EXPECT_EQ(each.at("standing") == "used", each.at("name") == "tcp") << each.at("name");
    if (each.at("name") != "tcp") continue;
    EXPECT_THAT(each.at("remark").get<std::string>(), StartsWith("listens at 127.0.0.1:"));
  }
  const Outcome outcome = heddle({"info"}, only_tcp);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  tcp: used: reaches processes that are reached by IP\n"
                                     "    makes a connection with each peer that is talked to\n"));
}

TEST(Info, SaysWhyCrossMemoryReadIsNotUsed) {
  const json info = object_of(heddle({"info", "--json", "--why", "1MiB"}, {{"HEDDLE_SHM_CROSS_MEMORY", "off"}}));
  const json shm = info.at("translators").at(0);
  EXPECT_EQ(shm.at("capabilities").at("reads_any_memory"), false);
  EXPECT_THAT(std::string(shm.at("remark")), HasSubstr("option shm.cross_memory is off"));
  EXPECT_EQ(option(info, "shm.cross_memory").at("value"), "off");
  EXPECT_EQ(option(info, "shm.cross_memory").at("origin"), "HEDDLE_SHM_CROSS_MEMORY");
  EXPECT_EQ(way_over(info, "shm").at("protocol"), "rendezvous by fragments");
}

TEST(Info, ExplainsTheWayOfASmallMessage) {
  const json info = object_of(heddle({"info", "--json", "--why", "8"}));
  EXPECT_EQ(info.at("why").at("bytes"), 8);
  EXPECT_EQ(way_over(info, "shm").at("protocol"), "eager");
  EXPECT_EQ(way_over(info, "shm").at("reason"), "8 bytes <= " + kEagerLimit);
  EXPECT_EQ(way_over(info, "loopback").at("peers"), json::array({0}));
}

TEST(Info, ExplainsAnAllToAllOfTheJob) {
  const auto way_of = [](const char* bytes) {
    return object_of(heddle({"run", "-n", "4", HEDDLE_PROGRAM, "info", "--json", "--why", bytes}))
        .at("why")
        .at("alltoall");
  };
  EXPECT_EQ(way_of("8").at("name"), "boards");
  EXPECT_EQ(way_of("8").at("translator"), "shm");
  EXPECT_EQ(way_of("64KiB").at("name"), "2-level ring");
  EXPECT_THAT(std::string(way_of("64KiB").at("reason")), HasSubstr("> 4144, the largest block of a board"));
  EXPECT_EQ(way_of("1MiB").at("name"), "reads");
  EXPECT_THAT(std::string(way_of("1MiB").at("reason")), HasSubstr("1048576 bytes are read from where they lie"));
  EXPECT_FALSE(object_of(heddle({"info", "--json", "--why", "8"})).at("why").contains("alltoall")) << "nobody else";
}

TEST(Info, ExplainsTheWayOfALargeMessage) {
  const json info = object_of(heddle({"info", "--json", "--why", "1MiB"}));
  EXPECT_EQ(info.at("why").at("bytes"), 1 << 20);
  EXPECT_THAT(std::string(way_over(info, "shm").at("protocol")), StartsWith("rendezvous by "));
  EXPECT_THAT(std::string(way_over(info, "shm").at("reason")), StartsWith("1048576 bytes > " + kEagerLimit));
}

TEST(Info, CountsWhatOneRecordHoldsWhereThatIsLess) {
  const json info = object_of(
      heddle({"info", "--json", "--why", "1020"}, {{"HEDDLE_RING_BYTES", "4KiB"}, {"HEDDLE_EAGER_LIMIT", "1KiB"}}));
  EXPECT_THAT(std::string(way_over(info, "shm").at("reason")), StartsWith("1020 bytes > 1000, the most that"));
}

TEST(Info, ShowsTheWayToEachPeerOfAJob) {
  const json info = object_of(heddle({"run", "-n", "3", HEDDLE_PROGRAM, "info", "--json", "--why", "64KiB"}));
  EXPECT_EQ(info.at("job").at("rank"), 0);
  EXPECT_EQ(info.at("job").at("size"), 3);
  EXPECT_TRUE(info.at("job").at("launcher").get<std::string>().starts_with("heddle run (HEDDLE_RANK=0)"));
  EXPECT_EQ(way_over(info, "shm").at("peers"), json({1, 2}));
  EXPECT_EQ(option(info, "store").at("origin"), "HEDDLE_STORE");
}

TEST(Info, RefusesASizeThatIsNone) {
  expect_refused("info", heddle({"info", "--why", "x"}), "--why: ");
  expect_refused("info", heddle({"info", "--why", "-1"}), "--why");
  expect_refused("info", heddle({"info", "--why", ""}), "--why");
}

TEST(Info, RefusesAnUnknownArgument) {
  expect_refused("info", heddle({"info", "--wyh", "8"}), "--wyh");
}

TEST(Info, NamesWhatAnOptionOfATranslatorIsCalledNow) {
  expect_refused("info", heddle({"info"}, {{"HEDDLE_CROSS_MEMORY", "off"}}), "it is HEDDLE_SHM_CROSS_MEMORY");
}

TEST(Info, ReadsSectionsOfAFile) {
  const std::string path = testing::TempDir() + "heddle_info_" + std::to_string(::getpid()) + ".toml";
  const auto with_file = [&path](const char* text) {
    std::ofstream(path) << text;
    Outcome outcome = heddle({"info", "--json"}, {{"HEDDLE_FILE", path}});
    std::filesystem::remove(path);
    return outcome;
  };
  const json info = object_of(with_file("eager_limit = 4096\n[shm]\ncross_memory = \"off\"\n"));
  EXPECT_EQ(option(info, "eager_limit").at("value"), "4KiB");
  EXPECT_EQ(option(info, "shm.cross_memory").at("origin"), path + ":3");
  expect_refused("info", with_file("[pigeon]\n"),
                 ":1: this build has no translator called 'pigeon' (remedy: it has: shm, ");
  expect_refused("info", with_file("cross_memory = \"off\"\n"), "it is cross_memory in section [shm]");
}

TEST(Info, NamesTheNearestOption) {
  expect_refused("info", heddle({"info"}, {{"HEDDLE_EAGER_LIMT", "8"}}), "did you mean HEDDLE_EAGER_LIMIT?");
}

TEST(Info, RefusesABadValueWithWhatWasExpected) {
  expect_refused("info", heddle({"info"}, {{"HEDDLE_RING_BYTES", "5000"}}),
                 "expected a power of two from 1KiB to 1GiB");
  expect_refused("info", heddle({"info"}, {{"HEDDLE_TRANSLATORS", "carrier-pigeon"}}), "use some of: shm");
  expect_refused("info", heddle({"info"}, {{"HEDDLE_TRANSLATORS", ","}}),
                 "option translators is ',', which names none");
  for (const char* repeated : {"shm,shm", "shm,shm,shm,shm,shm,shm,shm,shm,shm", "shm,,shm"})
    expect_refused("info", heddle({"info"}, {{"HEDDLE_TRANSLATORS", repeated}}),
                   "option translators names 'shm' twice");
  expect_refused("info", heddle({"info"}, {{"HEDDLE_FILE", "/does/not/exist.toml"}}), "/does/not/exist.toml");
}

TEST(Info, SaysWhatIsMissingInAHalfSetUpJob) {
  const Outcome outcome = heddle({"info", "--json"}, {{"HEDDLE_RANK", "0"}});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("HEDDLE_SIZE is not set"));
}

} // namespace
} // namespace heddle::tests
