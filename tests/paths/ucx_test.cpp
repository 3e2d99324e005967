// Real UCX over an adapter that is not there: its rc_verbs and ud_verbs connect through the preloaded library, by planned LIDs. Nothing is
// transferred, so its two processes never finish, and are ended when both have connected.
#include "base/descriptor.hpp"
#include "tests/command/command.hpp"
#include "tests/paths/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>

namespace heddle::tests {
namespace {

using ::testing::ElementsAre;

constexpr const char* kPerftest = "/usr/bin/ucx_perftest";

// Lines that several processes write into a file, as they come.
class Lines {
 public:
  explicit Lines(const std::string& file) {
    EXPECT_EQ(::mkfifo(file.c_str(), 0600), 0);
    pipe_ = base::Descriptor(::open(file.c_str(), O_RDWR | O_CLOEXEC)); // so it never ends
  }

  // Empty where none comes within a minute.
  [[nodiscard]] std::string next() const {
    std::string line;
    for (char c = 0; c != '\n'; line += c) {
      pollfd waiting{.fd = pipe_.number(), .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 60'000) != 1 || ::read(pipe_.number(), &c, 1) != 1) return "";
    }
    line.pop_back();
    return line;
  }

 private:
  base::Descriptor pipe_;
};

// That nobody listened on a moment ago.
std::string free_port() {
  const base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(socket.number(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return std::to_string(ntohs(address.sin_port));
}

class Ucx : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kPerftest)) GTEST_SKIP() << "ucx-utils is not installed; checks/setup installs it";
    job_.write("plan", paths::to_file(three_nodes()));
  }

  // One of the two, on the node with this LID; `other` is where the server is, for the client.
  [[nodiscard]] std::unique_ptr<Command> start(std::uint32_t lid, const std::string& port, const Words& other) const {
    Words command{HEDDLE_PROGRAM, "paths",
                  "--plan",       job_.file("plan"),
                  "--",           "/usr/bin/stdbuf",
                  "-oL",          kPerftest,
                  "-x",           GetParam(),
                  "-d",           "recorder0:1",
                  "-t",           "am_lat",
                  "-n",           "10",
                  "-w",           "0",
                  "-p",           port};
    command.insert(command.end(), other.begin(), other.end());
    Command::Variables variables = job_.on(lid, 3);
    variables.emplace_back("LD_PRELOAD", std::string(HEDDLE_STAND_INS) + "/libdevice_file.so");
    variables.emplace_back("UCX_LOG_LEVEL", "warn");
    return std::make_unique<Command>(command, variables);
  }

  PlannedJob job_;
};

TEST_P(Ucx, ConnectsByPlannedLids) {
  const Lines told(job_.file("record"));
  const std::string port = free_port();
  const auto server = start(8, port, {});
  EXPECT_EQ(server->line(), "Waiting for connection...");
  const auto other = start(40, port, {"127.0.0.1"});
  std::vector<std::string> lines{told.next(), told.next()};
  std::ranges::sort(lines);
  if (GetParam() == std::string("rc_verbs"))
    EXPECT_THAT(lines, ElementsAre("connect from 40 lid 15 bits 3", "connect from 8 lid 43 bits 7"));
  else
    EXPECT_THAT(lines, ElementsAre("address from 40 lid 15 bits 0", "address from 8 lid 43 bits 0"));
}
INSTANTIATE_TEST_SUITE_P(Of, Ucx, testing::Values("rc_verbs", "ud_verbs"),
                         [](const auto& transport) { return std::string(transport.param); });

} // namespace
} // namespace heddle::tests
