// A process that leaves in good order while others still wait for it.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

TEST(Departure, EndsWhatOnlyTheOneThatLeftCouldComplete) {
  for (const char* waiting : {"automatic", "sleep", "spin"})
    run_workload(
        {.processes = 3, .program = "departure_program", .arguments = {}, .options = {{"HEDDLE_WAITING", waiting}}});
}

TEST(Departure, LeavesTheReceiversMemoryAlone) {
  run_workload({.program = "leaving_program", .arguments = {"receive"}});
}

TEST(Departure, GivesNobodyTheSendersMemoryForTheMessage) {
  run_workload({.program = "leaving_program", .arguments = {"send"}});
}

TEST(Departure, IsHeardOfAmidTraffic) {
  run_workload({.processes = 3, .program = "leaving_program", .arguments = {"busy"}});
}

TEST(Departure, OfAForkedChildIsNoneAndItsCallsAreRefused) {
  run_workload({.program = "leaving_program", .arguments = {"fork"}});
}

} // namespace
} // namespace heddle::tests
