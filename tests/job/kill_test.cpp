// kill -9 at any moment: every survivor is told once and soon, goes on with the others, and nothing is left behind.
#include "tests/job/job.hpp"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace heddle::tests {
namespace {

// Told within a second is the promise, and later is printed; only far beyond it the test fails, because the machine may
// be busy with anything.
constexpr std::uint64_t kPromised = 1'000'000'000;
constexpr std::uint64_t kFarBeyond = 5'000'000'000 * kSlowdown;

enum class When { before_joining, after_joining };

struct Death {
  const char* name;
  std::uint32_t processes = 4;
  std::string program = "traffic_program";
  std::vector<std::string> arguments;
  Command::Variables options;
  When when = When::after_joining;
  std::uint64_t longest_delay_us = 20'000; // between the moment above and the kill
};

void PrintTo(const Death& death, std::ostream* out) {
  *out << death.name;
}

std::string unix_sockets() {
  std::ifstream file("/proc/net/unix");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::set<std::string> shared_memory_objects() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) names.insert(entry.path().string());
  return names;
}

// Reads what members say until `count` lines of that kind have come.
struct Members {
  std::map<int, pid_t> processes;
  std::string store;
  int joined = 0;

  void read(const std::string& line) {
    int rank = 0;
    int process = 0;
    char address[128] = "";
    if (std::sscanf(line.c_str(), "pid %d of rank %d at %127s", &process, &rank, address) == 3) {
      processes[rank] = process;
      store = address;
    } else if (line.starts_with("joined ")) {
      ++joined;
    } else {
      ADD_FAILURE() << "unexpected: " << line;
    }
  }
};

void pass_time(std::uint64_t microseconds) {
  for (const std::uint64_t end = machine_ns() + microseconds * 1000; machine_ns() < end;) {
  }
}

// Times from the kill until each survivor was told, by its rank.
std::map<int, double> detection(const std::string& output, int victim, std::uint64_t killed_at) {
  std::map<int, double> times;
  for (std::size_t begin = 0, end = 0; (end = output.find('\n', begin)) != std::string::npos; begin = end + 1) {
    int rank = 0;
    int dead = 0;
    unsigned long long at = 0;
    if (std::sscanf(output.c_str() + begin, "rank %d saw %d fail at %llu", &rank, &dead, &at) != 3) continue;
    EXPECT_EQ(dead, victim);
    EXPECT_EQ(times.count(rank), 0U) << "told twice";
    const std::uint64_t time = at > killed_at ? at - killed_at : 0;
    times[rank] = static_cast<double>(time) / 1e6;
    EXPECT_LT(time, kFarBeyond);
    if (time > kPromised) std::printf("rank %d was told after %.0f ms, later than promised\n", rank, times[rank]);
  }
  return times;
}

class Kill : public testing::TestWithParam<Death> {
 protected:
  static void run(const Death& death, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    auto arguments = death.arguments;
    if (death.program == "traffic_program")
      arguments = {std::to_string(seed), std::to_string((death.processes > 8 ? 200 : 800) / kSlowdown), "1000000",
                   "kill"};
    Command command(job_command({.processes = death.processes,
                                 .program = death.program,
                                 .arguments = arguments,
                                 .options = {},
                                 .run_options = {"--survive"}}),
                    death.options);
    Members members;
    while (members.processes.size() < death.processes) members.read(command.line());
    while (death.when == When::after_joining && members.joined < static_cast<int>(death.processes))
      members.read(command.line());
    const int victim = static_cast<int>(random() % death.processes);
    pass_time(random() % (death.longest_delay_us + 1));
    const std::uint64_t killed_at = machine_ns();
    ::kill(members.processes.at(victim), SIGKILL);
    const std::string output = command.rest(); // ends when no process of the job is left
    EXPECT_EQ(command.status(), 128 + SIGKILL) << output;
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    const auto times = detection(output, victim, killed_at);
    EXPECT_EQ(times.size(), death.processes - 1) << output;
    double latest = 0;
    for (const auto& [rank, time] : times) latest = std::max(latest, time);
    std::printf("killed rank %d: all told within %.1f ms\n", victim, latest);
    EXPECT_EQ(unix_sockets().find(members.store.substr(5)), std::string::npos) << members.store;
  }
};

TEST_P(Kill, IsToldToEverySurvivorOnceAndTheyGoOn) {
  const auto before = shared_memory_objects();
  for (const std::uint64_t seed : new_seeds(3)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    run(GetParam(), seed);
    if (HasFailure()) return;
  }
  for (const std::string& name : shared_memory_objects())
    EXPECT_TRUE(before.contains(name) || name.find("heddle") == std::string::npos) << name << " was left behind";
}

INSTANTIATE_TEST_SUITE_P(
    Moments, Kill,
    testing::Values(
        Death{.name = "WhileJoining", .when = When::before_joining, .longest_delay_us = 5000},
        Death{.name = "WhileConnecting", .longest_delay_us = 500}, Death{.name = "InTraffic"},
        Death{.name = "InTrafficOfSixteen", .processes = 16, .longest_delay_us = 200'000},
        Death{.name = "InTrafficWithoutCrossMemory", .options = {{"HEDDLE_SHM_CROSS_MEMORY", "off"}}},
        Death{.name = "OnSharedRings",
              .options = {{"HEDDLE_RING_BYTES", "16KiB"},
                          {"HEDDLE_RING_MEMORY", "32KiB"},
                          {"HEDDLE_EAGER_LIMIT", "4KiB"}}},
        Death{.name = "InTrafficOfSleepers", .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}},
        Death{.name = "InRendezvous", .program = "await_program", .arguments = {"rendezvous"}},
        Death{.name = "InEager", .program = "await_program", .arguments = {"eager"}},
        Death{.name = "InBarriers", .program = "await_program", .arguments = {"barrier"}},
        Death{.name = "InExchanges", .program = "await_program", .arguments = {"alltoall"}},
        Death{.name = "InExchangesOfSixteen", .processes = 16, .program = "await_program", .arguments = {"alltoall"}},
        Death{.name = "InExchangesWithoutCrossMemory",
              .program = "await_program",
              .arguments = {"alltoall"},
              .options = {{"HEDDLE_SHM_CROSS_MEMORY", "off"}}},
        Death{.name = "WhileAllSleep",
              .program = "await_program",
              .arguments = {"sleep"},
              .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}},
        Death{.name = "InBarriersOfSixteen", .processes = 16, .program = "await_program", .arguments = {"barrier"}}),
    [](const auto& given) { return std::string(given.param.name); });

} // namespace
} // namespace heddle::tests
