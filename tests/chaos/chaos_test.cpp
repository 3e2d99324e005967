// A short run of tests/chaos/run with fixed seeds; the long form is run by hand.
#include "tests/command/command.hpp"
#include "tests/traffic/slowdown.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace heddle::tests {
namespace {

TEST(Chaos, LeavesJobsWholeAndNothingBehind) {
  const std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();
  const std::filesystem::path build = std::filesystem::path(HEDDLE_TEST_PROGRAMS).parent_path();
  Command command({"/usr/bin/python3", here / "run", "--runs", std::to_string(200 / kSlowdown), "--seed", "1",
                   "--build", build, "--launcher", HEDDLE_PROGRAM, "--keep",
                   std::filesystem::path(testing::TempDir()) / "heddle-chaos-failures"});
  const std::string output = command.rest();
  EXPECT_EQ(command.status(), 0) << output;
}

} // namespace
} // namespace heddle::tests
