// Wrong calls, wrong options, missing launchers and small limits: clear errors, and nothing lost.
#include "tests/job/job.hpp"
#include "tests/traffic/slowdown.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace heddle::tests {
namespace {

const std::string kFault = std::string(HEDDLE_TEST_PROGRAMS) + "/fault_program";

struct Outcome {
  int status = 0;
  std::string output;
};

Outcome outcome_of(const std::vector<std::string>& command, const Command::Variables& variables = {}) {
  Command started(command, variables);
  std::string output = started.rest();
  return {.status = started.status(), .output = std::move(output)};
}

// A shell that lowers a limit, then becomes the command.
[[maybe_unused]] std::vector<std::string> under_limit(const std::string& limit, std::vector<std::string> command) {
  command.insert(command.begin(), {"/bin/sh", "-c", "ulimit " + limit + " && exec \"$0\" \"$@\""});
  return command;
}

bool says(const Outcome& outcome, std::string_view part) {
  return outcome.output.find(part) != std::string::npos;
}

TEST(Fault, WrongArgumentsAreErrorsAndTheJobGoesOn) {
  run_workload({.program = "fault_program", .arguments = {"arguments"}});
}

TEST(Fault, AMessageTooLongForItsReceiveIsCutAndTheNextIsWhole) {
  run_workload({.program = "fault_program", .arguments = {"truncate"}});
}

TEST(Fault, AMessageTooLongIsCutWithoutCrossMemory) {
  run_workload(
      {.program = "fault_program", .arguments = {"truncate"}, .options = {{"HEDDLE_SHM_CROSS_MEMORY", "off"}}});
}

TEST(Fault, AMessageTooLongIsCutOnSharedRings) {
  run_workload(
      {.program = "fault_program",
       .arguments = {"truncate"},
       .options = {{"HEDDLE_RING_BYTES", "64KiB"}, {"HEDDLE_RING_MEMORY", "64KiB"}, {"HEDDLE_EAGER_LIMIT", "16KiB"}}});
}

TEST(Fault, MemoryThatIsNotAllThereEndsTheMessageAtBothEndsAndNothingElse) {
  run_workload({.program = "fault_program", .arguments = {"unmapped"}});
  run_workload({.program = "fault_program", .arguments = {"unmapped"}, .options = {{"HEDDLE_ASSIST", "false"}}});
}

TEST(Fault, AListOfTranslatorsThatNamesNoneIsRefused) {
  const Outcome outcome = outcome_of({kFault, "join"}, {{"HEDDLE_SINGLE", "true"}, {"HEDDLE_TRANSLATORS", ","}});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(says(outcome, "bad_option: option translators is ',', which names none")) << outcome.output;
  EXPECT_TRUE(says(outcome, "use some of: shm")) << outcome.output;
}

TEST(Fault, ASecondJoinIsRefusedUntilTheFirstIsLeft) {
  const std::string output = run_workload({.program = "fault_program", .arguments = {"rejoin"}});
  EXPECT_NE(output.find("already_joined: rank 0 has already joined this job"), std::string::npos) << output;
}

TEST(Fault, JoiningAgainWithoutTheOthersSaysWhoIsMissing) {
  const Outcome outcome = outcome_of(job_command({.program = "fault_program", .arguments = {"alone"}}));
  EXPECT_TRUE(says(outcome, "peer_left: rank 1 ended before it joined, so the processes of the job can never all meet"))
      << outcome.output;
}

TEST(Fault, JoiningWithoutALauncherIsAnErrorWithTheRemedy) {
  const Outcome outcome = outcome_of({kFault, "join"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(says(outcome, "no_launcher: not started by a launcher")) << outcome.output;
  EXPECT_TRUE(says(outcome, "heddle run -n N PROGRAM")) << outcome.output;
}

TEST(Fault, JoiningWithoutALauncherWorksAloneWhenAskedFor) {
  const Outcome outcome = outcome_of({kFault, "join"}, {{"HEDDLE_SINGLE", "true"}});
  EXPECT_EQ(outcome.output, "joined 0 of 1\n");
  EXPECT_EQ(outcome.status, 0);
}

TEST(Fault, AnotherLauncherIsNamed) {
  const Outcome outcome = outcome_of({kFault, "join"}, {{"OMPI_COMM_WORLD_RANK", "3"}});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(says(outcome, "Open MPI's mpirun (OMPI_COMM_WORLD_RANK=3)")) << outcome.output;
}

TEST(Fault, AnUnknownOptionInTheEnvironmentIsRefusedWithASuggestion) {
  const Outcome outcome = outcome_of({kFault, "join"}, {{"HEDDLE_SINGLE", "true"}, {"HEDDLE_EAGER_LIMT", "1"}});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(says(outcome, "bad_option") && says(outcome, "HEDDLE_EAGER_LIMT")) << outcome.output;
  EXPECT_TRUE(says(outcome, "did you mean") && says(outcome, "HEDDLE_EAGER_LIMIT")) << outcome.output;
}

TEST(Fault, AnUnknownOptionInAFileIsRefusedWithPlaceAndSuggestion) {
  const std::string path = testing::TempDir() + "heddle_fault_test_" + std::to_string(::getpid()) + ".toml";
  std::ofstream(path) << "# options\nring_byte = \"64KiB\"\n";
  const Outcome outcome = outcome_of({kFault, "join"}, {{"HEDDLE_SINGLE", "true"}, {"HEDDLE_FILE", path}});
  std::filesystem::remove(path);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(says(outcome, "bad_option") && says(outcome, path + ":2")) << outcome.output;
  EXPECT_TRUE(says(outcome, "did you mean") && says(outcome, "ring_bytes")) << outcome.output;
}

// The sanitizers reserve terabytes and open files of their own: no limit can be set for the library alone.
#if !HEDDLE_TESTS_SANITIZED
TEST(Fault, TooFewDescriptorsAreSaidAtStart) {
  const Outcome alone = outcome_of({kFault, "join", "3"}, {{"HEDDLE_SINGLE", "true"}});
  EXPECT_EQ(alone.status, 2);
  EXPECT_TRUE(says(alone, "out_of_descriptors") && says(alone, "ulimit -n")) << alone.output;
  for (const char* limit : {"3", "4", "5"}) {
    const Outcome job = outcome_of(job_command({.program = "fault_program", .arguments = {"join", limit}}));
    if (job.status == 0) continue; // enough
    EXPECT_EQ(job.status, 2) << job.output;
    EXPECT_TRUE(says(job, "out_of_descriptors") && says(job, "ulimit -n")) << limit << ": " << job.output;
  }
}

TEST(Fault, TooLittleMemoryIsSaidAtStartWithTheLimit) {
  const Outcome alone = outcome_of(under_limit("-v 100000", {kFault, "join"}),
                                   {{"HEDDLE_SINGLE", "true"}, {"HEDDLE_RING_MEMORY", "1GiB"}});
  EXPECT_EQ(alone.status, 2);
  EXPECT_TRUE(says(alone, "out_of_memory") && says(alone, "ring_memory") && says(alone, "ulimit -v")) << alone.output;
}

TEST(Fault, MeasuringEndsWithTwoWhereALimitIsTooSmall) {
  const std::vector<std::string> perf{HEDDLE_PROGRAM, "perf", "latency", "--bytes", "8", "--repetitions", "1"};
  const Outcome memory = outcome_of(under_limit("-v 200000", perf), {{"HEDDLE_RING_MEMORY", "1GiB"}});
  EXPECT_EQ(memory.status, 2) << memory.output;
  EXPECT_TRUE(says(memory, "out_of_memory") && says(memory, "ulimit -v")) << memory.output;
}
TEST(Fault, MeasuringEndsWithTwoWhereDescriptorsAreShort) {
  constexpr int kNotLoaded = 127; // too few even for the libraries of the program
  const std::vector<std::string> perf{HEDDLE_PROGRAM, "perf", "latency", "--bytes", "8", "--repetitions", "1"};
  int refusals = 0;
  for (int limit = 4; limit < 40; ++limit) {
    const Outcome outcome = outcome_of(under_limit("-n " + std::to_string(limit), perf));
    if (outcome.status == kNotLoaded) continue;
    if (outcome.status == 0) break; // enough
    ++refusals;
    EXPECT_EQ(outcome.status, 2) << limit << ": " << outcome.output;
    EXPECT_TRUE(says(outcome, "out_of_descriptors") && says(outcome, "ulimit -n")) << limit << ": " << outcome.output;
  }
  EXPECT_GT(refusals, 0);
}
#endif

} // namespace
} // namespace heddle::tests
