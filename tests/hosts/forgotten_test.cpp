// Connections of which one side knows nothing any more: the process has gone while the cable was pulled, so that no word of it came. The
// other finds out in time, whoever stands at that port now. And listeners of another version: one line says so.
#include "tests/hosts/on_hosts.hpp"

#include "auth/secret.hpp"
#include "base/clock.hpp"
#include "launch/agent.hpp"
#include "translators/tcp/frames.hpp"

#include <csignal>
#include <cstdio>
#include <fstream>

namespace heddle::tests {
namespace {

const std::string kForgotten = test_program("forgotten_program");
constexpr const char* kPort = "20000";
constexpr double kForgottenWithin =
    7; // seconds; two until it is asked, two for an answer, and what a busy machine takes

class ForgottenProcesses : public OnSeparateHosts {
 protected:
  Command::Variables variables() const {
    return machines_->variables({{"HEDDLE_SECRET", secret_},
                                 {"HEDDLE_TRANSLATORS", "tcp"},
                                 {"HEDDLE_TCP_NETWORK", "10.77.0.0/24"},
                                 {"HEDDLE_TCP_SILENCE", "2"},
                                 {"HEDDLE_WAITING", "sleep"},
                                 {"HEDDLE_SPIN_US", "0"}});
  }
  std::unique_ptr<Command> start(std::uint32_t machine, std::vector<std::string> arguments) const {
    Command::Variables all = variables();
    if (machine == 2) all.emplace_back("HEDDLE_TCP_PORTS", kPort);
    arguments.insert(arguments.begin(), kForgotten);
    return std::make_unique<Command>(machines_->at(machine, arguments), all);
  }
  // Those of forgotten_program that do this.
  void kill_those_that(const std::string& what) const {
    for (const std::string& each : machines_->living())
      if (each.find(": " + kForgotten + " " + what) != std::string::npos) ::kill(std::atoi(each.c_str()), SIGKILL);
  }

