// A member that writes rubbish into another's memory: that one survives, and goes on with the others.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

TEST(Rubbish, FromOnePeerHarmsNothingButTheTrafficWithIt) {
  for (const std::uint64_t seed : new_seeds(30 / kSlowdown)) {
    SCOPED_TRACE(testing::Message() << "HEDDLE_TEST_SEED=" << seed);
    run_job({.processes = 3,
             .program = "rubbish_program",
             .arguments = {std::to_string(seed)},
             .options = {{"HEDDLE_RING_BYTES", "64KiB"}, {"HEDDLE_EAGER_LIMIT", "4KiB"}},
             .run_options = {"--survive"}});
    if (testing::Test::HasFailure()) return;
  }
}

} // namespace
} // namespace heddle::tests
