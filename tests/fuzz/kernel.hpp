// Sockets, pollers, timers and time in memory, for one thread: what fuzz targets run over, quicker and more varied than the system's. Calls
// have the shape and the errors of the system's as far as the library uses them (kernel_test.cpp holds both to that); none ever
// waits. Moods, one byte for each call that can go in several ways, say how it goes; when they are used up, all goes as usual.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::fuzz {

class Kernel {
 public:
  // `capacity`: the bytes that a socket holds for its reader.
  Kernel(std::size_t capacity, std::span<const std::byte> moods) : capacity_(capacity), moods_(moods) {}

  static constexpr int kFirstDescriptor = 1 << 16;
  [[nodiscard]] static bool owns(int descriptor) { return descriptor >= kFirstDescriptor; }

  void behave() { moods_ = {}; }
  void pass(std::uint64_t ns) { now_ns_ += ns; }
  [[nodiscard]] bool has_disturbed() const { return disturbed_; }
  [[nodiscard]] std::size_t open_descriptors() const;
  // A little later at each call.
  std::uint64_t now_ns() { return now_ns_ += 100; }

  // kernel_sockets.cpp
  int socket(int domain, int type, int protocol);
  int bind(int descriptor, const sockaddr* address, socklen_t length);
  int listen(int descriptor, int waiting);
  int connect(int descriptor, const sockaddr* address, socklen_t length);
  int accept4(int descriptor, sockaddr* address, socklen_t* length, int flags);
  int getsockname(int descriptor, sockaddr* address, socklen_t* length);
  int getpeername(int descriptor, sockaddr* address, socklen_t* length);
  int getsockopt(int descriptor, int level, int option, void* value, socklen_t* length);
  int setsockopt(int descriptor, int level, int option, const void* value, socklen_t length);
  ssize_t sendmsg(int descriptor, const msghdr* message, int flags);
  ssize_t send(int descriptor, const void* data, std::size_t bytes, int flags);
  ssize_t readv(int descriptor, const iovec* pieces, int count);
  ssize_t recv(int descriptor, void* data, std::size_t bytes, int flags);
  int close(int descriptor);

  // kernel_waiting.cpp
  int epoll_create1(int flags);
  int epoll_ctl(int poller, int operation, int descriptor, epoll_event* event);
  int epoll_wait(int poller, epoll_event* events, int most, int milliseconds);
  int timerfd_create(int clock, int flags);
  int timerfd_settime(int descriptor, int flags, const itimerspec* wanted, itimerspec* before);
  ssize_t read(int descriptor, void* data, std::size_t bytes);

 private:
  enum class Kind : std::uint8_t { socket, poller, timer };
  struct Watched {
    int descriptor = 0;
    epoll_event event{};
  };
  struct Object {
    Kind kind = Kind::socket;
    int domain = 0;
    std::string name; // the address as the system has it
    // a socket that listens
    bool listens = false;
    std::vector<std::unique_ptr<Object>> waiting; // to be accepted
    // one that is connected
    bool connected = false;
    bool on_its_way = false; // until somebody waits next
    Object* peer = nullptr;  // null: gone
    std::string peer_name;
    std::vector<std::byte> incoming;
    std::size_t taken = 0; // of them
    bool ended = false;    // nothing more comes
    bool resets = false;   // when it is closed
    bool was_reset = false;
    int error = 0;
    // a poller
    std::vector<Watched> watched;
    std::size_t first = 0; // that is asked in the next wait
    // a timer
    std::uint64_t due_ns = 0; // 0: never
    std::uint64_t interval_ns = 0;

    [[nodiscard]] std::size_t unread() const { return incoming.size() - taken; }
  };

  int fail(int reason) const;
  int add(std::unique_ptr<Object> object);
  // Null, with errno set, where there is none of that kind.
  Object* find(int descriptor, Kind kind);
  Object* listener_at(const std::string& name);
  [[nodiscard]] std::uint8_t next_mood();
  [[nodiscard]] std::uint32_t state_of(const Object& object) const; // EPOLLIN ...
  void disconnect(Object& object, bool by_reset);

  std::size_t capacity_;
  std::span<const std::byte> moods_;
  bool disturbed_ = false;
  std::uint64_t now_ns_ = 1'000'000'000'000;
  std::uint16_t next_port_ = 40000;
  std::vector<std::unique_ptr<Object>> objects_; // by descriptor
};

} // namespace heddle::fuzz
