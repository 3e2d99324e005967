// Random traffic between real processes, under options of many kinds, checked byte for byte by each of them.
#include "tests/job/job.hpp"

namespace heddle::tests {
namespace {

struct TrafficCase {
  const char* name;
  std::uint32_t processes = 2;
  std::uint64_t messages = 1000; // of each process
  std::uint64_t largest = 4 << 20;
  Command::Variables options;
};

void PrintTo(const TrafficCase& c, std::ostream* out) {
  *out << c.name;
}

class JobTraffic : public testing::TestWithParam<TrafficCase> {};

TEST_P(JobTraffic, IsWholeAndInOrder) {
  const TrafficCase& c = GetParam();
  for (const std::uint64_t seed : new_seeds(1)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    run_workload(
        {.processes = c.processes,
         .program = "traffic_program",
         .arguments = {std::to_string(seed), std::to_string(c.messages / kSlowdown), std::to_string(c.largest)},
         .options = c.options});
  }
}

constexpr std::uint64_t kMiB = 1 << 20;

INSTANTIATE_TEST_SUITE_P(
    Jobs, JobTraffic,
    testing::Values(
        TrafficCase{.name = "Two"}, TrafficCase{.name = "Four", .processes = 4},
        TrafficCase{.name = "Sixteen", .processes = 16, .messages = 300, .largest = kMiB},
        TrafficCase{.name = "One", .processes = 1},
        TrafficCase{
            .name = "NoCrossMemory", .processes = 4, .messages = 600, .options = {{"HEDDLE_SHM_CROSS_MEMORY", "off"}}},
        TrafficCase{
            .name = "TinyRings",
            .processes = 4,
            .messages = 600,
            .largest = kMiB,
            .options = {{"HEDDLE_RING_BYTES", "4KiB"}, {"HEDDLE_EAGER_LIMIT", "512"}, {"HEDDLE_CHUNK_BYTES", "4KiB"}}},
        TrafficCase{.name = "TinyRingsNoCrossMemory",
                    .processes = 3,
                    .messages = 400,
                    .largest = kMiB,
                    .options = {{"HEDDLE_RING_BYTES", "4KiB"},
                                {"HEDDLE_EAGER_LIMIT", "512"},
                                {"HEDDLE_SHM_CROSS_MEMORY", "off"}}},
        TrafficCase{.name = "SharedRings",
                    .processes = 6,
                    .messages = 400,
                    .largest = kMiB,
                    .options = {{"HEDDLE_RING_BYTES", "64KiB"},
                                {"HEDDLE_RING_MEMORY", "128KiB"},
                                {"HEDDLE_EAGER_LIMIT", "16KiB"}}},
        TrafficCase{.name = "TinySharedRings",
                    .processes = 16,
                    .messages = 100,
                    .largest = kMiB / 8,
                    .options = {{"HEDDLE_RING_BYTES", "8KiB"},
                                {"HEDDLE_RING_MEMORY", "16KiB"},
                                {"HEDDLE_EAGER_LIMIT", "1KiB"}}},
        TrafficCase{.name = "SharedRingsNoCrossMemory",
                    .processes = 4,
                    .messages = 300,
                    .largest = kMiB / 4,
                    .options = {{"HEDDLE_RING_BYTES", "16KiB"},
                                {"HEDDLE_RING_MEMORY", "16KiB"},
                                {"HEDDLE_EAGER_LIMIT", "4KiB"},
                                {"HEDDLE_SHM_CROSS_MEMORY", "off"}}},
        TrafficCase{.name = "NothingEager", .processes = 3, .messages = 600, .options = {{"HEDDLE_EAGER_LIMIT", "0"}}},
        TrafficCase{.name = "MuchEager",
                    .processes = 3,
                    .messages = 600,
                    .options = {{"HEDDLE_EAGER_LIMIT", "1MiB"}, {"HEDDLE_RING_BYTES", "4MiB"}}},
        TrafficCase{.name = "NoAssist", .processes = 3, .messages = 600, .options = {{"HEDDLE_ASSIST", "false"}}},
        TrafficCase{
            .name = "SmallChunks", .processes = 3, .messages = 600, .options = {{"HEDDLE_CHUNK_BYTES", "4KiB"}}},
        TrafficCase{.name = "Sleeping",
                    .processes = 4,
                    .messages = 600,
                    .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}},
        TrafficCase{.name = "Yielding", .processes = 4, .messages = 600, .options = {{"HEDDLE_WAITING", "yield"}}},
        TrafficCase{.name = "Spinning", .processes = 2, .messages = 600, .options = {{"HEDDLE_WAITING", "spin"}}}),
    [](const auto& given) { return std::string(given.param.name); });

} // namespace
} // namespace heddle::tests
