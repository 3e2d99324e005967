// Random traffic, one-sided operations, patterns, all-to-all and deaths on several machines: shared memory inside of each, TCP
// across, or TCP alone. Every job says which served whom, and that is checked.
#include "base/rank_list.hpp"
#include "net/sockets.hpp"
#include "tests/hosts/on_hosts.hpp"
#include "tests/job/job.hpp"

#include <csignal>
#include <cstdio>
#include <map>
#include <random>

namespace heddle::tests {
namespace {

enum class Networks { mixed, tcp_alone };

struct Work {
  const char* name;
  std::uint32_t machines = 2;
  std::uint32_t on_each = 2;
  std::string program;
  std::vector<std::string> arguments; // $SEED stands for one
  Command::Variables options{};
  Networks networks = Networks::mixed;
  bool two_interfaces = false;
  bool ipv6 = false;        // first, and alone
  bool fills_both = false;  // whatever is drawn
  bool keeps_first = false; // rank 0 is never the one that dies
};
void PrintTo(const Work& work, std::ostream* out) {
  *out << work.name;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  return std::string(ranks.size() == 1 ? " serves rank " : " serves ranks ") + base::print_ranks(ranks) + " (";
}

// What a rank says of its networks, as log level info tells it.
void expect_networks(const std::string& output, const Work& work) {
  const std::uint32_t size = work.machines * work.on_each;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    std::vector<std::uint32_t> near;
    std::vector<std::uint32_t> far;
    for (std::uint32_t other = 0; other < size; ++other) {
      if (other == rank) continue;
      const bool same = other / work.on_each == rank / work.on_each && work.networks == Networks::mixed;
      (same ? near : far).push_back(other);
    }
    const std::string who = "heddle[" + std::to_string(rank) + "]: info: ";
    if (!near.empty()) {
      EXPECT_NE(output.find(who + "shm" + ranks_text(near)), std::string::npos) << "rank " << rank;
    }
    EXPECT_NE(output.find(who + "tcp" + ranks_text(far)), std::string::npos) << "rank " << rank << "\n" << output;
  }
}

class WorkOnHosts : public WithMachines, public testing::WithParamInterface<std::tuple<Form, Work>> {
 protected:
  void SetUp() override { make(std::get<0>(GetParam()), work().machines); }
  static const Work& work() { return std::get<1>(GetParam()); }

