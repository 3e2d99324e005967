// Between a process and its launcher: hears what the process says by PMI, and passes on all of it both ways.
#pragma once

#include "tests/job/member.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace heddle::tests {

class Tap {
 public:
  Tap() {
    const char* real = std::getenv("PMI_FD");
    demand(real != nullptr, "a launcher that sets PMI_FD");
    demand(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) == 0, "a pair of sockets");
    ::setenv("PMI_FD", std::to_string(ends_[0]).c_str(), 1);
    thread_ = std::thread([this, launcher = std::atoi(real)] { pass_on(launcher); });
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
  ~Tap() { end(); }

  // How many requests there were; none can follow.
  std::size_t requests() {
    end();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = said_.find("cmd=", at)) != std::string::npos; ++at) ++count;
    return count;
  }

 private:
  void end() {
    ::shutdown(ends_[0], SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }

  void pass_on(int launcher) {
    std::array<pollfd, 2> sides{
        {{.fd = ends_[1], .events = POLLIN, .revents = 0}, {.fd = launcher, .events = POLLIN, .revents = 0}}};
    while (::poll(sides.data(), sides.size(), -1) > 0) {
      for (std::size_t i = 0; i < sides.size(); ++i) {
        if (sides[i].revents == 0) continue;
        std::array<char, 4096> bytes;
        const ssize_t got = ::read(sides[i].fd, bytes.data(), bytes.size());
        if (got <= 0) return;
        const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
        if (i == 0) said_ += text;
        demand(::write(sides[1 - i].fd, text.data(), text.size()) == got, "what was said is passed on");
      }
    }
  }

  std::array<int, 2> ends_{};
  std::string said_;
  std::thread thread_;
};

} // namespace heddle::tests
