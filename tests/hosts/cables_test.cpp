// Faults on the wire between two machines while their processes talk in all ways at once: the cable is pulled for a while, or for good,
// or the system ends connections. The processes meet by a network of their own, so that the launcher hears of nothing unless it is to.
#include "tests/hosts/on_hosts.hpp"

#include "base/clock.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>

namespace heddle::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Whether the system can be told to ask often for room where there has been none for long (Linux 6.15).
bool asks_often() {
  const base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int longest = 0;
  socklen_t length = sizeof longest;
  return ::getsockopt(socket.number(), IPPROTO_TCP, 44 /* TCP_RTO_MAX_MS */, &longest, &length) == 0;
}

std::uint64_t machine_now() {
  return base::steady_ns();
}

class Cables : public OnSeparateHosts {
 protected:
  static constexpr std::uint32_t kPeers = 1; // the network by which the processes meet
  // Seconds, where a machine may be silent for two: a quiet machine takes half a second more, a busy one gets time. The system itself
  // would take minutes.
  static constexpr double kToldWithin = 10;

  // A job of lasting_program that is under way.
  void start(std::uint32_t on_each, const std::vector<std::string>& arguments, const Command::Variables& more = {},
             const std::vector<std::string>& run_options = {}) {
    const std::string pipe = machines_->folder() / "input";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::vector<std::string> rest = run_options;
    // Only they use it: the store and the agents keep to the network that leads to the launcher.
    rest.insert(rest.end(), {"--env", "TEST_GATE", "--", "/usr/bin/env", "HEDDLE_TCP_NETWORK=" + networks_,
                             test_program("lasting_program")});
    rest.insert(rest.end(), arguments.begin(), arguments.end());
    Command::Variables variables{{"HEDDLE_LOG_LEVEL", "info"}, {"TEST_GATE", machines_->folder() / "gate"}};
    variables.insert(variables.end(), more.begin(), more.end());
    command_ = std::make_unique<Command>(
        around("exec \"$0\" \"$@\" <" + pipe, machines_->run(machines_->hosts(on_each), rest)),
        machines_->variables(variables));
    input_ = base::Descriptor(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
    while (true) {
      const std::string line = command_->line();
      output_ += line + "\n";
      ASSERT_FALSE(line.empty()) << output_;
      if (line == "steady") break;
    }
    on_each_ = on_each;
  }
  // Reads on until so many lines with this have come.
  void await(int count, std::string_view part) {
    while (count > 0) {
      const std::string line = command_->line();
      if (line.empty()) return;
      output_ += line + "\n";
      if (line.find(part) != std::string::npos) --count;
    }
  }
  void await_deaths(int count) { await(count, " fail at "); }
  // Lets everybody leave.
  void finish(int status = 0) {
    std::ofstream(machines_->folder() / "gate") << "open\n";
    output_ += command_->rest();
    EXPECT_EQ(command_->status(), status) << output_;
    EXPECT_EQ(output_.find("FAILED"), std::string::npos) << output_;
    // TCP has served the other machine, by the network for it.
    const std::string whom = on_each_ == 1 ? " 1" : "s 2-3";
    for (std::uint32_t rank = 0; rank < on_each_; ++rank) {
      const std::string who = "heddle[" + std::to_string(rank) + "]: info: tcp serves rank";
      EXPECT_NE(output_.find(who + whom + " (listens at 10.78.0."), std::string::npos) << output_;
    }
  }

  // By rank: who was told of deaths, and the last of these in seconds after `since`.
  struct Told {
    int deaths = 0;
    double first = 0;
    double last = 0;
  };
  std::map<int, Told> told_since(std::uint64_t since) const {
    std::map<int, Told> told;
    for (const std::string& line : lines_of(output_)) {
      int rank = 0;
      int dead = 0;
      unsigned long long when = 0;
      if (std::sscanf(line.c_str(), "rank %d saw %d fail at %llu", &rank, &dead, &when) != 3) continue;
      const double after = (static_cast<double>(when) - static_cast<double>(since)) / 1e9;
      Told& entry = told[rank];
      if (entry.deaths++ == 0) entry.first = after;
      entry.last = after;
      std::printf("rank %d was told of %d after %.2f s\n", rank, dead, after);
    }
    return told;
  }
  std::uint64_t lost() const {
    std::uint64_t all = 0;
    for (const std::string& line : lines_of(output_)) {
      unsigned long long lost = 0;
      if (std::sscanf(line.c_str(), "rank %*d: received %*d, lost %llu", &lost) == 1) all += lost;
    }
    return all;
  }
  // To the other machine. Where the last were ended a moment ago, it waits until they have been made again.
  void reset_connections_of(std::uint32_t machine) const {
    const std::string other = "10.78.0." + std::to_string(3 - machine);
    const base::Deadline limit = base::deadline_in(seconds(20));
    // What it prints is what it has ended: a header, and then a line each.
    while (!machines_->in(machine, "test $(ss -K -t state established dst " + other + " | wc -l) -ge 2")) {
      ASSERT_LT(base::Clock::now(), limit) << "the connection was not made again";
      let_pass(milliseconds(5));
    }
  }
  static void let_pass(milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

  std::uint32_t on_each_ = 0;
  std::string networks_ = "10.78.0.0/24";
  std::unique_ptr<Command> command_;
  base::Descriptor input_;
  std::string output_;
};

const Command::Variables kSpinning{};
const Command::Variables kSleeping{{"HEDDLE_WAITING", "sleep"}, {"HEDDLE_SPIN_US", "0"}};

struct Waiting {
  const char* name;
  Command::Variables options;
};
void PrintTo(const Waiting& waiting, std::ostream* out) {
  *out << waiting.name;
}
class CablesWaiting : public Cables, public testing::WithParamInterface<Waiting> {
 protected:
  Command::Variables with_silence(int silence) const {
    Command::Variables all = GetParam().options;
    all.emplace_back("HEDDLE_TCP_SILENCE", std::to_string(silence));
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Manners, CablesWaiting,
                         testing::Values(Waiting{"Spinning", kSpinning}, Waiting{"Sleeping", kSleeping}),
                         [](const auto& waiting) { return std::string(waiting.param.name); });

// --- the cable is pulled, and plugged in again ---

TEST_P(CablesWaiting, ThatArePulledForAMomentLoseNothing) {
  start(1, {"whole"}, GetParam().options);
  for (const auto& [machine, time] : {std::pair{1U, 150}, std::pair{2U, 500}}) {
    machines_->pull_cable(machine, kPeers);
    let_pass(milliseconds(time));
    machines_->plug_cable(machine, kPeers);
    let_pass(milliseconds(100));
  }
  input_.reset();
  finish();
  EXPECT_EQ(lost(), 0U);
  EXPECT_TRUE(told_since(0).empty());
}

TEST_P(CablesWaiting, ThatArePulledForLongLoseNothingWhereTheSystemAsksOften) {
  if (!asks_often())
    GTEST_SKIP() << "before Linux 6.15 the system asks again only after as long as it has been in vain";
  start(1, {"whole"}, with_silence(10));
  machines_->pull_cable(2, kPeers);
  let_pass(seconds(7));
  machines_->plug_cable(2, kPeers);
  let_pass(seconds(2)); // the system sends again what was lost
  input_.reset();
  finish();
  EXPECT_EQ(lost(), 0U);
  EXPECT_TRUE(told_since(0).empty());
}

TEST_P(CablesWaiting, ThatStayPulledEndBothSidesInTime) {
  start(1, {"deaths", "1"}, with_silence(2));
  const std::uint64_t pulled = machine_now();
  machines_->pull_cable(2, kPeers);
  await_deaths(2);
  finish();
  const auto told = told_since(pulled);
  ASSERT_EQ(told.size(), 2U) << output_;
  for (const auto& [rank, each] : told) {
    EXPECT_EQ(each.deaths, 1);
    EXPECT_GT(each.first, 0.8) << "its last answer was a second before at most: it had not been silent for 2 s";
    EXPECT_LT(each.last, kToldWithin);
  }
}

TEST_P(CablesWaiting, ThatStayPulledUnderAMessageAreNoticedAsleep) {
  start(1, {"idle", "1"}, with_silence(2));
  const std::uint64_t pulled = machine_now();
  machines_->pull_cable(1, kPeers);
  ASSERT_EQ(::write(input_.number(), "x", 1), 1);
  await_deaths(2);
  finish();
  const auto told = told_since(pulled);
  ASSERT_EQ(told.size(), 2U) << output_;
  for (const auto& [rank, each] : told) EXPECT_LT(each.last, kToldWithin);
}

TEST_P(CablesWaiting, ThatStayPulledWhileNothingIsSaidEndBothSidesInTime) {
  start(1, {"idle", "1"}, with_silence(3));
  const std::uint64_t pulled = machine_now();
  machines_->pull_cable(1, kPeers);
  await_deaths(2);
  finish();
  const auto told = told_since(pulled);
  ASSERT_EQ(told.size(), 2U) << output_;
  for (const auto& [rank, each] : told) {
    EXPECT_EQ(each.deaths, 1);
    EXPECT_LT(each.last, kToldWithin);
  }
}

TEST_F(Cables, OfOneOfTwoNetworksLeaveTheOther) {
  networks_ = "10.78.0.0/24,10.77.0.0/24";
  start(1, {"cut"}, {{"HEDDLE_TCP_SILENCE", "2"}, {"HEDDLE_WAITING", "sleep"}});
  const std::uint64_t pulled = machine_now();
  machines_->pull_cable(2, 0); // that of the launcher, too, which would miss it later
  await(1, "rank 0 lost the connection to 1");
  machines_->plug_cable(2, 0);
  const double took = static_cast<double>(machine_now() - pulled) / 1e9;
  std::printf("noticed after %.2f s\n", took);
  EXPECT_LT(took, kToldWithin);
  input_.reset();
  finish();
  EXPECT_TRUE(told_since(0).empty());
}

// --- a machine vanishes ---

TEST_F(Cables, OfAMachineThatDiesBehindThem) {
  Command::Variables options = kSleeping;
  options.emplace_back("HEDDLE_TCP_SILENCE", "2");
  start(2, {"deaths", "2"}, options, {"--survive"});
  const std::uint64_t pulled = machine_now();
  machines_->pull_cable(2, kPeers);
  machines_->pull_cable(2);
  machines_->kill(2);
  await_deaths(4);
  finish(128 + SIGKILL);
  const auto told = told_since(pulled);
  const double took = static_cast<double>(machine_now() - pulled) / 1e9;
  std::printf("the launcher has ended after %.2f s\n", took);
  ASSERT_EQ(told.size(), 2U) << output_;
  for (const auto& [rank, each] : told) {
    EXPECT_LT(rank, 2);
    EXPECT_EQ(each.deaths, 2);
    EXPECT_LT(each.last, kToldWithin);
  }
  EXPECT_LT(took, 15); // ten, on a machine that is not busy with anything else
  EXPECT_EQ(machines_->living(), Lines{});
}

TEST_F(Cables, OfAMachineThatHangsBehindThem) {
  Command::Variables options = kSleeping;
  options.emplace_back("HEDDLE_TCP_SILENCE", "2");
  start(2, {"deaths", "2"}, options, {"--survive"});
  for (const int rank : {2, 3}) ASSERT_EQ(::kill(machines_->process_of(rank), SIGSTOP), 0);
  let_pass(seconds(3)); // they take nothing any more: the longer, the more seldom the system asks whether they do again
  const std::uint64_t pulled = machine_now();
  machines_->pull_cable(2, kPeers);
  machines_->pull_cable(2);
  await_deaths(4);
  finish(128 + SIGKILL);
  const auto told = told_since(pulled);
  ASSERT_EQ(told.size(), 2U) << output_;
  for (const auto& [rank, each] : told) EXPECT_LT(each.last, asks_often() ? kToldWithin : 20);
  EXPECT_EQ(machines_->left_after(seconds(10)), Lines{}); // its agent misses the launcher, and ends them
  std::printf("nothing is left after %.2f s\n", static_cast<double>(machine_now() - pulled) / 1e9);
}

// --- connections are reset while both live ---

TEST_F(Cables, WhoseConnectionsAreResetLoseNothingButWhatWasUnderWay) {
  start(1, {"cut"});
  if (!machines_->in(1, "ss -K dst 10.78.0.77 dport = 1 >/dev/null 2>&1")) {
    input_.reset();
    finish();
    GTEST_SKIP() << "the system ends no connections by `ss -K`";
  }
  for (int cut = 0; cut < 6; ++cut) {
    reset_connections_of(1 + static_cast<std::uint32_t>(cut % 2));
    let_pass(milliseconds(100));
  }
  input_.reset();
  finish();
  EXPECT_GT(lost(), 0U);
  EXPECT_TRUE(told_since(0).empty());
}

} // namespace
} // namespace heddle::tests
