// Who may talk to a running job: at every port of the launcher and of the processes, strangers get a closed connection, and the job
// goes on.
#include "auth/introduction.hpp"
#include "launch/agent_wire.hpp"
#include "net/sockets.hpp"
#include "store/wire.hpp"
#include "tests/hosts/on_hosts.hpp"
#include "translators/tcp/frames.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace heddle::tests {
namespace {

using auth::Introduction;

constexpr std::array kServices{store::kService, launch::kAgentService, translators::tcp::kService};

std::string all_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Of one process: where it listens by TCP at loopback.
std::set<std::uint16_t> ports_of(const std::string& process) {
  std::set<std::string> sockets;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + process + "/fd", gone))
    sockets.insert(std::filesystem::read_symlink(entry, gone).string());
  std::set<std::uint16_t> ports;
  std::istringstream lines(all_of("/proc/" + process + "/net/tcp"));
  for (std::string line; std::getline(lines, line);) {
    unsigned port = 0;
    unsigned state = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), " %*d: %*x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &port, &state, &inode) ==
            3 &&
        state == 0x0a && sockets.contains("socket:[" + std::to_string(inode) + "]"))
      ports.insert(static_cast<std::uint16_t>(port));
  }
  return ports;
}

struct Answer {
  std::size_t bytes = 0;
  bool closed = false;
};

