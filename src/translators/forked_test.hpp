// Children of a test: real processes that share nothing but what the test gives them.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <type_traits>

namespace heddle::translators {

// One end of a line between two processes; values go across whole.
class Line {
 public:
  explicit Line(int file) : file_(file) {}

  template <typename Value>
  void say(const Value& value) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    if (::send(file_, &value, sizeof value, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof value)) std::abort();
  }
  // Whether something was said, or the other end has gone.
  [[nodiscard]] bool has_word() const {
    std::byte word{};
    return ::recv(file_, &word, sizeof word, MSG_PEEK | MSG_DONTWAIT) >= 0;
  }
  template <typename Value>
  [[nodiscard]] Value hear() const {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    if (::recv(file_, &value, sizeof value, MSG_WAITALL) != static_cast<ssize_t>(sizeof value)) std::abort();
    return value;
  }

 private:
  int file_;
};

// A child that runs `body` with its end of the line and ends with what that returns. Killed if it still runs at the end.
class Child {
 public:
  explicit Child(const std::function<int(const Line&)>& body) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[0]);
      ::_exit(body(Line(ends[1])));
    }
    ::close(ends[1]);
    file_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    ::close(file_);
  }

  [[nodiscard]] Line line() const { return Line(file_); }
  // As a crash would end it. It is gone when this returns.
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    static_cast<void>(exit_code());
  }
  // Waits for its end; minus the signal that ended it.
  [[nodiscard]] int exit_code() {
    int status = 0;
    if (process_ <= 0 || ::waitpid(process_, &status, 0) != process_) return -1000;
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
  int file_ = -1;
};

} // namespace heddle::translators
