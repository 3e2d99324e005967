// What two plain TCP sockets reach on loopback, with no library in between: the same method as `heddle perf`, two pinned processes,
// one buffer each. Nothing is matched, and nobody but the other end is looked at.
//
//   raw spin|sleep|sleep:US latency|bandwidth BYTES [CONGESTION [ADDRESS NAMESPACE]]
//
// spin: the sockets are asked again and again; sleep: the system wakes whoever waits; sleep:US: and both compute so long before they send in
// round trips, which does not count, so that whoever waits does sleep. CONGESTION is the system's control of that name, such
// as reno, instead of its default ("": that). With ADDRESS and NAMESPACE the first process listens at that address, and the second connects from that network
// namespace (/proc/PID/ns/net) instead of on loopback.
// Prints one JSON object in the form of `heddle perf ... --json`.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr int kRepetitions = 11;
constexpr std::uint64_t kRoundTrips = 20'000;
constexpr std::uint64_t kVolume = 256 << 20; // bytes of a repetition of bandwidth
constexpr std::uint64_t kShortWindowFrom = 1 << 20;
constexpr std::uint64_t kAcknowledgeBytes = 4;
constexpr double kLongest = 0.2; // seconds of a repetition

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (::sched_setaffinity(0, sizeof cpus, &cpus) != 0) fail("raw: cannot pin");
}

std::byte* written_pages(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("raw: mmap");
  return static_cast<std::byte*>(std::memset(memory, 1, bytes));
}

class Stream {
 public:
  Stream(int socket, bool spins, std::string_view congestion)
      : socket_(socket), flags_(MSG_NOSIGNAL | (spins ? MSG_DONTWAIT : 0)) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!congestion.empty() && ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                                            static_cast<socklen_t>(congestion.size())) != 0)
      fail("raw: no such congestion control");
  }
  void send(const std::byte* data, std::uint64_t bytes) const {
    while (bytes > 0) {
      const ssize_t sent = ::send(socket_, data, bytes, flags_);
      if (sent < 0 && errno != EAGAIN) fail("raw: send");
      if (sent <= 0) continue;
      data += sent;
      bytes -= static_cast<std::uint64_t>(sent);
    }
  }
  void receive(std::byte* data, std::uint64_t bytes) const {
    while (bytes > 0) {
      const ssize_t got = ::recv(socket_, data, bytes, flags_);
      if (got == 0) std::exit(1); // the other one says why
      if (got < 0 && errno != EAGAIN) fail("raw: recv");
      if (got <= 0) continue;
      data += got;
      bytes -= static_cast<std::uint64_t>(got);
    }
  }

 private:
  int socket_;
  int flags_;
};

struct Side {
  Stream stream;
  bool first; // measures
  std::uint64_t bytes;
  std::byte* buffer;
  std::uint64_t compute_us = 0;

  void compute() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(compute_us);
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  void round_trips(std::uint64_t count) const {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!first) stream.receive(buffer, bytes);
      if (compute_us > 0) compute();
      stream.send(buffer, bytes);
      if (first) stream.receive(buffer, bytes);
    }
  }
  void windows(std::uint64_t count, std::uint64_t window) const {
    std::array<std::byte, kAcknowledgeBytes> acknowledge{};
    for (std::uint64_t w = 0; w < count; ++w) {
      for (std::uint64_t i = 0; i < window; ++i)
        if (first)
          stream.send(buffer, bytes);
        else
          stream.receive(buffer, bytes);
      if (first)
        stream.receive(acknowledge.data(), acknowledge.size());
      else
        stream.send(acknowledge.data(), acknowledge.size());
    }
  }
};

double seconds_of(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The median of the repetitions, after one that says how many operations fit into one. The other side hears of that.
double median_of(const Side& side, std::uint64_t most, auto&& work, auto&& figure) {
  std::uint64_t count = std::max<std::uint64_t>(most / 16, 1);
  const double trial = seconds_of([&] { work(count); });
  if (side.first) {
    const double fitting = kLongest / trial * static_cast<double>(count);
    count = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(fitting), 1, most);
    side.stream.send(reinterpret_cast<const std::byte*>(&count), sizeof count);
  } else {
    side.stream.receive(reinterpret_cast<std::byte*>(&count), sizeof count);
  }
  std::array<double, kRepetitions> figures{};
  for (double& each : figures) each = figure(count, seconds_of([&] { work(count); }));
  std::ranges::sort(figures);
  return figures[kRepetitions / 2];
}

double measure(const Side& side, bool latency) {
  if (latency)
    return median_of(
        side, kRoundTrips, [&](std::uint64_t count) { side.round_trips(count); },
        [&](std::uint64_t count, double seconds) {
          return seconds * 1e6 / 2 / static_cast<double>(count) - static_cast<double>(side.compute_us);
        });
  const std::uint64_t window = side.bytes >= kShortWindowFrom ? 16 : 64;
  return median_of(
      side, std::max<std::uint64_t>(kVolume / (window * side.bytes), 1),
      [&](std::uint64_t count) { side.windows(count, window); },
      [&](std::uint64_t count, double seconds) {
        return static_cast<double>(count * window * side.bytes) / seconds / 1e6;
      });
}

void enter_network(const char* path) {
  const int handle = ::open(path, O_RDONLY | O_CLOEXEC);
  if (handle < 0 || ::setns(handle, CLONE_NEWNET) != 0) fail("raw: cannot enter the network namespace");
}

int usage() {
  std::fputs("raw: expected spin|sleep|sleep:US latency|bandwidth BYTES [CONGESTION [ADDRESS NAMESPACE]]\n", stderr);
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc == 6 || argc > 7) return usage();
  const std::string_view manner = argv[1];
  const std::string_view what = argv[2];
  const std::uint64_t bytes = std::strtoull(argv[3], nullptr, 10);
  const bool latency = what == "latency";
  const bool computes = manner.starts_with("sleep:");
  const std::uint64_t compute_us = computes ? std::strtoull(argv[1] + 6, nullptr, 10) : 0;
  if (computes ? compute_us == 0 || !latency : manner != "spin" && manner != "sleep") return usage();
  if ((!latency && what != "bandwidth") || bytes == 0) return usage();
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool between = argc == 7;
  if (between && ::inet_pton(AF_INET, argv[5], &place.sin_addr) != 1) return usage();

  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = sizeof place;
  auto* address = reinterpret_cast<sockaddr*>(&place);
  if (listener < 0 || ::bind(listener, address, length) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, address, &length) != 0)
    fail("raw: cannot listen");
  const pid_t child = ::fork();
  if (child < 0) fail("raw: fork");
  const bool first = child != 0;
  if (!first) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin(first ? 0 : 1);
  int socket = 0;
  if (!first && between) enter_network(argv[6]);
  if (first) {
    socket = ::accept(listener, nullptr, nullptr);
  } else {
    socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(socket, address, length) != 0) fail("raw: connect");
  }
  if (socket < 0) fail("raw: accept");
  const Side side{.stream = Stream(socket, manner == "spin", argc >= 5 ? argv[4] : ""),
                  .first = first,
                  .bytes = bytes,
                  .buffer = written_pages(bytes),
                  .compute_us = compute_us};
  const double figure = measure(side, latency);
  if (!first) return 0;
  std::printf("{\"results\": [{\"bytes\": %llu, \"%s\": %.6g}]}\n", static_cast<unsigned long long>(bytes),
              latency ? "median_us" : "median_mb_s", figure);
  ::waitpid(child, nullptr, 0);
  return 0;
}
