// The fuzz program's network: its calls on sockets, pollers, timers, the clock and the sources of random numbers lead here
// (cmake/fuzz.cmake), and to the kernel in memory while a target has a Network. Everything is the same each time an input is run.
#include "base/fuzz_network.hpp"
#include "tests/fuzz/kernel.hpp"

#include <sodium.h>

#include <chrono>
#include <optional>

namespace heddle::fuzz {

namespace {

std::optional<Kernel> kernel;
std::uint64_t random_state = 0;

void fill(void* data, std::size_t bytes) {
  auto* to = static_cast<unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    to[i] = static_cast<unsigned char>(random_state >> 56U);
  }
}

// For libsodium: it has no hook for the system's.
const char* name_of_source() {
  return "fuzz";
}
std::uint32_t random_word() {
  std::uint32_t word = 0;
  fill(&word, sizeof word);
  return word;
}
randombytes_implementation source{.implementation_name = &name_of_source,
                                  .random = &random_word,
                                  .stir = nullptr,
                                  .uniform = nullptr,
                                  .buf = &fill,
                                  .close = nullptr};

} // namespace

Network::Network(Input& input) {
  constexpr std::size_t kSmallest = 512; // bytes that the first words of a connection may count on
  const std::size_t capacity = kSmallest << input.below(8);
  const auto moods = input.bytes(input.below(64));
  random_state = 0;
  ::randombytes_set_implementation(&source);
  kernel.emplace(capacity, moods);
}

Network::~Network() {
  demand(kernel->open_descriptors() == 0, "every descriptor is closed");
  kernel.reset();
}

void Network::behave() {
  kernel->behave();
  kernel->pass(2'000'000'000);
}

bool Network::has_disturbed() const {
  return kernel->has_disturbed();
}

// Calls that make a descriptor, or need none.
#define HEDDLE_OWN(Result, name, parameters, arguments)               \
  extern "C" Result __real_##name parameters;                         \
  extern "C" Result __wrap_##name parameters;                         \
  Result __wrap_##name parameters {                                   \
    return kernel ? kernel->name arguments : __real_##name arguments; \
  }
// Calls on a descriptor, the first argument: also of the program's own files.
#define HEDDLE_OWN_ON(Result, name, parameters, arguments)                                \
  extern "C" Result __real_##name parameters;                                             \
  extern "C" Result __wrap_##name parameters;                                             \
  Result __wrap_##name parameters {                                                       \
    return kernel && Kernel::owns(on) ? kernel->name arguments : __real_##name arguments; \
  }

HEDDLE_OWN(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
HEDDLE_OWN(int, epoll_create1, (int flags), (flags))
HEDDLE_OWN(int, timerfd_create, (int clock, int flags), (clock, flags))
HEDDLE_OWN_ON(int, bind, (int on, const sockaddr* address, socklen_t length), (on, address, length))
HEDDLE_OWN_ON(int, listen, (int on, int waiting), (on, waiting))
HEDDLE_OWN_ON(int, connect, (int on, const sockaddr* address, socklen_t length), (on, address, length))
HEDDLE_OWN_ON(int, accept4, (int on, sockaddr* address, socklen_t* length, int flags), (on, address, length, flags))
HEDDLE_OWN_ON(int, getsockname, (int on, sockaddr* address, socklen_t* length), (on, address, length))
HEDDLE_OWN_ON(int, getpeername, (int on, sockaddr* address, socklen_t* length), (on, address, length))
HEDDLE_OWN_ON(int, getsockopt, (int on, int level, int option, void* value, socklen_t* length),
              (on, level, option, value, length))
HEDDLE_OWN_ON(int, setsockopt, (int on, int level, int option, const void* value, socklen_t length),
              (on, level, option, value, length))
HEDDLE_OWN_ON(ssize_t, sendmsg, (int on, const msghdr* message, int flags), (on, message, flags))
HEDDLE_OWN_ON(ssize_t, send, (int on, const void* data, std::size_t bytes, int flags), (on, data, bytes, flags))
HEDDLE_OWN_ON(ssize_t, readv, (int on, const iovec* pieces, int count), (on, pieces, count))
HEDDLE_OWN_ON(ssize_t, recv, (int on, void* data, std::size_t bytes, int flags), (on, data, bytes, flags))
HEDDLE_OWN_ON(ssize_t, read, (int on, void* data, std::size_t bytes), (on, data, bytes))
HEDDLE_OWN_ON(int, close, (int on), (on))
HEDDLE_OWN_ON(int, epoll_ctl, (int on, int operation, int descriptor, epoll_event* event),
              (on, operation, descriptor, event))
HEDDLE_OWN_ON(int, epoll_wait, (int on, epoll_event* events, int most, int milliseconds),
              (on, events, most, milliseconds))
HEDDLE_OWN_ON(int, timerfd_settime, (int on, int flags, const itimerspec* wanted, itimerspec* before),
              (on, flags, wanted, before))

extern "C" ssize_t __real_getrandom(void* data, std::size_t bytes, unsigned flags);
extern "C" ssize_t __wrap_getrandom(void* data, std::size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void* data, std::size_t bytes, unsigned flags) {
  if (!kernel) return __real_getrandom(data, bytes, flags);
  fill(data, bytes);
  return static_cast<ssize_t>(bytes);
}

// The clock, by the names that the linker knows it by.
using Clock = std::chrono::steady_clock;
Clock::time_point time_of_system() asm("__real__ZNSt6chrono3_V212steady_clock3nowEv");
Clock::time_point time_of_fuzz() asm("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");
Clock::time_point time_of_fuzz() {
  return kernel ? Clock::time_point(std::chrono::nanoseconds(kernel->now_ns())) : time_of_system();
}

} // namespace heddle::fuzz
