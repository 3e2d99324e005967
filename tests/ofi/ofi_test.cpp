// Jobs over libfabric's own providers: random traffic, one-sided operations, patterns, all-to-all and deaths; and what
// `heddle info` says of the providers that there are.
#include "tests/command/command.hpp"
#include "tests/job/job.hpp"
#include "translators/ofi/library.hpp"

#include <csignal>
#include <cstdio>
#include <map>
#include <ostream>
#include <random>

#if HEDDLE_HAS_LIBFABRIC
namespace heddle::tests {
namespace {

struct Provider {
  const char* name; // of the test
  Command::Variables options;
};
const std::array kProviders = {
    Provider{"Tcp",
             {{"HEDDLE_TRANSLATORS", "ofi"}, {"HEDDLE_OFI_PROVIDER", "tcp;ofi_rxm"}, {"HEDDLE_OFI_DOMAIN", "lo"}}},
    Provider{"Shm", {{"HEDDLE_TRANSLATORS", "ofi"}, {"HEDDLE_OFI_PROVIDER", "shm"}}}};

struct Work {
  const char* name;
  std::uint32_t processes = 2;
  std::string program;
  std::vector<std::string> arguments; // $SEED stands for one
  Command::Variables options{};
};

// In names of tests.
void PrintTo(const Provider& provider, std::ostream* out) {
  *out << provider.name;
}
void PrintTo(const Work& work, std::ostream* out) {
  *out << work.name;
}

using Case = std::tuple<Provider, Work>;
class OfiJob : public testing::TestWithParam<Case> {
 protected:
  static JobPlan plan(std::uint64_t seed) {
    const auto& [provider, work] = GetParam();
    JobPlan made{.processes = work.processes, .program = work.program, .options = provider.options};
    for (const std::string& each : work.arguments)
      made.arguments.push_back(each == "$SEED" ? std::to_string(seed) : each);
    made.options.insert(made.options.end(), work.options.begin(), work.options.end());
    return made;
  }
};

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return std::string(std::get<1>(info.param).name) + "Over" + std::get<0>(info.param).name;
}
std::string less(std::uint64_t count) {
  return std::to_string(count / kSlowdown);
}

TEST_P(OfiJob, IsDoneWithoutFault) {
  for (const std::uint64_t seed : new_seeds(1)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    JobPlan job = plan(seed);
    job.options.emplace_back("HEDDLE_LOG_LEVEL", "info");
    const std::string output = run_workload(job);
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    EXPECT_NE(output.find("heddle[0]: info: ofi serves rank"), std::string::npos) << output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, OfiJob,
    testing::Combine(
        testing::ValuesIn(kProviders),
        testing::Values(
            Work{.name = "TrafficOfTwo", .program = "traffic_program", .arguments = {"$SEED", less(400), "4194304"}},
            Work{.name = "TrafficOfFour",
                 .processes = 4,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(300), "1048576"}},
            Work{.name = "TrafficOfSleepers",
                 .processes = 3,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(150), "262144"},
                 .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}},
            Work{.name = "TrafficOnTinyRings",
                 .processes = 4,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(150), "262144"},
                 .options = {{"HEDDLE_RING_BYTES", "4KiB"},
                             {"HEDDLE_EAGER_LIMIT", "512"},
                             {"HEDDLE_CHUNK_BYTES", "4KiB"}}},
            Work{.name = "TrafficOfTwelve",
                 .processes = 12,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(60), "131072"}},
            Work{.name = "OneSided", .processes = 4, .program = "onesided_program", .arguments = {"$SEED", less(15)}},
            Work{.name = "InterleavedWords", .processes = 3, .program = "region_program", .arguments = {less(20)}},
            Work{.name = "Patterns",
                 .processes = 4,
                 .program = "pattern_program",
                 .arguments = {"halo", "100000", "20"}},
            Work{.name = "StridedPatterns",
                 .processes = 4,
                 .program = "pattern_program",
                 .arguments = {"strided", "3000", "20"}},
            Work{.name = "AllToAll",
                 .processes = 6,
                 .program = "exchange_program",
                 .arguments = {"$SEED", "6", "100000"}})),
    name_of_case);

// --- deaths ---

class OfiDeath : public OfiJob {};

