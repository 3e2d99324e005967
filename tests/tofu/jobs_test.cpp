// Jobs over uTofu on an emulated machine: random traffic, one-sided operations, patterns, all-to-all, halos and kills, with the points that
// no public source settles taken either way.
#include "tests/tofu/emulated.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>

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

// One has all as assumed; each of the others turns one point, or a few that do not hide each other.
constexpr std::array kSettings = {
    Setting{"AsAssumed", "delay=2"},
    Setting{"Late", "delay=12"},
    Setting{"SentIsNotWritten", "lcl_put=sent,order=both"},
    Setting{"UnnamedSenders", "rmt_peer=unnamed"},
    Setting{"NamedReceivers", "rmt_peer=receiver"},
    Setting{"LeftIsNotLanded", "tcq=left,tag=bare,dereg=busy,extra=cmp"},
    Setting{"OtherNotices", "rmt_get=edata,notice_id=plain,rmt_stadd=first,unasked_error=silent"},
    Setting{"OtherTags", "stag=new,stadd=agree,desc_size=inout,armw=node,overrun=nothing"},
    Setting{"ShortQueues", "toq=16,mrq=16"},
    Setting{"SeveralOnANode", "per_node=2,tnis=2,cqs=2"},
    Setting{"OneInterface", "tnis=1,cqs=2,shape=2x2x1x1x1x1"}};
INSTANTIATE_TEST_SUITE_P(Switches, TofuJob, testing::ValuesIn(kSettings),
                         [](const auto& one) { return std::string(one.param.name); });

// docs/protocols/utofu.md has a row for each point that no public source settles: `name=assumed`, `other`.
TEST(TofuSwitches, AreAllTurnedSomewhereInTheseTests) {
  std::string turned = ",mrq_full=fatal,dead_peer=silent,"; // below
  for (const Setting& setting : kSettings) turned += setting.switches + std::string(",");
  std::ifstream page(std::filesystem::path(__FILE__).parent_path() / "../../docs/protocols/utofu.md");
  const std::regex row(R"(\| `(\w+)=\w+`((, `\w+`)+))");
  const std::regex other("`(\\w+)`");
  int points = 0;
  for (std::string line; std::getline(page, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, row)) continue;
    ++points;
    const std::string others = found[2];
    for (std::sregex_iterator each(others.begin(), others.end(), other), end; each != end; ++each) {
      const std::string setting = "," + found[1].str() + "=" + (*each)[1].str() + ",";
      EXPECT_NE(turned.find(setting), std::string::npos) << setting << " of: " << line;
    }
  }
  EXPECT_GE(points, 18);
}

// The contract itself, with points turned that its own run takes as assumed.
TEST(TofuContract, HoldsWithOtherAnswers) {
  for (const char* switches : {"delay=12,lcl_put=sent,order=both,tcq=left", "rmt_peer=unnamed,tag=bare,dereg=busy",
                               "rmt_peer=receiver,stag=new,stadd=agree,desc_size=inout,armw=node,extra=cmp",
                               "rmt_get=edata,notice_id=plain,rmt_stadd=first,unasked_error=silent"}) {
    Command command({std::string(HEDDLE_TEST_PROGRAMS) + "/test_translators", "--gtest_filter=Utofu/*"},
                    {{"TOFU_EMULATION", switches}});
    const std::string output = command.rest();
    // Without its lines of skipped tests, by which ctest would take this one for skipped.
    const std::size_t failed = output.find("[  FAILED  ]");
    EXPECT_EQ(command.status(), 0) << switches << "\n" << output.substr(std::min(failed, output.size()), 1000);
    EXPECT_NE(output.find("[  PASSED  ]"), std::string::npos) << switches;
  }
}

// Where a notice too many is the end: there is room for as many as records fit the rings, and for all that one process has under way.
TEST(TofuJobs, NeverFillAQueueWhoseDepthIsThatOfItsRings) {
  for (const std::uint64_t seed : new_seeds(2)) {
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    const EmulatedTofu machine("mrq_full=fatal,seed=" + std::to_string(seed));
    run_workload({.processes = 5,
                  .program = "traffic_program",
                  .arguments = {std::to_string(seed), std::to_string(200 / kSlowdown), "262144"},
                  .options = machine.variables({{"HEDDLE_RING_BYTES", "16KiB"}, {"HEDDLE_RING_MEMORY", "128KiB"}}),
                  .run_options = {}});
  }
}