  std::unique_ptr<Command> start(std::uint64_t seed, const std::vector<std::string>& run_options = {}) {
    std::vector<std::string> rest = run_options;
    rest.insert(rest.end(), {"--", test_program(work().program)});
    for (const std::string& each : work().arguments) rest.push_back(each == "$SEED" ? std::to_string(seed) : each);
    Command::Variables options = work().options;
    options.emplace_back("HEDDLE_LOG_LEVEL", "info");
    if (work().networks == Networks::tcp_alone) options.emplace_back("HEDDLE_TRANSLATORS", "tcp");
    if (work().ipv6) options.emplace_back("HEDDLE_TCP_NETWORK", machines_->separate() ? "fd77::/64" : "::1");
    if (work().two_interfaces)
      options.emplace_back("HEDDLE_TCP_NETWORK", machines_->separate() ? "e0,e1" : "127.0.0.1,::1");
    return run(work().on_each, rest, options);
  }
  void expect_second_interface_used(const std::string& output) const {
    EXPECT_NE(output.find(machines_->separate() ? "; also at 10.78.0.1:" : "; also at [::1]:"), std::string::npos)
        << output;
    if (!machines_->separate() || !work().fills_both) return;
    EXPECT_TRUE(machines_->in(1, "set -- $(grep e1: /proc/net/dev); test $2 -gt 100000; test ${10} -gt 100000"))
        << "received, sent";
  }
};

std::string name_of_work(const testing::TestParamInfo<std::tuple<Form, Work>>& info) {
  return std::string(std::get<1>(info.param).name) +
         (std::get<0>(info.param) == Form::separate ? "Separate" : "Pretended");
}

bool knows_ipv6() {
  net::Endpoint place{.host = in6addr_loopback};
  return net::listen_at(place).has_value();
}

TEST_P(WorkOnHosts, IsDoneWithoutFault) {
  if (work().ipv6 && !knows_ipv6()) GTEST_SKIP() << "the system has no IPv6";
  for (const std::uint64_t seed : new_seeds(1)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    auto command = start(seed);
    const std::string output = command->rest();
    EXPECT_EQ(command->status(), 0) << output;
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    expect_networks(output, work());
    if (work().two_interfaces) expect_second_interface_used(output);
    if (work().ipv6) {
      EXPECT_NE(output.find(machines_->separate() ? "(listens at [fd77::1]:" : "(listens at [::1]:"), std::string::npos)
          << output;
    }
  }
}

std::string less(std::uint64_t count) {
  return std::to_string(count / kSlowdown);
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, WorkOnHosts,
    testing::Combine(
        kBothForms,
        testing::Values(
            Work{.name = "TrafficOfTwo",
                 .on_each = 1,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(500), "4194304"}},
            Work{.name = "TrafficOfFour", .program = "traffic_program", .arguments = {"$SEED", less(300), "1048576"}},
            Work{.name = "TrafficOfFourByTcpAlone",
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(300), "1048576"},
                 .networks = Networks::tcp_alone},
            // IPv6 first: each process is found by it.
            Work{.name = "TrafficByIPv6",
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(300), "1048576"},
                 .ipv6 = true},
            Work{.name = "TrafficOfSleepers",
                 .machines = 3,
                 .on_each = 2,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(150), "262144"},
                 .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}},
            Work{.name = "TrafficOnTinyRings",
                 .machines = 3,
                 .on_each = 2,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(150), "262144"},
                 .options = {{"HEDDLE_RING_BYTES", "4KiB"},
                             {"HEDDLE_EAGER_LIMIT", "512"},
                             {"HEDDLE_CHUNK_BYTES", "4KiB"}}},
            Work{.name = "TrafficOfThirtyTwo",
                 .machines = 4,
                 .on_each = 8,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(40), "131072"}},
            Work{.name = "TrafficByTwoInterfaces",
                 .machines = 3,
                 .on_each = 1,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(900), "2097152"},
                 .two_interfaces = true},
            Work{.name = "OneSided", .program = "onesided_program", .arguments = {"$SEED", less(15)}},
            Work{.name = "OneSidedByTcpAlone",
                 .machines = 3,
                 .on_each = 1,
                 .program = "onesided_program",
                 .arguments = {"$SEED", less(15)},
                 .networks = Networks::tcp_alone},
            Work{.name = "InterleavedWords",
                 .machines = 3,
                 .on_each = 1,
                 .program = "region_program",
                 .arguments = {less(20)}},
            Work{
                .name = "Patterns", .machines = 3, .program = "pattern_program", .arguments = {"halo", "100000", "20"}},
            Work{.name = "PatternsByTwoInterfaces",
                 .machines = 3,
                 .on_each = 1,
                 .program = "pattern_program",
                 .arguments = {"halo", "100000", "20"},
                 .two_interfaces = true,
                 .fills_both = true},
            Work{.name = "StridedPatterns", .program = "pattern_program", .arguments = {"strided", "3000", "20"}},
            Work{
                .name = "AllToAll", .machines = 4, .program = "exchange_program", .arguments = {"$SEED", "6", "20000"}},
            Work{.name = "AllToAllByTcpAlone",
                 .machines = 3,
                 .program = "exchange_program",
                 .arguments = {"$SEED", "6", "200000"},
                 .networks = Networks::tcp_alone})),
    name_of_work);

// --- deaths ---

class DeathsOnHosts : public WorkOnHosts {};

