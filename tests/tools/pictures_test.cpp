// The pictures that the README shows are what its commands draw, byte for byte; and none lies about that no command draws.
#include "tests/tools/program.hpp"

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
    fs::remove(drawn);
    kept.erase(name);
  }
  EXPECT_TRUE(kept.empty()) << *kept.begin() << " is drawn by no command of README.md";
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
