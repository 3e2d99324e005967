// All-to-all between real processes.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

struct ExchangeCase {
  const char* name;
  std::uint32_t processes;
  const char* largest;
  Command::Variables options;
};
void PrintTo(const ExchangeCase& one, std::ostream* out) {
  *out << one.name;
}

class Exchange : public testing::TestWithParam<ExchangeCase> {};

TEST_P(Exchange, BringsEveryBlockToItsPlace) {
  const std::string rounds = std::to_string(std::max<std::uint64_t>(12 / kSlowdown, 2));
  for (const std::uint64_t seed : new_seeds(2)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    run_workload({.processes = GetParam().processes,
                  .program = "exchange_program",
                  .arguments = {std::to_string(seed), rounds, GetParam().largest},
                  .options = GetParam().options});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, Exchange,
    testing::Values(
        ExchangeCase{"OfOne", 1, "100000", {}}, ExchangeCase{"OfTwo", 2, "1000000", {}},
        ExchangeCase{"OfFive", 5, "300000", {}}, ExchangeCase{"OfThirteen", 13, "60000", {}},
        ExchangeCase{"OfSmallBlocks", 7, "90", {}}, ExchangeCase{"OfBlocksOfAllKinds", 3, "6000", {}},
        ExchangeCase{"OfSmallBlocksAsleep", 5, "200", {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}},
        ExchangeCase{"WithoutCrossMemory", 4, "300000", {{"HEDDLE_SHM_CROSS_MEMORY", "off"}}},
        ExchangeCase{"OnSharedRings", 6, "20000", {{"HEDDLE_RING_BYTES", "4KiB"}, {"HEDDLE_RING_MEMORY", "8KiB"}}}),
    [](const auto& given) { return std::string(given.param.name); });

} // namespace
} // namespace heddle::tests
