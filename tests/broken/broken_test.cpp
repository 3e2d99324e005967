// Connections that are reset while both processes live: what was under way ends with connection_lost, the next operation connects
// again, and of the messages none comes twice, damaged or out of order.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/command/command.hpp"

namespace heddle::tests {
namespace {

const std::string kTalker = std::string(HEDDLE_TEST_PROGRAMS) + "/broken_program";

TEST(BrokenConnection, IsMadeAgain) {
  const char* given = std::getenv("TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + (given != nullptr ? 1 : 12); ++seed) {
    SCOPED_TRACE("repeat with TEST_SEED=" + std::to_string(seed));
    // One connection for the pair, or two.
    const char* networks = seed % 2 == 0 ? "127.0.0.1" : "127.0.0.1,::1";
    Command command({HEDDLE_PROGRAM, "run", "-n", "2", "--", kTalker, std::to_string(seed), "5"},
                    {{"HEDDLE_TCP_NETWORK", networks}});
    const std::string said = command.rest();
    EXPECT_EQ(command.status(), 0) << said;
    EXPECT_NE(said.find("; cut 5"), std::string::npos) << said;
  }
}

} // namespace
} // namespace heddle::tests
