// A process that leaves in good order while others still wait for it.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

TEST(Departure, EndsWhatOnlyTheOneThatLeftCouldComplete) {
  for (const char* waiting : {"automatic", "sleep", "spin"})
    run_job(
        {.processes = 3, .program = "departure_program", .arguments = {}, .options = {{"HEDDLE_WAITING", waiting}}});
}

} // namespace
} // namespace heddle::tests