TEST_P(DeathsOnHosts, AreToldToEverySurvivorOnceAndTheyGoOn) {
  for (const std::uint64_t seed : new_seeds(2)) {
    SCOPED_TRACE(testing::Message() << "TEST_SEED=" << seed);
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    const int size = static_cast<int>(work().machines * work().on_each);
    auto command = start(seed, {"--survive"});
    std::string output;
    for (int joined = 0; joined < size;) {
      const std::string line = command->line();
      joined += line.starts_with("joined ") ? 1 : 0;
      output += line + "\n";
      ASSERT_FALSE(line.empty()) << output;
    }
    const int first = work().keeps_first ? 1 : 0;
    const int victim = first + static_cast<int>(random() % static_cast<std::uint64_t>(size - first));
    for (const std::uint64_t end = machine_ns() + random() % 20'000'000; machine_ns() < end;) {
    }
    const pid_t process = machines_->process_of(victim);
    ASSERT_GT(process, 0);
    const std::uint64_t killed = machine_ns();
    ::kill(process, SIGKILL);
    output += command->rest();
    EXPECT_EQ(command->status(), 128 + SIGKILL) << output;
    EXPECT_EQ(output.find("FAILED"), std::string::npos) << output;
    std::map<int, int> told;
    for (const std::string& line : lines_of(output)) {
      int rank = 0;
      int dead = 0;
      unsigned long long when = 0;
      if (std::sscanf(line.c_str(), "rank %d saw %d fail at %llu", &rank, &dead, &when) < 2) continue;
      EXPECT_EQ(dead, victim) << line;
      if (when != 0) { // some 50 ms, on a machine that is not busy with anything else
        EXPECT_LT(static_cast<double>(when) - static_cast<double>(killed), 6e9 * kSlowdown) << line;
      }
      ++told[rank];
    }
    EXPECT_EQ(told.size(), static_cast<std::size_t>(size - 1)) << output;
    for (const auto& [rank, times] : told) EXPECT_EQ(times, 1) << "rank " << rank;
    expect_networks(output, work());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Moments, DeathsOnHosts,
    testing::Combine(
        kBothForms,
        testing::Values(
            Work{.name = "InTraffic",
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(800), "1000000", "kill"}},
            Work{.name = "InTrafficByTcpAlone",
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(800), "1000000", "kill"},
                 .networks = Networks::tcp_alone},
            Work{.name = "InTrafficByTwoInterfaces",
                 .machines = 3,
                 .on_each = 1,
                 .program = "traffic_program",
                 .arguments = {"$SEED", less(800), "1000000", "kill"},
                 .two_interfaces = true},
            Work{.name = "InExchanges", .machines = 3, .program = "await_program", .arguments = {"alltoall"}},
            Work{.name = "InRendezvous", .program = "await_program", .arguments = {"rendezvous"}},
            Work{.name = "InBarriers", .program = "await_program", .arguments = {"barrier"}},
            Work{.name = "InOneSidedOperations", .program = "await_program", .arguments = {"onesided"}},
            Work{.name = "InOneSidedOperationsByTcpAlone",
                 .machines = 3,
                 .on_each = 1,
                 .program = "await_program",
                 .arguments = {"onesided"},
                 .networks = Networks::tcp_alone},
            Work{.name = "InLocks", .program = "lock_program", .arguments = {"kill"}, .keeps_first = true},
            Work{.name = "InLocksByTcpAlone",
                 .machines = 3,
                 .on_each = 1,
                 .program = "lock_program",
                 .arguments = {"kill"},
                 .networks = Networks::tcp_alone,
                 .keeps_first = true},
            Work{.name = "InAPattern", .program = "await_program", .arguments = {"pattern"}},
            Work{.name = "InAPatternByTcpAlone",
                 .machines = 3,
                 .on_each = 1,
                 .program = "await_program",
                 .arguments = {"pattern"},
                 .networks = Networks::tcp_alone},
            Work{.name = "WhileAllSleep",
                 .program = "await_program",
                 .arguments = {"sleep"},
                 .options = {{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}}})),
    name_of_work);

} // namespace
} // namespace heddle::tests