TEST(TofuJobs, SplitWhatIsLargerThanATransfer) {
  const EmulatedTofu machine;
  run_workload({.processes = 2,
                .program = "pattern_program",
                .arguments = {"halo", "20000000", "2"},
                .options = machine.variables(),
                .run_options = {}});
  EXPECT_EQ(machine.log().find(" bytes 2000"), std::string::npos);
}

TEST(TofuJobs, UseAsManyEnginesAsAreAskedFor) {
  for (const char* engines : {"1", "2"}) {
    const EmulatedTofu machine;
    run_workload({.processes = 3,
                  .program = "traffic_program",
                  .arguments = {"1", std::to_string(100 / kSlowdown), "262144"},
                  .options = machine.variables({{"HEDDLE_UTOFU_ENGINES", engines}}),
                  .run_options = {}});
    const std::string log = machine.log();
    EXPECT_NE(log.find("put from"), std::string::npos);
    for (const char* beyond : {"2", "3", "4", "5"})
      EXPECT_EQ(log.find("/" + std::string(beyond) + " path"), std::string::npos) << engines << " engines";
  }
}

std::string info(Command::Variables variables) {
  Command command({HEDDLE_PROGRAM, "info"}, std::move(variables));
  return command.rest();
}

TEST(TofuInfo, SaysWhichLibraryWasFoundOrWhyNone) {
  const EmulatedTofu machine;
  const std::string found = info(machine.variables());
  EXPECT_NE(found.find("utofu: used: "), std::string::npos) << found;
  EXPECT_NE(found.find("libtofucom.so, 6 engines, at 0.0.0.0.0.0"), std::string::npos) << found;
  const std::string none = info({{"HEDDLE_TRANSLATORS", "utofu"}, {"HEDDLE_UTOFU_LIBRARY", "libnosuchtofu.so"}});
  EXPECT_NE(none.find("utofu: refused: unsupported: the uTofu library cannot be loaded: libnosuchtofu.so"),
            std::string::npos)
      << none;
  const EmulatedTofu full("cqs=1,per_node=8");
  Command command(job_command({.processes = 2,
                               .program = "traffic_program",
                               .arguments = {"1", "1", "64"},
                               .options = {},
                               .run_options = {}}),
                  full.variables());
  const std::string output = command.rest();
  EXPECT_NE(command.status(), 0);
  EXPECT_NE(output.find("uTofu has no queue for this process: code -6"), std::string::npos) << output;
}

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
    std::set<unsigned> engines;
    std::set<unsigned> receive_engines;
    std::size_t requests = 0;
    unsigned rank = 0, to = 0, item = 0, from_engine = 0, to_engine = 0;
    unsigned long long bytes = 0;
    for (std::size_t at = 0; (at = output.find("plan ", at)) != std::string::npos; ++at) {
      if (std::sscanf(output.c_str() + at, "plan %u: request %u to rank %u: %llu bytes, engine %u to %u", &rank, &item,
                      &to, &bytes, &from_engine, &to_engine) != 6)
        continue;
      ++requests;
      engines.insert(from_engine);
      receive_engines.insert(to_engine);
      ++planned["put from " + coordinates(rank) + "/" + std::to_string(from_engine) + " to " + coordinates(to) + "/" +
                std::to_string(to_engine) + " path 0 bytes " + std::to_string(bytes) + "\n"];
    }
    EXPECT_EQ(requests, 9U * 14U) << output;
    EXPECT_GT(engines.size(), 1U) << "a plan that uses one says nothing";
    EXPECT_GT(receive_engines.size(), 1U);
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

// Kinds of commands by their lengths, as the emulation has carried them out.
std::map<std::pair<std::string, std::uint64_t>, int> commands_in(const std::string& log) {
  std::map<std::pair<std::string, std::uint64_t>, int> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    ++found[{line.substr(0, line.find(' ')), std::stoull(line.substr(line.rfind(' ')))}];
  return found;
}