  std::string secret_ = auth::Secret::draw().text();
};

class Forgotten : public ForgottenProcesses, public testing::WithParamInterface<const char*> {};

// Nothing is under way any more for a program that sleeps in its own loop, and nothing ever arrives.
TEST_F(ForgottenProcesses, ToWhomTheLastWordWasSaidAreMissedInALoopOfTheProgramsOwn) {
  const std::string file = machines_->folder() / "name";
  const std::string gate = machines_->folder() / "gate";
  auto server = start(2, {"serve", file});
  ASSERT_EQ(server->line(), "serves");
  auto caller = start(1, {"post", file, gate});
  ASSERT_EQ(caller->line(), "met");
  machines_->pull_cable(2);
  std::ofstream(gate) << "open\n";
  ASSERT_EQ(caller->line(), "posted");
  const std::uint64_t posted = base::steady_ns();
  unsigned long long when = 0;
  const std::string said = caller->line();
  ASSERT_EQ(std::sscanf(said.c_str(), "failed at %llu", &when), 1) << said;
  const double took = (static_cast<double>(when) - static_cast<double>(posted)) / 1e9;
  std::printf("missed after %.2f s\n", took);
  EXPECT_LT(took, kForgottenWithin);
  EXPECT_EQ(caller->status(), 0);
  kill_those_that("serve");
  server->status();
}

TEST_P(Forgotten, BehindAPulledCableAreMissedInTime) {
  if (!machines_->in(2, "ss -K dst 10.77.0.77 dport = 1 >/dev/null 2>&1"))
    GTEST_SKIP() << "the system forgets no connections by `ss -K`";
  const std::string file = machines_->folder() / "name";
  auto server = start(2, {"serve", file});
  ASSERT_EQ(server->line(), "serves");
  auto caller = start(1, {"call", file});
  ASSERT_EQ(caller->line(), "met");
  machines_->pull_cable(2);
  kill_those_that("serve");
  server->status();
  // The system would say goodbye for it as soon as it can.
  ASSERT_TRUE(machines_->in(2, "ss -K dst 10.77.0.1 >/dev/null"));
  const std::string instead = GetParam();
  std::unique_ptr<Command> other;
  if (instead == "serve")
    other = start(2, {"serve", file + ".other"});
  else if (instead != "nobody")
    other = start(2, {"stand", kPort, instead});
  if (other != nullptr) {
    ASSERT_EQ(other->line(), instead == "serve" ? "serves" : "stands at 20000");
  }
  const std::uint64_t plugged = base::steady_ns();
  machines_->plug_cable(2);
  unsigned long long when = 0;
  std::string said = caller->line();
  const bool warned = said.find("warning: no connection to 10.77.0.2:20000: ") != std::string::npos;
  EXPECT_EQ(warned, instead == "serve" || instead == "version" || instead == "order") << said;
  if (warned) {
    const std::string why = instead == "serve"     ? "another process listens there now"
                            : instead == "version" ? "it speaks version 99 of the protocol, this process " +
                                                         std::to_string(translators::tcp::kService.version)
                                                   : "its machine has another byte order";
    EXPECT_TRUE(said.ends_with(why)) << said;
    said = caller->line();
  }
  ASSERT_EQ(std::sscanf(said.c_str(), "failed at %llu", &when), 1) << said;
  const double took = (static_cast<double>(when) - static_cast<double>(plugged)) / 1e9;
  std::printf("missed after %.2f s\n", took);
  EXPECT_LT(took, kForgottenWithin);
  EXPECT_EQ(caller->status(), 0);
  if (other != nullptr) kill_those_that(instead == "serve" ? "serve" : "stand");
}

INSTANTIATE_TEST_SUITE_P(WithInTheirPlace, Forgotten, testing::Values("nobody", "serve", "version", "order"),
                         [](const auto& instead) { return std::string(instead.param); });

// --- listeners of another version ---

class OtherVersion : public WithMachines {
 protected:
  void SetUp() override {
    make(Form::pretended, 1);
    listener_ = std::make_unique<Command>(std::vector<std::string>{kForgotten, "stand", "0", "version"},
                                          machines_->variables());
    unsigned port = 0;
    ASSERT_EQ(std::sscanf(listener_->line().c_str(), "stands at %u", &port), 1);
    port_ = static_cast<std::uint16_t>(port);
  }
  void TearDown() override {
    listener_->signal(SIGKILL);
    listener_->status();
    WithMachines::TearDown();
  }
  std::unique_ptr<Command> listener_;
  std::uint16_t port_ = 0;
};

TEST_F(OtherVersion, AtTheStoreIsSaidInOneLine) {
  Command process({test_program("steady_program")}, {{"HEDDLE_RANK", "0"},
                                                     {"HEDDLE_SIZE", "2"},
                                                     {"HEDDLE_JOB", "a_job"},
                                                     {"HEDDLE_STORE", "tcp:127.0.0.1:" + std::to_string(port_)},
                                                     {"HEDDLE_SECRET", auth::Secret::draw().text()}});
  const Lines said = lines_of(process.rest());
  ASSERT_EQ(said.size(), 1U) << testing::PrintToString(said);
  EXPECT_NE(said[0].find("it speaks version 99 of the protocol, this process "), std::string::npos) << said[0];
  EXPECT_EQ(process.status(), 1);
}

TEST_F(OtherVersion, AtTheLauncherIsSaidByTheAgentInOneLine) {
  const launch::AgentTicket ticket{
      .secret = auth::Secret::draw(), .launcher = {.host = net::loopback(), .port = port_}, .host = 0};
  const std::string file = machines_->folder() / "ticket";
  std::ofstream(file) << ticket.line();
  Command agent({"/bin/sh", "-c", "exec \"$0\" agent <" + file, HEDDLE_PROGRAM});
  const Lines said = lines_of(agent.rest());
  ASSERT_EQ(said.size(), 1U) << testing::PrintToString(said);
  EXPECT_NE(said[0].find("it speaks version 99 of the protocol, this process "), std::string::npos) << said[0];
  EXPECT_NE(agent.status(), 0);
}

} // namespace
} // namespace heddle::tests
