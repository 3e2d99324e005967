// What a process that belongs to no job, or only claims to, can do at the ports of one that runs.
#pragma once

#include "auth/introduction.hpp"
#include "launch/agent_wire.hpp"
#include "net/sockets.hpp"
#include "store/wire.hpp"
#include "tests/hosts/on_hosts.hpp"
#include "translators/tcp/frames.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace heddle::tests {

using auth::Introduction;

inline constexpr std::array kServices{store::kService, launch::kAgentService, translators::tcp::kService};

inline std::string all_of(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf(); // a process that has just ended has nothing to read; an iterator would throw
  return text.str();
}

// Of one process: where it listens by TCP at loopback.
inline std::set<std::uint16_t> ports_of(const std::string& process) {
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
  std::array<std::byte, auth::kMessageBytes> first{}; // of them
};

// What the other side says to `words`, until it closes the connection.
inline Answer answer_to(std::uint16_t port, std::span<const std::byte> words) {
  auto socket = net::begin_connect({.host = net::loopback(), .port = port});
  if (!socket) return {};
  pollfd entry{.fd = socket->number(), .events = POLLOUT, .revents = 0};
  ::poll(&entry, 1, 10'000);
  [[maybe_unused]] const auto sent = ::send(socket->number(), words.data(), words.size(), MSG_NOSIGNAL);
  Answer answer;
  for (entry.events = POLLIN; ::poll(&entry, 1, 20'000) == 1;) {
    std::array<char, 512> part{};
    const ssize_t got = ::recv(socket->number(), part.data(), part.size(), 0);
    answer.closed = got <= 0;
    if (answer.closed) break;
    const auto room = std::span(answer.first).subspan(std::min(answer.bytes, answer.first.size()));
    std::memcpy(room.data(), part.data(), std::min(room.size(), static_cast<std::size_t>(got)));
    answer.bytes += static_cast<std::size_t>(got);
  }
  return answer;
}

// An introduction by somebody with this secret; all that it has said. Empty where it was not let in. `kept`: the connection.
inline std::vector<std::byte> introduce(std::uint16_t port, const auth::Secret& secret, auth::Service service,
                                        base::Descriptor* kept = nullptr) {
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
  introduction.take_place(socket->number());
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
    if (state != Introduction::State::proven) continue;
    if (kept != nullptr) *kept = std::move(*socket);
    return said;
  }
  return {};
}

// A job of four processes that goes on, and its ports.
class AroundAJob : public WithMachines {
 protected:
  void begin(const std::string& before = "") {
    make(Form::pretended, 2);
    const std::string pipe = machines_->folder() / "input";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    command_ = run_around(before + "exec \"$0\" \"$@\" <" + pipe, 2, {"--", test_program("steady_program")});
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
  // The job has gone on, and ends well; what it has said beside.
  Lines finish() {
    input_.reset();
    Lines said = lines_of(command_->rest());
    unsigned long rounds = 0;
    EXPECT_EQ(std::erase_if(
                  said, [&](const std::string& line) { return std::sscanf(line.c_str(), "%lu rounds", &rounds) == 1; }),
              1U);
    EXPECT_EQ(command_->status(), 0);
    return said;
  }
  // What listens at a port.
  auth::Service service_at(std::uint16_t port) const {
    for (const auth::Service service : kServices)
      if (!introduce(port, secret_, service).empty()) return service;
    ADD_FAILURE() << "no service at port " << port;
    return {};
  }

  std::unique_ptr<Command> command_;
  base::Descriptor input_;
  std::set<std::uint16_t> ports_;
  auth::Secret secret_;
};

} // namespace heddle::tests