// What is short goes with its command; rings are granted by reading, which needs no locks: those are for networks whose notices do not
// tell who has read.
TEST(TofuJobs, SendShortRecordsWithTheCommandAndGetTheirRingsByReading) {
  for (const bool named : {true, false}) {
    const EmulatedTofu machine(named ? "rmt_peer=named" : "rmt_peer=unnamed");
    run_workload({.processes = 3,
                  .program = "exchange_program",
                  .arguments = {"1", "5", "2000"},
                  .options = machine.variables(),
                  .run_options = {}});
    int with_command = 0;
    int reads = 0;
    int locks = 0;
    for (const auto& [command, times] : commands_in(machine.log())) {
      const auto& [kind, bytes] = command;
      EXPECT_TRUE(kind != "put" || bytes > 32) << bytes;
      EXPECT_TRUE(kind != "piggyback" || bytes <= 32) << bytes;
      with_command += kind == "piggyback" && bytes > 8 ? times : 0;
      reads += kind == "get" && bytes == 8 ? times : 0;
      locks += kind == "cswap" ? times : 0;
    }
    EXPECT_GT(with_command, 0);
    EXPECT_EQ(reads > 0, named);
    EXPECT_EQ(locks > 0, !named);
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
  for (const std::uint32_t processes : {2U, 3U}) {
    const EmulatedTofu machine;
    run_workload({.processes = processes,
                  .program = "tofu_barrier_program",
                  .arguments = {"200", machine.beside()},
                  .options = machine.variables(),
                  .run_options = {}});
  }
  const EmulatedTofu without_file; // as on a machine of several nodes
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

// What the processes do when one of them is killed; every survivor is to say so once.
struct Death {
  const char* program;
  std::vector<std::string> arguments; // $SEED stands for one
  std::uint32_t processes;
  std::uint32_t first_victim;
};

void kill_one(const Death& death, std::uint64_t seed, const char* switches) {
  SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed << " " << switches << " " << death.program);
  std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const EmulatedTofu machine(switches);
  JobPlan job{.processes = death.processes, .program = death.program, .run_options = {"--survive"}};
  for (const std::string& each : death.arguments)
    job.arguments.push_back(each == "$SEED" ? std::to_string(seed) : each);
  Command command(job_command(job), machine.variables());
  std::map<std::uint32_t, pid_t> members;
  std::string output;
  for (std::uint32_t joined = 0; joined < death.processes;) {
    const std::string line = command.line();
    int process = 0;
    unsigned rank = 0;
    if (std::sscanf(line.c_str(), "pid %d of rank %u", &process, &rank) == 2) members[rank] = process;
    joined += line.starts_with("joined ") ? 1U : 0U;
    output += line + "\n";
    ASSERT_FALSE(line.empty() || line.starts_with("FAILED")) << output;
  }
  for (const std::uint64_t end = machine_ns() + random() % 5'000'000; machine_ns() < end;) {
  }
  const auto victim =
      static_cast<std::uint32_t>(death.first_victim + random() % (death.processes - death.first_victim));
  ::kill(members.at(victim), SIGKILL);
  output += command.rest();
  EXPECT_EQ(command.status(), 128 + SIGKILL) << output;
  EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
  std::map<unsigned, int> told;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    unsigned rank = 0;
    unsigned dead = 0;
    if (std::sscanf(line.c_str(), "rank %u saw %u fail", &rank, &dead) != 2) continue;
    EXPECT_EQ(dead, victim) << line;
    ++told[rank];
  }
  EXPECT_EQ(told.size(), death.processes - 1) << output;
  for (const auto& [rank, times] : told) EXPECT_EQ(times, 1) << "rank " << rank;
}

TEST(TofuJobs, OutliveAKilledProcess) {
  const std::vector<Death> deaths{
      {"lock_program", {"kill"}, 3, 1},
      {"traffic_program", {"$SEED", std::to_string(800 / kSlowdown), "1000000", "kill"}, 4, 0},
      {"await_program", {"alltoall"}, 4, 0},
      {"await_program", {"rendezvous"}, 3, 0},
      {"await_program", {"barrier"}, 4, 0}};
  for (const char* switches : {"dead_peer=told", "dead_peer=silent"})
    for (const Death& death : deaths)
      for (const std::uint64_t seed : new_seeds(1)) kill_one(death, seed, switches);
}

} // namespace
} // namespace heddle::tests
