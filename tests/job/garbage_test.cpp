// A member that writes garbage into another's memory: that one survives, and goes on with the others.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

TEST(Garbage, FromOnePeerHarmsNothingButTheTrafficWithIt) {
  for (const std::uint64_t seed : new_seeds(30 / kSlowdown)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    Command command(job_command({.processes = 3,
                                 .program = "garbage_program",
                                 .arguments = {std::to_string(seed)},
                                 .options = {},
                                 .run_options = {"--survive"}}),
                    {{"HEDDLE_RING_BYTES", "64KiB"}, {"HEDDLE_EAGER_LIMIT", "4KiB"}});
    const std::string output = command.rest();
    // The attacker ends without a word, which is the job's failure and the only one.
    EXPECT_NE(output.find("heddle: error: rank 2 ended without leaving the job; the others go on\n"), std::string::npos)
        << output;
    for (const char* other : {"heddle: error: rank 0 ", "heddle: error: rank 1 ", "FAILED"})
      EXPECT_EQ(output.find(other), std::string::npos) << output;
    EXPECT_EQ(command.status(), 1);
    if (testing::Test::HasFailure()) return;
  }
}

} // namespace
} // namespace heddle::tests
