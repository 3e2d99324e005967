// Many processes that first speak to one at the same time, on fewer cores, and leave with their last word.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

TEST(Gather, FirstWordsOfManyToOneAreAllHeard) {
  for (int round = 0; round < 4; ++round)
    for (const char* waiting : {"automatic", "sleep"})
      run_workload({.processes = 8,
                    .program = "gather_program",
                    .arguments = {"3", "8"},
                    .options = {{"HEDDLE_WAITING", waiting}}});
}

TEST(Gather, NobodyLeavesWithoutSayingThatItHasFetchedAMessage) {
  for (int round = 0; round < 4; ++round)
    run_workload({.processes = 3,
                  .program = "gather_program",
                  .arguments = {"10", "60000"},
                  .options = {{"HEDDLE_RING_BYTES", "4KiB"}, {"HEDDLE_RING_MEMORY", "8KiB"}}});
}

} // namespace
} // namespace heddle::tests