TEST_P(OfiDeath, IsToldToEverySurvivorOnceAndTheyGoOn) {
  for (const std::uint64_t seed : new_seeds(2)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    JobPlan job = plan(seed);
    job.run_options = {"--survive"};
    Command command(job_command(job), job.options);
    std::map<int, pid_t> processes;
    std::string output;
    for (std::uint32_t joined = 0; joined < job.processes;) {
      const std::string line = command.line();
      int rank = 0;
      int process = 0;
      if (std::sscanf(line.c_str(), "pid %d of rank %d", &process, &rank) == 2) processes[rank] = process;
      joined += line.starts_with("joined ") ? 1 : 0;
      output += line + "\n";
      ASSERT_FALSE(line.empty()) << output;
    }
    const int victim = static_cast<int>(random() % job.processes);
    for (const std::uint64_t end = machine_ns() + random() % 20'000'000; machine_ns() < end;) {
    }
    ASSERT_GT(processes[victim], 0);
    ::kill(processes[victim], SIGKILL);
    output += command.rest();
    EXPECT_EQ(command.status(), 128 + SIGKILL) << output;
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    std::map<int, int> told;
    for (std::size_t begin = 0, end = 0; (end = output.find('\n', begin)) != std::string::npos; begin = end + 1) {
      int rank = 0;
      int dead = 0;
      if (std::sscanf(output.c_str() + begin, "rank %d saw %d fail", &rank, &dead) != 2) continue;
      EXPECT_EQ(dead, victim);
      ++told[rank];
    }
    EXPECT_EQ(told.size(), job.processes - 1) << output;
    for (const auto& [rank, times] : told) EXPECT_EQ(times, 1) << "rank " << rank;
  }
}

// libfabric's shm does not outlive every death: docs/protocols/ofi.md.
INSTANTIATE_TEST_SUITE_P(
    Moments, OfiDeath,
    testing::Combine(
        testing::Values(kProviders.front()),
        testing::Values(
            Work{.name = "InTraffic",
                 .processes = 4,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(800), "1000000", "kill"}},
            Work{.name = "InExchanges", .processes = 4, .program = "await_program", .arguments = {"alltoall"}},
            Work{.name = "InRendezvous", .processes = 3, .program = "await_program", .arguments = {"rendezvous"}},
            Work{.name = "WhileAllSleep",
                 .processes = 3,
                 .program = "await_program",
                 .arguments = {"sleep"},
                 .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}})),
    name_of_case);

// --- which provider ---

std::string info_with(const std::string& provider, const std::string& domain = "automatic") {
  Command command({HEDDLE_PROGRAM, "info"},
                  {{"HEDDLE_TRANSLATORS", "ofi"}, {"HEDDLE_OFI_PROVIDER", provider}, {"HEDDLE_OFI_DOMAIN", domain}});
  return command.rest();
}

TEST(OfiProviders, AreListedWithTheReasonWhyOneIsNotUsable) {
  const std::string said = info_with("tcp;ofi_rxm");
  EXPECT_NE(said.find("ofi: used: "), std::string::npos) << said;
  EXPECT_NE(said.find("by provider tcp;ofi_rxm"), std::string::npos) << said;
  EXPECT_NE(said.find("tcp;ofi_rxm (usable)"), std::string::npos) << said;
  EXPECT_NE(said.find("shm (usable)"), std::string::npos) << said;
  EXPECT_NE(said.find("udp (no reliable datagrams (FI_EP_RDM))"), std::string::npos) << said;
}

TEST(OfiProviders, AreSaidNotToOutliveDeathsWhereTheyDoNot) {
  const std::string warning = ", where the death of a process may stop the others";
  EXPECT_NE(info_with("shm").find(warning), std::string::npos);
  EXPECT_EQ(info_with("tcp;ofi_rxm").find(warning), std::string::npos);
}

TEST(OfiProviders, HeddlesOwnIsRefused) {
  const std::string said = info_with("heddle");
  EXPECT_NE(said.find("ofi: refused: bad_option: option ofi.provider: 'heddle' is Heddle's own provider"),
            std::string::npos)
      << said;
}

TEST(OfiProviders, OneThatLosesDataIsRefused) {
  const std::string said = info_with("sockets");
  EXPECT_NE(said.find("libfabric's provider 'sockets' cannot be used here; found: "), std::string::npos) << said;
  EXPECT_NE(said.find("sockets (large transfers in both directions come out wrong with it)"), std::string::npos)
      << said;
}

TEST(OfiProviders, ADomainThatIsNotThereIsRefused) {
  const std::string said = info_with("tcp;ofi_rxm", "nosuch0");
  EXPECT_NE(said.find("'tcp;ofi_rxm' cannot be used here by domain 'nosuch0'; found: "), std::string::npos) << said;
  EXPECT_NE(info_with("tcp;ofi_rxm", "lo").find("by provider tcp;ofi_rxm, domain lo"), std::string::npos) << said;
}

TEST(OfiProviders, OneThatIsNotThereIsRefusedWithThoseThatAre) {
  const std::string said = info_with("nonsense");
  EXPECT_NE(said.find("libfabric's provider 'nonsense' cannot be used here; found: "), std::string::npos) << said;
}

} // namespace
} // namespace heddle::tests
#endif
