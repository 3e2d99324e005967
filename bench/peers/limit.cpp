// What the bare machine allows, with no library in between: two pinned processes and shared cache lines, and memcpy.
// Not a transport: no matching, no completion, no safety; the figures are a floor (latency) and ceilings (the rest).
//
//   limit latency|rate|bandwidth|single-copy BYTES[,BYTES...]
//
// Prints one JSON object in the form of `heddle perf ... --json`.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kPageBytes = 4096;
constexpr int kRepetitions = 11;
constexpr std::uint64_t kRoundTrips = 20'000;
constexpr std::uint64_t kLines = 256'000;              // per repetition of rate: 4000 windows of 64
constexpr std::uint64_t kRingLines = 512;              // 32 KiB: stays in the first-level cache
constexpr std::uint64_t kCreditLines = kRingLines / 4; // consumer's position returned four times per lap
constexpr std::size_t kBandwidthBytes = std::size_t{256} << 20;
constexpr std::size_t kLargestMessage = std::size_t{64} << 20;

struct alignas(kLineBytes) Line {
  std::atomic<std::uint64_t> sequence;
  std::array<std::byte, kLineBytes - sizeof(std::uint64_t)> payload;
};
static_assert(sizeof(Line) == kLineBytes);

// All that the two processes share. The two halves of a direction are pages apart, so that no prefetch joins them.
struct Shared {
  alignas(kPageBytes) std::array<Line, 2> bell; // one per direction
  alignas(kPageBytes) std::array<std::array<std::byte, kPageBytes>, 2> message;
  alignas(kPageBytes) std::array<Line, kRingLines> ring;
  alignas(kPageBytes) Line consumed;
};

[[noreturn]] void fail(const char* fact) {
  std::perror(fact);
  std::exit(1);
}

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) fail("limit: cannot pin");
}

std::byte* written_pages(std::size_t bytes, int sharing) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("limit: mmap");
  return static_cast<std::byte*>(std::memset(memory, 0, bytes));
}

