// The kernel in memory and the system's do the same, as far as the library can see.
#include "tests/fuzz/kernel.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace heddle::fuzz {
namespace {

struct System {
  static int socket(int domain, int type, int protocol) { return ::socket(domain, type, protocol); }
  static int bind(int on, const sockaddr* address, socklen_t length) { return ::bind(on, address, length); }
  static int listen(int on, int waiting) { return ::listen(on, waiting); }
  static int connect(int on, const sockaddr* address, socklen_t length) { return ::connect(on, address, length); }
  static int accept4(int on, sockaddr* address, socklen_t* length, int flags) {
    return ::accept4(on, address, length, flags);
  }
  static int getsockname(int on, sockaddr* address, socklen_t* length) { return ::getsockname(on, address, length); }
  static int getpeername(int on, sockaddr* address, socklen_t* length) { return ::getpeername(on, address, length); }
  static int setsockopt(int on, int level, int option, const void* value, socklen_t length) {
    return ::setsockopt(on, level, option, value, length);
  }
  static ssize_t send(int on, const void* data, std::size_t bytes, int flags) { return ::send(on, data, bytes, flags); }
  static ssize_t recv(int on, void* data, std::size_t bytes, int flags) { return ::recv(on, data, bytes, flags); }
  static int close(int on) { return ::close(on); }
  static int epoll_create1(int flags) { return ::epoll_create1(flags); }
  static int epoll_ctl(int on, int operation, int descriptor, epoll_event* event) {
    return ::epoll_ctl(on, operation, descriptor, event);
  }
  static int epoll_wait(int on, epoll_event* events, int most, int milliseconds) {
    return ::epoll_wait(on, events, most, milliseconds);
  }
};
struct InMemory : Kernel {
  InMemory() : Kernel(64 << 10, {}) {}
};

template <typename Calls>
class Sockets : public testing::Test {
 protected:
  // A listener on loopback, and both ends of a connection to it. What waits for the network waits for up to a minute.
  void SetUp() override {
    listener_ = calls_.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = reinterpret_cast<sockaddr*>(&here);
    socklen_t length = sizeof here;
    ASSERT_EQ(calls_.bind(listener_, address, length), 0);
    ASSERT_EQ(calls_.listen(listener_, 8), 0);
    ASSERT_EQ(calls_.getsockname(listener_, address, &length), 0);
    ASSERT_NE(here.sin_port, 0);
    caller_ = calls_.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(calls_.connect(caller_, address, length), 0);
    taken_ = calls_.accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    ASSERT_GE(taken_, 0);
    poller_ = calls_.epoll_create1(EPOLL_CLOEXEC);
    epoll_event wanted{.events = EPOLLIN, .data = {.u64 = 7}};
    ASSERT_EQ(calls_.epoll_ctl(poller_, EPOLL_CTL_ADD, taken_, &wanted), 0);
  }
  void TearDown() override {
    for (const int each : {listener_, caller_, taken_, poller_})
      if (each >= 0) calls_.close(each);
  }
  // What the poller tells of the accepted end.
  std::uint32_t wait() {
    epoll_event event{};
    if (calls_.epoll_wait(poller_, &event, 1, 60'000) != 1) return 0;
    EXPECT_EQ(std::uint64_t{event.data.u64}, 7U); // a copy: epoll_event is packed, and its members are not aligned
    return event.events;
  }
  void say(std::string_view text) {
    ASSERT_EQ(calls_.send(caller_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  ssize_t hear() { return calls_.recv(taken_, heard_.data(), heard_.size(), 0); }
  void hang_up() { calls_.close(std::exchange(caller_, -1)); }

  Calls calls_;
  int listener_ = -1;
  int caller_ = -1;
  int taken_ = -1;
  int poller_ = -1;
  std::array<char, 64> heard_{};
};
using Both = testing::Types<System, InMemory>;
TYPED_TEST_SUITE(Sockets, Both);

TYPED_TEST(Sockets, BringBytesAndThenTheEnd) {
  EXPECT_EQ(this->hear(), -1);
  EXPECT_EQ(errno, EAGAIN);
  this->say("hello");
  EXPECT_EQ(this->wait(), EPOLLIN);
  EXPECT_EQ(this->hear(), 5);
  EXPECT_EQ(std::string_view(this->heard_.data(), 5), "hello");
  this->say("bye");
  this->hang_up();
  EXPECT_NE(this->wait() & EPOLLIN, 0U);
  EXPECT_EQ(this->hear(), 3);
  EXPECT_NE(this->wait() & EPOLLIN, 0U);
  EXPECT_EQ(this->hear(), 0);
  EXPECT_EQ(this->hear(), 0);
}

TYPED_TEST(Sockets, TellOfAResetOnce) {
  const linger none{.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(this->calls_.setsockopt(this->caller_, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
  this->hang_up();
  EXPECT_EQ(this->wait() & (EPOLLIN | EPOLLERR | EPOLLHUP), EPOLLIN | EPOLLERR | EPOLLHUP);
  EXPECT_EQ(this->hear(), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_EQ(this->hear(), 0);
  sockaddr_in there{};
  socklen_t length = sizeof there;
  EXPECT_EQ(this->calls_.getpeername(this->taken_, reinterpret_cast<sockaddr*>(&there), &length), -1);
  EXPECT_EQ(errno, ENOTCONN);
  EXPECT_EQ(this->calls_.send(this->taken_, "x", 1, MSG_NOSIGNAL), -1);
  EXPECT_EQ(errno, EPIPE);
}

TYPED_TEST(Sockets, ResetWhereSomethingWasNotRead) {
  ASSERT_EQ(this->calls_.send(this->taken_, "unread", 6, MSG_NOSIGNAL), 6);
  char first = 0;
  ASSERT_EQ(this->calls_.recv(this->caller_, &first, 1, 0), 1);
  this->hang_up();
  EXPECT_NE(this->wait() & EPOLLERR, 0U);
  EXPECT_EQ(this->hear(), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TYPED_TEST(Sockets, TakeNoMoreThanTheyHold) {
  const std::array<char, 4096> much{};
  ssize_t sent = 0;
  while (sent >= 0) sent = this->calls_.send(this->taken_, much.data(), much.size(), MSG_NOSIGNAL);
  EXPECT_EQ(errno, EAGAIN);
}

TYPED_TEST(Sockets, AreRefusedWhereNobodyListensAnyMore) {
  sockaddr_in there{};
  socklen_t length = sizeof there;
  auto* address = reinterpret_cast<sockaddr*>(&there);
  ASSERT_EQ(this->calls_.getsockname(this->listener_, address, &length), 0);
  this->calls_.close(std::exchange(this->listener_, -1));
  const int late = this->calls_.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(this->calls_.connect(late, address, length), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  this->calls_.close(late);
}

TYPED_TEST(Sockets, AreWatchedOnceAndForgottenWhenClosed) {
  epoll_event wanted{.events = EPOLLIN, .data = {.u64 = 7}};
  EXPECT_EQ(this->calls_.epoll_ctl(this->poller_, EPOLL_CTL_ADD, this->taken_, &wanted), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(this->calls_.epoll_ctl(this->poller_, EPOLL_CTL_MOD, this->caller_, &wanted), -1);
  EXPECT_EQ(errno, ENOENT);
  this->say("x");
  this->calls_.close(std::exchange(this->taken_, -1));
  epoll_event event{};
  EXPECT_EQ(this->calls_.epoll_wait(this->poller_, &event, 1, 0), 0);
}

TEST(KernelInMemory, DoesAsItsMoodsSay) {
  const std::array moods{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{161}, std::byte{230}, std::byte{255}};
  Kernel kernel(512, moods);
  const int listener = kernel.socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr address{.sa_family = AF_UNIX, .sa_data = "\0name"};
  ASSERT_EQ(kernel.bind(listener, &address, 7), 0);
  ASSERT_EQ(kernel.listen(listener, 8), 0);
  const int caller = kernel.socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(kernel.connect(caller, &address, 7), 0);
  const int taken = kernel.accept4(listener, nullptr, nullptr, 0); // as usual
  ASSERT_EQ(kernel.send(caller, "abcd", 4, 0), 4);                 // as usual
  ASSERT_EQ(kernel.send(caller, "efgh", 4, 0), 4);                 // as usual
  std::array<char, 8> heard{};
  EXPECT_EQ(kernel.recv(taken, heard.data(), heard.size(), 0), 2);
  EXPECT_EQ(kernel.recv(taken, heard.data(), heard.size(), 0), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(kernel.has_disturbed());
  EXPECT_EQ(kernel.recv(taken, heard.data(), heard.size(), 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_TRUE(kernel.has_disturbed());
  for (const int each : {listener, caller, taken}) kernel.close(each);
  EXPECT_EQ(kernel.open_descriptors(), 0U);
}

} // namespace
} // namespace heddle::fuzz
