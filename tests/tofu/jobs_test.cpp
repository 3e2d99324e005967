// Jobs over uTofu on an emulated machine: random traffic, one-sided operations, patterns, all-to-all, halos and kills, with the points that
// no public source settles taken either way.
#include "tests/tofu/emulated.hpp"

#include <csignal>
#include <cstdio>
#include <map>
#include <random>

namespace heddle::tests {
namespace {

struct Setting {
  const char* name;
  const char* switches;
};
void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

class TofuJob : public testing::TestWithParam<Setting> {
 protected:
  static std::string run(const EmulatedTofu& machine, std::uint32_t processes, const char* program,
                         std::vector<std::string> arguments, Command::Variables options = {}) {
    std::string output = run_workload({.processes = processes,
                                       .program = program,
                                       .arguments = std::move(arguments),
                                       .options = machine.variables(std::move(options)),
                                       .run_options = {}});
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    return output;
  }
};

TEST_P(TofuJob, ExchangesRandomTraffic) {
  for (const std::uint64_t seed : new_seeds(2)) {
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const EmulatedTofu machine(GetParam().switches + (",seed=" + std::to_string(seed)));
    run(machine, 4, "traffic_program", {std::to_string(seed), std::to_string(200 / kSlowdown), "1048576"});
  }
}

TEST_P(TofuJob, DoesOneSidedOperations) {
  for (const std::uint64_t seed : new_seeds(1)) {
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const EmulatedTofu machine(GetParam().switches + (",seed=" + std::to_string(seed)));
    run(machine, 3, "onesided_program", {std::to_string(seed), std::to_string(20 / kSlowdown)});
  }
}

// One has all later points; each of the others turns one, or a few that do not hide each other.
INSTANTIATE_TEST_SUITE_P(
    Switches, TofuJob,
    testing::Values(Setting{"AsAssumed", "delay=2"}, Setting{"Late", "delay=12"},
                    Setting{"SentIsNotWritten", "lcl_put=sent,order=both"},
                    Setting{"UnnamedSenders", "rmt_peer=unnamed"}, Setting{"NamedReceivers", "rmt_peer=receiver"},
                    Setting{"LeftIsNotLanded", "tcq=left,tag=bare,dereg=busy,extra=cmp"},
                    Setting{"OtherNotices", "rmt_get=edata,notice_id=plain,rmt_stadd=first,unasked_error=silent"},
                    Setting{"OtherTags", "stag=new,stadd=agree,desc_size=inout,armw=node,overrun=nothing"},
                    Setting{"ShortQueues", "toq=16,mrq=16"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(TofuJobs, ShareRings) {
  const EmulatedTofu machine;
  run_workload(
      {.processes = 6,
       .program = "traffic_program",
       .arguments = {"1", std::to_string(200 / kSlowdown), "1048576"},
       .options = machine.variables(
           {{"HEDDLE_RING_BYTES", "64KiB"}, {"HEDDLE_RING_MEMORY", "128KiB"}, {"HEDDLE_EAGER_LIMIT", "16KiB"}}),
       .run_options = {}});
}

TEST(TofuJobs, ExchangeHalosAndBlocks) {
  for (const char* what : {"halo", "strided"})
    for (const char* bytes : {"8", "5000", "300000"}) {
      const EmulatedTofu machine;
      run_workload({.processes = 3,
                    .program = "pattern_program",
                    .arguments = {what, bytes, "20"},
                    .options = machine.variables(),
                    .run_options = {}});
    }
  const EmulatedTofu machine;
  run_workload({.processes = 5,
                .program = "exchange_program",
                .arguments = {"3", "20", "65536"},
                .options = machine.variables(),
                .run_options = {}});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++found;
  return found;
}

// Where the emulated machine puts a rank: C fastest, then B and A.
std::string coordinates(unsigned rank) {
  return "0.0." + std::to_string(rank / 12) + "." + std::to_string(rank / 6 % 2) + "." + std::to_string(rank / 2 % 3) +
         "." + std::to_string(rank % 2);
}

// The report's halo of 14 puts: each goes by the engine, and arrives at the engine, that the plan says.
TEST(TofuJobs, SendTheHaloByTheEnginesThatThePlanNames) {
  for (const char* levels : {"60", "872"}) {
    const EmulatedTofu machine;
    const std::string output = run_workload({.processes = 9,
                                             .program = "tofu_halo_program",
                                             .arguments = {levels},
                                             .options = machine.variables(),
                                             .run_options = {}});
    const std::string log = machine.log();
    std::map<std::string, std::size_t> planned;
    std::size_t requests = 0;
    unsigned rank = 0, to = 0, item = 0, from_engine = 0, to_engine = 0;
    unsigned long long bytes = 0;
    for (std::size_t at = 0; (at = output.find("plan ", at)) != std::string::npos; ++at) {
      if (std::sscanf(output.c_str() + at, "plan %u: request %u to rank %u: %llu bytes, engine %u to %u", &rank, &item,
                      &to, &bytes, &from_engine, &to_engine) != 6)
        continue;
      ++requests;
      ++planned["put from " + coordinates(rank) + "/" + std::to_string(from_engine) + " to " + coordinates(to) + "/" +
                std::to_string(to_engine) + " path 0 bytes " + std::to_string(bytes) + "\n"];
    }
    EXPECT_EQ(requests, 9U * 14U) << output;
    for (const auto& [line, times] : planned) EXPECT_GE(count(log, line), times) << line;
  }
}

// More exposed memory than the network has names for: the rest lands beside its place and is copied.
TEST(TofuJobs, HoldMorePatternsThanThereAreNamesForMemory) {
  for (const char* patterns : {"7", "9"}) {
    const EmulatedTofu machine;
    const std::string output = run_workload({.processes = 4,
                                             .program = "tofu_halo_program",
                                             .arguments = {"60", patterns, "3"},
                                             .options = machine.variables(),
                                             .run_options = {}});
    EXPECT_NE(output.find("us a start: "), std::string::npos) << output;
  }
}

// After the first barrier of a job, which goes by messages, the gates do the work: no command is carried out for those that follow.
TEST(TofuJobs, PassBarriersByGates) {
  std::size_t commands[2] = {0, 0};
  for (const int many : {0, 1}) {
    const EmulatedTofu machine;
    run_workload({.processes = 5,
                  .program = "tofu_barrier_program",
                  .arguments = {many == 1 ? "201" : "1", machine.beside()},
                  .options = machine.variables(),
                  .run_options = {}});
    commands[many] = count(machine.log(), "\n");
  }
  EXPECT_LT(commands[1], commands[0] + 200); // by messages it would be 200 times 5 times 3 and more
  const EmulatedTofu without_file;           // as on a machine of several nodes
  run_workload({.processes = 5,
                .program = "tofu_barrier_program",
                .arguments = {"50"},
                .options = without_file.variables(),
                .run_options = {}});
  const EmulatedTofu without("gates=1");
  run_workload({.processes = 5,
                .program = "tofu_barrier_program",
                .arguments = {"20", without.beside()},
                .options = without.variables(),
                .run_options = {}});
}

TEST(TofuJobs, OutliveAKilledProcess) {
  for (const char* switches : {"dead_peer=told", "dead_peer=silent"})
    for (const std::uint64_t seed : new_seeds(2)) {
      SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed << " " << switches);
      std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
      std::mt19937_64 random(seed);
      const EmulatedTofu machine(switches);
      Command command(job_command({.processes = 3,
                                   .program = "lock_program",
                                   .arguments = {"kill"},
                                   .options = {},
                                   .run_options = {"--survive"}}),
                      machine.variables());
      std::map<int, pid_t> members;
      for (std::uint32_t joined = 0; joined < 3;) {
        const std::string line = command.line();
        int process = 0;
        int rank = 0;
        if (std::sscanf(line.c_str(), "pid %d of rank %d", &process, &rank) == 2) members[rank] = process;
        joined += line.starts_with("joined ") ? 1U : 0U;
        ASSERT_EQ(line.find("FAILED"), std::string::npos) << line;
      }
      for (const std::uint64_t end = machine_ns() + random() % 5'000'000; machine_ns() < end;) {
      }
      ::kill(members.at(1 + static_cast<int>(random() % 2)), SIGKILL);
      const std::string output = command.rest();
      EXPECT_EQ(command.status(), 128 + SIGKILL) << output;
      EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
      EXPECT_EQ(count(output, " fail at "), 2U) << output;
    }
}

} // namespace
} // namespace heddle::tests
