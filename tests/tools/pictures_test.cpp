// The pictures that the README shows are what its commands draw, byte for byte; and none lies about that no command draws.
#include "tests/tools/program.hpp"
#include "tools/heddle/svg_check_for_tests.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = fs::path(HEDDLE_TEST_SOURCES).parent_path().parent_path();
constexpr std::string_view kCommand = "build/bin/heddle ";
constexpr std::string_view kFolder = "docs/pictures/";

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The words of each line of the README that draws a picture.
std::vector<std::vector<std::string>> drawing_commands() {
  std::vector<std::vector<std::string>> commands;
  std::istringstream readme(text_of(kRoot / "README.md"));
  for (std::string line; std::getline(readme, line);) {
    if (!line.starts_with(kCommand) || line.find("--svg") == std::string::npos) continue;
    std::istringstream words(line.substr(kCommand.size(), line.find(" #") - kCommand.size()));
    commands.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return commands;
}

TEST(Pictures, OfTheReadmeAreWhatItsCommandsDraw) {
  const fs::path drawn = fs::path(testing::TempDir()) / ("heddle_picture_" + std::to_string(::getpid()) + ".svg");
  std::set<std::string> kept;
  for (const auto& file : fs::directory_iterator(kRoot / kFolder)) kept.insert(file.path().filename().string());
  const auto commands = drawing_commands();
  EXPECT_GE(commands.size(), 4U);
  for (std::vector<std::string> arguments : commands) {
    ASSERT_TRUE(arguments.back().starts_with(kFolder)) << arguments.back();
    const std::string name = arguments.back().substr(kFolder.size());
    SCOPED_TRACE(name);
    arguments.back() = drawn.string();
    const Outcome outcome = heddle(arguments);
    EXPECT_LE(outcome.status, 1) << outcome.err; // 1: hot spots were found
    EXPECT_TRUE(text_of(drawn) == text_of(kRoot / kFolder / name)) << "draw it anew with the command of README.md";
    EXPECT_EQ(faults_of(text_of(drawn)), "");
    fs::remove(drawn);
    kept.erase(name);
  }
  EXPECT_TRUE(kept.empty()) << *kept.begin() << " is drawn by no command of README.md";
}

// Files of puts: what one wants to plan, and what is wrong with one, by line and column.
TEST(Schedule, PlansTheUsersOwnPuts) {
  const fs::path folder = fs::path(testing::TempDir()) / ("heddle_puts_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string file = folder / "puts";
  const std::string picture = folder / "puts.svg";
  const auto plan = [&](const std::string& text, std::vector<std::string> more = {}) {
    std::ofstream(file) << text;
    more.insert(more.begin(), {"schedule", "--pattern", file, "--json", "--svg", picture});
    return heddle(more);
  };
  const Outcome by_node = plan("from,to,bytes\r\n0,5,64KiB\r\n0,17,1MiB\r\n3,4,8\r\n");
  EXPECT_EQ(by_node.status, 0) << by_node.err;
  EXPECT_NE(by_node.out.find("\"from\":3,\"to\":4,\"bytes\":8"), std::string::npos) << by_node.out;
  EXPECT_EQ(faults_of(text_of(picture)), "");
  const Outcome by_direction =
      plan("[{\"direction\": \"north-west\", \"bytes\": 8}, {\"direction\": \"up\", \"bytes\": \"1MiB\"}]");
  EXPECT_EQ(by_direction.status, 0) << by_direction.err;
  EXPECT_EQ(faults_of(text_of(picture)), "");
  expect_refused("schedule", plan("direction,bytes\neast,8\nleft,8\n"), "line 3, column 1: 'left' is no direction");
  expect_refused("schedule", plan("to,bytes\n0,8\n"), "line 2, column 1: node 0 puts to itself");
  expect_refused("schedule", plan("to,bytes\n1,8\n12,8\n", {"--fabric", "tofu:1x1x1"}),
                 "line 3, column 1: there is no node 12");
  expect_refused("schedule", plan("to,bytes\n1,8\n4294967294,8\n"),
                 "line 3, column 1: there is no node 4294967294: a row of groups has nodes 0 to 49151");
  expect_refused("schedule", plan("[{\"to\": 1}]"), "line 1, column 2: a put to plan needs bytes");
  expect_refused("schedule", plan("to,bytes\n1,8\n", {"--fabric", "rhinet:star:4"}), "tofu");
  for (const char* halo : {"halo:8x8x8:64KiB", "halo:4x1:8", "halo:2x2x2:1MiB"})
    EXPECT_EQ(heddle({"schedule", "--pattern", halo}).status, 0) << halo;
  for (const char* halo : {"halo:", "halo:4x4", "halo:0x4:8", "halo:4x4x4x4:8", "halo:4x4:-8", "halo:1x1:8"})
    expect_refused("schedule", heddle({"schedule", "--pattern", halo}), "halo:");
  fs::remove_all(folder);
}

TEST(Pictures, AreRefusedWhereNobodyCouldLookAtThem) {
  const std::string nowhere = testing::TempDir() + "heddle_no_picture.svg";
  expect_refused("sim",
                 heddle({"sim", "all-to-all", "--fabric", "infiniband:6-ary-2-tree:30", "--bytes", "8", "--rounds", "1",
                         "--svg", nowhere}),
                 "too many to draw");
  expect_refused("sim", heddle({"sim", "ping-pong", "--fabric", "tofu:1x1x1", "--svg", nowhere}), "give one size");
  expect_refused(
      "route load",
      heddle({"route", "load", "--tree", "12-ary-2-tree", "--nodes", "0-9", "--method", "pair", "--svg", nowhere}),
      "too large to draw");
  EXPECT_FALSE(fs::exists(nowhere));
  EXPECT_FALSE(fs::exists(nowhere + ".trace"));
}

} // namespace
} // namespace heddle::tests
