// A launcher that speaks PMI by a script, on a socket of this process's.
#pragma once

#include "store/pmi.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::store {

// What it hears at least, and answers.
struct Step {
  std::string hears;
  std::string says;
};
using Script = std::vector<Step>;
enum class Then : std::uint8_t { goes, stalls };

class ScriptedLauncher {
 public:
  // At the end of its script it hears one request more, and closes the connection or leaves it open.
  explicit ScriptedLauncher(Script script, Then then = Then::goes, std::size_t at_once = 1 << 20) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0);
    thread_ = std::jthread([this, script = std::move(script), then, at_once] {
      for (const Step& step : script) {
        if (!hear(step.hears)) return;
        for (std::string_view rest = step.says; !rest.empty(); rest.remove_prefix(std::min(at_once, rest.size())))
          if (::send(ends_[1], rest.data(), std::min(at_once, rest.size()), MSG_NOSIGNAL) < 0) return;
      }
      hear("");
      if (then == Then::goes) ::shutdown(ends_[1], SHUT_RDWR);
    });
  }
  ScriptedLauncher(const ScriptedLauncher&) = delete;
  ScriptedLauncher& operator=(const ScriptedLauncher&) = delete;
  ~ScriptedLauncher() {
    ::shutdown(ends_[0], SHUT_RDWR);
    thread_.join();
    for (const int end : ends_) ::close(end);
  }
  [[nodiscard]] Pmi::Place place(std::uint32_t version = 0) const {
    return {.descriptor = ends_[0], .rank = 1, .size = 2, .version = version};
  }

  // Programs that this one starts have its socket, too.
  void pass_on() const { ::fcntl(ends_[0], F_SETFD, 0); }

 private:
  // One request, which ends with a newline or, in version 2, a semicolon.
  bool hear(const std::string& wanted) {
    std::string heard;
    while (heard.empty() || (heard.back() != '\n' && heard.back() != ';')) {
      std::array<char, 4096> some{};
      const ssize_t count = ::recv(ends_[1], some.data(), some.size(), 0);
      if (count <= 0) return false;
      heard.append(some.data(), static_cast<std::size_t>(count));
    }
    EXPECT_TRUE(heard.contains(wanted)) << heard << "without " << wanted;
    return heard.contains(wanted);
  }

  std::array<int, 2> ends_{};
  std::jthread thread_;
};

} // namespace heddle::store