// What the other side says to `words`, until it closes the connection.
Answer answer_to(std::uint16_t port, std::span<const std::byte> words) {
  auto socket = net::begin_connect({.host = net::loopback(), .port = port});
  if (!socket) return {};
  pollfd entry{.fd = socket->number(), .events = POLLOUT, .revents = 0};
  ::poll(&entry, 1, 10'000);
  [[maybe_unused]] const auto sent = ::send(socket->number(), words.data(), words.size(), MSG_NOSIGNAL);
  Answer answer;
  for (entry.events = POLLIN; ::poll(&entry, 1, 20'000) == 1;) {
    std::array<char, 512> part{};
    const ssize_t got = ::recv(socket->number(), part.data(), part.size(), 0);
    if (got <= 0) return {.bytes = answer.bytes, .closed = true};
    answer.bytes += static_cast<std::size_t>(got);
  }
  return answer;
}

// An introduction by somebody with this secret; all that it has said. Empty where it was not let in.
std::vector<std::byte> introduce(std::uint16_t port, const auth::Secret& secret, auth::Service service) {
  auto socket = net::begin_connect({.host = net::loopback(), .port = port});
  if (!socket) return {};
  Introduction introduction(Introduction::Role::calls, secret, service);
  std::vector<std::byte> said;
  const auto say = [&] {
    const auto reply = introduction.reply();
    said.insert(said.end(), reply.begin(), reply.end());
    return ::send(socket->number(), reply.data(), reply.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(reply.size());
  };
  pollfd entry{.fd = socket->number(), .events = POLLOUT, .revents = 0};
  ::poll(&entry, 1, 10'000);
  static_cast<void>(introduction.begin());
  entry.events = POLLIN;
  for (auto state = Introduction::State::goes_on; state == Introduction::State::goes_on;) {
    if (!introduction.reply().empty() && !say()) return {};
    std::array<std::byte, auth::kMessageBytes> message{};
    for (std::size_t have = 0; have < message.size();) {
      if (::poll(&entry, 1, 20'000) != 1) return {};
      const ssize_t got = ::recv(socket->number(), message.data() + have, message.size() - have, 0);
      if (got <= 0) return {};
      have += static_cast<std::size_t>(got);
    }
    state = introduction.take(message);
    if (state == Introduction::State::proven) return said;
  }
  return {};
}

class Strangers : public WithMachines {
 protected:
  void SetUp() override {
    make(Form::pretended, 2);
    const std::string pipe = machines_->folder() / "input";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    command_ = run_around("exec \"$0\" \"$@\" <" + pipe, 2, {"--", test_program("steady_program")});
    input_ = base::Descriptor(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(command_->line(), "steady");
    for (const std::string& each : machines_->living())
      for (const std::uint16_t port : ports_of(each.substr(0, each.find(':')))) ports_.insert(port);
    ASSERT_EQ(ports_.size(), 2U + 4U); // of the store, for agents, and of each process
    const std::string text = all_of("/proc/" + std::to_string(machines_->process_of(0)) + "/environ");
    const std::string name = "HEDDLE_SECRET=";
    const auto secret = auth::Secret::parse(text.substr(text.find(name) + name.size(), 64));
    ASSERT_TRUE(secret);
    secret_ = *secret;
  }
  // The job has gone on, and ends well.
  void TearDown() override {
    input_.reset();
    unsigned long rounds = 0;
    const std::string last = command_->rest();
    EXPECT_EQ(std::sscanf(last.c_str(), "%lu rounds\n", &rounds), 1) << last;
    EXPECT_EQ(lines_of(last).size(), 1U) << last;
    EXPECT_EQ(command_->status(), 0);
    WithMachines::TearDown();
  }

  std::unique_ptr<Command> command_;
  base::Descriptor input_;
  std::set<std::uint16_t> ports_;
  auth::Secret secret_;
};

TEST_F(Strangers, GetAClosedConnectionAndNoWord) {
  for (const std::uint16_t port : ports_)
    for (const std::string& text :
         {std::string("GET / HTTP/1.1\r\nHost: example.org\r\nConnection: keep-alive\r\n\r\n"),
          std::string(5000, '\xff'), std::string("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2\r\n"),
          std::string(4096, '\0')}) {
      const Answer answer = answer_to(port, std::as_bytes(std::span(text)));
      EXPECT_TRUE(answer.closed) << port;
      EXPECT_EQ(answer.bytes, 0U) << port;
    }
}

TEST_F(Strangers, MayLookWhichPortsAreOpen) {
  for (int i = 0; i < 50; ++i)
    for (const std::uint16_t port : ports_) EXPECT_TRUE(net::begin_connect({.host = net::loopback(), .port = port}));
}

TEST_F(Strangers, WithAnotherSecretAreNotLetIn) {
  for (const std::uint16_t port : ports_)
    for (const auth::Service service : kServices)
      EXPECT_TRUE(introduce(port, auth::Secret::draw(), service).empty()) << port;
}

TEST_F(Strangers, WhoRepeatWhatAFriendSaidAreNotLetIn) {
  for (const std::uint16_t port : ports_) {
    int services = 0;
    for (const auth::Service service : kServices) {
      const std::vector<std::byte> said = introduce(port, secret_, service);
      if (said.empty()) continue;
      ++services;
      const Answer answer = answer_to(port, said);
      EXPECT_TRUE(answer.closed) << port;
      EXPECT_EQ(answer.bytes, auth::kMessageBytes) << "a challenge, and no more";
    }
    EXPECT_EQ(services, 1) << port;
  }
}

TEST_F(Strangers, WhoSayNothingKeepNobodyOut) {
  std::vector<base::Descriptor> silent;
  for (int i = 0; i < 100; ++i)
    for (const std::uint16_t port : ports_) {
      auto socket = net::begin_connect({.host = net::loopback(), .port = port});
      ASSERT_TRUE(socket);
      [[maybe_unused]] const auto sent = ::send(socket->number(), "h", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      silent.push_back(std::move(*socket));
    }
  for (const std::uint16_t port : ports_) { // friends come in
    int services = 0;
    for (const auth::Service service : kServices) services += introduce(port, secret_, service).empty() ? 0 : 1;
    EXPECT_EQ(services, 1) << port;
  }
  for (const base::Descriptor& each : silent) { // and these are closed
    pollfd entry{.fd = each.number(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&entry, 1, 20'000), 1);
    char byte = 0;
    EXPECT_LE(::recv(each.number(), &byte, 1, 0), 0);
  }
}

} // namespace
} // namespace heddle::tests
