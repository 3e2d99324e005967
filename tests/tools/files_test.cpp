// What the program leaves in files: all of it or nothing, and traces that can be read.
#include "tests/tools/program.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace heddle::tests {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 public:
  Files() { fs::create_directories(folder); }
  ~Files() override { fs::remove_all(folder); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // Parts that nobody needs any more count, too.
  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  const fs::path folder = fs::path(testing::TempDir()) / ("heddle_files_" + std::to_string(::getpid()));
};

TEST_F(Files, OfTablesAreAllWrittenOrNone) {
  fs::create_directories(folder / "lfts"); // in the way of the second
  expect_refused("route tables", heddle({"route", "tables", "--tree", "6-ary-2-tree:30", "--out", folder.string()}),
                 "lfts");
  EXPECT_EQ(count(), 1);
}

TEST_F(Files, StayAsTheyAreWhenARunIsRefused) {
  const fs::path trace = folder / "trace.json";
  std::ofstream(trace) << "precious";
  expect_refused("sim",
                 heddle({"sim", "ping-pong", "-n", "1", "--bytes", "8", "--fabric", "tofu:1x1x1", "--trace", trace}),
                 "at least 2 processes");
  EXPECT_EQ(text_of(trace), "precious");
  EXPECT_EQ(count(), 1);
}

TEST_F(Files, OfTracesThatCannotBeAreRefused) {
  const std::vector<std::string> sim{"sim", "ping-pong", "--bytes", "8", "--fabric", "tofu:1x1x1", "--trace"};
  for (const std::string& path : {(folder / "nowhere" / "trace").string(), folder.string()}) {
    std::vector<std::string> arguments = sim;
    arguments.push_back(path);
    expect_refused("sim", heddle(arguments), path);
  }
}

TEST_F(Files, OfTracesTellOfADeadlock) {
  const fs::path trace = folder / "trace.json";
  expect_refused("sim",
                 heddle({"sim", "all-to-all", "--rounds", "3", "--bytes", "64KiB", "--fabric",
                         "rhinet:ring:8,routing=shortest", "--trace", trace}),
                 "deadlock");
  EXPECT_GT(nlohmann::json::parse(text_of(trace)).at("traceEvents").size(), 100U);
}

TEST_F(Files, OfTracesTakeNamesAsTheyAre) {
  const fs::path topology = folder / "names.topology";
  const fs::path trace = folder / "trace.json";
  std::ofstream(topology) << "switch a\"b\nnode x a\"b:2\nnode y a\"b:3\n";
  const Outcome outcome = heddle({"sim", "ping-pong", "--rounds", "1", "--bytes", "8", "--fabric",
                                  "rhinet:" + topology.string(), "--trace", trace});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(nlohmann::json::parse(text_of(trace)).at("traceEvents").size(), 10U);
}

// A name is whatever bytes the system takes. What is written for machines is text all the same, and nothing ends without a word.
TEST_F(Files, MayHaveNamesThatAreNoText) {
  const std::string odd = "odd\xff\xfe\xc3(";
  const fs::path there = folder / odd;
  const fs::path missing = folder / "nowhere" / odd;
  const std::vector<std::vector<std::string>> refused{
      {"route", "tables", "--tree", "6-ary-2-tree:30", "--json", "--out", "/dev/null/" + odd},
      {"route", "load", "--tree", "6-ary-2-tree:30", "--nodes", "0-5", "--method", "pair", "--json", "--pattern",
       missing},
      {"route", "select", "--tree", odd, "--nodes", "0-5", "--method", "pair", "--json"},
      {"sim", "ping-pong", "--bytes", "8", "--json", "--fabric", "rhinet:" + missing.string()},
      {"sim", "ping-pong", "--bytes", "8", "--json", "--fabric", "tofu:1x1x1", "--trace", missing},
      {"schedule", "--pattern", "scale-les3:60", "--directions", "ew", "--json", "--svg", missing},
      {"schedule", "--pattern", odd, "--directions", "ew", "--json"},
  };
  for (const auto& arguments : refused) {
    const std::string command = arguments[0] == "route" ? "route " + arguments[1] : arguments[0];
    SCOPED_TRACE(command);
    expect_refused(command, heddle(arguments), odd);
  }
  const std::vector<std::vector<std::string>> done{
      {"route", "tables", "--tree", "6-ary-2-tree:30", "--json", "--out", there},
      {"sim", "ping-pong", "--rounds", "1", "--bytes", "8", "--json", "--fabric", "tofu:1x1x1", "--trace", there / "t"},
      {"schedule", "--pattern", "scale-les3:60", "--directions", "ew", "--json", "--svg", there / odd},
  };
  for (const auto& arguments : done) {
    const Outcome outcome = heddle(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(is_one_line(outcome.out)) << outcome.out;
    EXPECT_TRUE(nlohmann::json::accept(outcome.out)) << outcome.out;
  }
  EXPECT_TRUE(fs::exists(there / "lfts") && fs::exists(there / "t") && fs::exists(there / odd));
}

TEST(Sim, RefusesWhatItsClockOrTheMemoryCannotFollow) {
  expect_refused("sim",
                 heddle({"sim", "ping-pong", "--bytes", "10MiB", "--fabric", "infiniband:2-ary-2-tree,rate=1B/s"}),
                 "out of range");
  expect_refused("sim", heddle({"sim", "ping-pong", "--bytes", "8", "--fabric", "rhinet:/"}), "is a folder");
}

} // namespace
} // namespace heddle::tests
