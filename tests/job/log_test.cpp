// What a job tells at each log level.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

std::string output_at(const char* level) {
  return run_workload(
      {.processes = 3, .program = "departure_program", .arguments = {}, .options = {{"HEDDLE_LOG_LEVEL", level}}});
}

void expect_line(const std::string& output, const std::string& line) {
  EXPECT_NE(output.find(line), std::string::npos) << line << '\n' << output;
}

TEST(Log, OfAJobThatGoesWellIsEmptyAtWarning) {
  EXPECT_EQ(output_at("warning"), "");
}

TEST(Log, TellsOfJoiningAndOfPeersThatGoAtInfo) {
  const std::string output = output_at("info");
  expect_line(output, "heddle[0]: info: joined as rank 0 of 3");
  expect_line(output, "heddle[2]: info: joined as rank 2 of 3");
  expect_line(output, "heddle[0]: info: shm serves ranks 1-2 (");
  expect_line(output, "heddle[0]: info: option log_level is info, by HEDDLE_LOG_LEVEL");
  expect_line(output, "heddle[0]: info: rank 1 has left the job");
  EXPECT_EQ(output.find("debug"), std::string::npos) << output;
}

TEST(Log, TellsOfConnectionsAndRingsAtDebug) {
  const std::string output = output_at("debug");
  expect_line(output, "heddle[0]: debug: option ring_bytes is 512KiB, by default");
  expect_line(output,
              "heddle[0]: debug: connected to rank 2 by shm: it gives a ring of 512KiB, and gets one of 512KiB");
  expect_line(output, "heddle[2]: debug: connected to rank 0 by shm: ");
}

} // namespace
} // namespace heddle::tests