// With a pause: looking all the time takes the line from the writer while it still needs it, and costs a quarter more.
void spin_until(const std::atomic<std::uint64_t>& value, std::uint64_t wanted) {
  while (value.load(std::memory_order_acquire) < wanted) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

// Half round trip. Eight bytes travel in the bell's own line; more are copied in before it rings and out after.
void bounce(Shared& shared, int rank, std::size_t bytes, std::uint64_t from, std::uint64_t round_trips) {
  std::array<std::byte, kPageBytes> own{};
  const auto mine = static_cast<std::size_t>(rank);
  const auto theirs = 1 - mine;
  const bool outside_bell = bytes > sizeof(std::uint64_t);
  const auto send = [&](std::uint64_t sequence) {
    if (outside_bell) std::memcpy(shared.message[mine].data(), own.data(), bytes);
    shared.bell[mine].sequence.store(sequence, std::memory_order_release);
  };
  const auto receive = [&](std::uint64_t sequence) {
    spin_until(shared.bell[theirs].sequence, sequence);
    if (outside_bell) std::memcpy(own.data(), shared.message[theirs].data(), bytes);
  };
  for (std::uint64_t i = from + 1; i <= from + round_trips; ++i) {
    if (rank == 0) {
      send(i);
      receive(i);
    } else {
      receive(i);
      send(i);
    }
  }
}

// Rank 0 fills ring lines one way; each line carries its own sequence number, so that a message costs one line.
void stream(Shared& shared, int rank, std::uint64_t from, std::uint64_t lines) {
  for (std::uint64_t i = from + 1; i <= from + lines; ++i) {
    Line& line = shared.ring[i % kRingLines];
    if (rank == 0) {
      if (i % kCreditLines == 0 && i + kCreditLines > kRingLines)
        spin_until(shared.consumed.sequence, i + kCreditLines - kRingLines);
      line.payload[0] = static_cast<std::byte>(i);
      line.sequence.store(i, std::memory_order_release);
    } else {
      spin_until(line.sequence, i);
      if (i % kCreditLines == 0) shared.consumed.sequence.store(i, std::memory_order_release);
    }
  }
  if (rank == 0) spin_until(shared.consumed.sequence, (from + lines) / kCreditLines * kCreditLines);
}

// Seconds of each counted repetition, then their median; one repetition before them is not counted.
double median_seconds(const std::function<void(std::uint64_t)>& repetition) {
  std::vector<double> seconds;
  for (std::uint64_t i = 0; i <= kRepetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    repetition(i);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (i > 0) seconds.push_back(taken.count());
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Runs the same repetitions as rank 1 in a child on cpu 1 and as rank 0 here on cpu 0.
double median_seconds_of_pair(const std::function<void(Shared&, int, std::uint64_t)>& repetition) {
  auto& shared = *reinterpret_cast<Shared*>(written_pages(sizeof(Shared), MAP_SHARED));
  const auto as = [&](int rank) {
    pin(rank);
    return median_seconds([&](std::uint64_t i) { repetition(shared, rank, i); });
  };
  const pid_t child = fork();
  if (child < 0) fail("limit: fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    as(1);
    _exit(0);
  }
  const double seconds = as(0);
  waitpid(child, nullptr, 0);
  munmap(&shared, sizeof(Shared));
  return seconds;
}

double latency_us(std::size_t bytes) {
  const double seconds = median_seconds_of_pair(
      [&](Shared& shared, int rank, std::uint64_t i) { bounce(shared, rank, bytes, i * kRoundTrips, kRoundTrips); });
  return seconds * 1e6 / (2.0 * static_cast<double>(kRoundTrips));
}

double lines_per_s() {
  const double seconds = median_seconds_of_pair(
      [](Shared& shared, int rank, std::uint64_t i) { stream(shared, rank, i * kLines, kLines); });
  return static_cast<double>(kLines) / seconds;
}

double memcpy_mb_s(std::size_t bytes) {
  pin(0);
  std::byte* from = written_pages(bytes, MAP_PRIVATE);
  std::byte* to = written_pages(bytes, MAP_PRIVATE);
  const std::size_t copies = kBandwidthBytes / bytes;
  const double seconds = median_seconds([&](std::uint64_t) {
    for (std::size_t i = 0; i < copies; ++i) {
      std::memcpy(to, from, bytes);
      asm volatile("" ::: "memory"); // each copy happens
    }
  });
  munmap(from, bytes);
  munmap(to, bytes);
  return static_cast<double>(copies * bytes) / seconds / 1e6;
}

// The parent reads its child's memory: the direction that ptrace rules allow without privilege.
std::optional<double> single_copy_mb_s(std::size_t bytes) {
  pin(0);
  std::byte* memory = written_pages(bytes, MAP_PRIVATE);
  std::byte* to = written_pages(bytes, MAP_PRIVATE);
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) fail("limit: pipe");
  const pid_t child = fork();
  if (child < 0) fail("limit: fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(1);
    std::memset(memory, 1, bytes); // its own pages from here on
    if (write(ready[1], "r", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char letter = 0;
  bool allowed = read(ready[0], &letter, 1) == 1;
  const std::size_t copies = kBandwidthBytes / bytes;
  iovec local{.iov_base = to, .iov_len = bytes};
  iovec remote{.iov_base = memory, .iov_len = bytes};
  const double seconds = median_seconds([&](std::uint64_t) {
    for (std::size_t i = 0; allowed && i < copies; ++i)
      allowed = process_vm_readv(child, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
  });
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  munmap(memory, bytes);
  munmap(to, bytes);
  if (!allowed) return std::nullopt;
  return static_cast<double>(copies * bytes) / seconds / 1e6;
}

struct Figure {
  const char* key;
  std::function<std::optional<double>(std::size_t)> measure;
};

std::optional<Figure> figure_named(std::string_view what) {
  if (what == "latency") return Figure{"median_us", latency_us};
  if (what == "rate") return Figure{"median_per_s", [](std::size_t) { return lines_per_s(); }};
  if (what == "bandwidth") return Figure{"median_mb_s", memcpy_mb_s};
  if (what == "single-copy") return Figure{"median_mb_s", single_copy_mb_s};
  return std::nullopt;
}

} // namespace

int main(int argc, char** argv) {
  const auto figure = argc == 3 ? figure_named(argv[1]) : std::nullopt;
  if (!figure) {
    std::fprintf(stderr, "limit: expected latency|rate|bandwidth|single-copy BYTES[,BYTES...]\n");
    return 2;
  }
  const std::size_t largest = std::string_view(argv[1]) == "latency" ? kPageBytes : kLargestMessage;
  std::string json = "{\"results\": [";
  std::istringstream sizes(argv[2]);
  const char* separator = "";
  for (std::string size; std::getline(sizes, size, ','); separator = ", ") {
    const std::size_t bytes = std::strtoull(size.c_str(), nullptr, 10);
    if (bytes == 0 || bytes > largest) {
      std::fprintf(stderr, "limit: size %s is outside 1..%zu\n", size.c_str(), largest);
      return 2;
    }
    const auto value = figure->measure(bytes);
    char number[32] = "null";
    if (value) std::snprintf(number, sizeof number, "%.6g", *value);
    json += separator;
    json += "{\"bytes\": " + std::to_string(bytes) + ", \"" + figure->key + "\": " + number + "}";
  }
  std::printf("%s]}\n", json.c_str());
  return 0;
}
