// The commands that a small message of Heddle's is over uTofu, and nothing else, between two pinned processes of an emulated machine: the
// record but its first word, by a put from staged memory or with the command itself, then the first word with a notice at the target, both
// posted together. Whoever waits asks the queues that Heddle asks. By the method of `heddle perf`; ../tofu/run calls it.
//
//   bare latency|rate BYTES RECORD ENGINES
//
// BYTES of a message travel in a record of RECORD bytes. Prints one JSON object in the form of `heddle perf ... --json`.
#include "tests/tofu_emulation/utofu.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

namespace {

constexpr int kRepetitions = 11;
constexpr std::uint64_t kMost = 20'000; // operations of a repetition
constexpr double kLongest = 0.2;        // seconds of a repetition
constexpr std::uint64_t kWindow = 64;
constexpr std::size_t kSlots = 2 * kWindow; // records under way
constexpr std::size_t kSlotBytes = 8448;
constexpr std::size_t kWord = 8;
constexpr std::size_t kPiggyback = 32;

[[noreturn]] void fail(const char* what, int code) {
  std::fprintf(stderr, "bare: %s: %d\n", what, code);
  std::exit(1);
}
void demand(const char* what, int code) {
  if (code != UTOFU_SUCCESS) fail(what, code);
}

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (::sched_setaffinity(0, sizeof cpus, &cpus) != 0) fail("cannot pin", cpu);
}

// What both sides know of each other.
struct Meeting {
  std::array<std::atomic<std::uint64_t>, 2> id{}, stadd{};
  std::atomic<std::uint64_t> count = 0;
  std::atomic<int> left = 0;
};

class Side {
 public:
  Side(Meeting& meeting, int which, std::size_t record, std::size_t engines)
      : meeting_(meeting), which_(which), record_(record), memory_(2 * kSlots * kSlotBytes) {
    for (std::size_t i = 0; i < engines; ++i) {
      utofu_vcq_hdl_t vcq = 0;
      demand("create_vcq", utofu_create_vcq(static_cast<utofu_tni_id_t>(i), 0, &vcq));
      vcqs_.push_back(vcq);
    }
    demand("reg_mem", utofu_reg_mem(vcqs_[0], memory_.data(), memory_.size(), 0, &own_));
    utofu_vcq_id_t id = 0;
    demand("query_vcq_id", utofu_query_vcq_id(vcqs_[0], &id));
    const auto mine = static_cast<std::size_t>(which);
    meeting.stadd[mine] = own_;
    meeting.id[mine] = id;
    while ((there_ = meeting.id[1 - mine]) == 0) ::sched_yield();
    remote_ = meeting.stadd[1 - mine];
  }
  [[nodiscard]] bool first() const { return which_ == 0; }

  void send() {
    const std::size_t slot = next_++ % kSlots;
    const utofu_stadd_t to = remote_ + slot * kSlotBytes;
    std::byte* const staged = memory_.data() + (kSlots + slot) * kSlotBytes;
    alignas(64) std::array<std::byte, 256> descriptors; // NOLINT: written before it is read
    std::size_t used = 0, size = 64;
    const std::size_t body = record_ - kWord;
    constexpr unsigned long kEach = UTOFU_ONESIDED_FLAG_STRONG_ORDER | UTOFU_ONESIDED_FLAG_CACHE_INJECTION;
    std::memcpy(staged, &next_, sizeof next_);
    if (body > kPiggyback) {
      demand("prepare_put", utofu_prepare_put(vcqs_[0], there_, own_ + (kSlots + slot) * kSlotBytes, to + kWord, body,
                                              0, kEach | UTOFU_ONESIDED_FLAG_TCQ_NOTICE, descriptors.data(), &size));
      ++under_way_;
    } else {
      demand("prepare_put_piggyback", utofu_prepare_put_piggyback(vcqs_[0], there_, staged, to + kWord, body, 0, kEach,
                                                                  descriptors.data(), &size));
    }
    used += size;
    size = 64;
    demand("prepare_put_piggyback",
           utofu_prepare_put_piggyback(vcqs_[0], there_, &next_, to, kWord, 1,
                                       kEach | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE | UTOFU_ONESIDED_FLAG_TCQ_NOTICE,
                                       descriptors.data() + used, &size));
    used += size;
    ++under_way_;
    int code = 0;
    while ((code = utofu_post_toq(vcqs_[0], descriptors.data(), used, nullptr)) == UTOFU_ERR_BUSY) poll();
    demand("post_toq", code);
  }
  void receive() {
    while (arrived_ == 0) poll();
    --arrived_;
  }
  // All that this side has sent has left; the emulation carries commands out while it is asked.
  void settle() {
    while (under_way_ > 0) poll();
  }
  void leave() {
    settle();
    ++meeting_.left;
    while (meeting_.left < 2) ::sched_yield();
  }

  void round_trips(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!first()) receive();
      send();
      if (first()) receive();
    }
  }
  void windows(std::uint64_t count) {
    for (std::uint64_t w = 0; w < count; ++w) {
      for (std::uint64_t i = 0; i < kWindow; ++i)
        if (first())
          send();
        else
          receive();
      if (first())
        receive();
      else
        send();
    }
  }
  // Of the first side; the other hears it.
  std::uint64_t agree(std::uint64_t count) {
    if (first()) {
      meeting_.count = count;
      send();
      return count;
    }
    receive();
    return meeting_.count;
  }

 private:
  void poll() {
    for (std::size_t engine = 0; engine < vcqs_.size(); ++engine) {
      void* data = nullptr;
      if (engine == 0)
        while (under_way_ > 0 && utofu_poll_tcq(vcqs_[0], 0, &data) != UTOFU_ERR_NOT_FOUND) --under_way_;
      utofu_mrq_notice notice{};
      int code = 0;
      while ((code = utofu_poll_mrq(vcqs_[engine], 0, &notice)) != UTOFU_ERR_NOT_FOUND) {
        demand("a notice", code);
        if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT) ++arrived_;
      }
    }
  }

  Meeting& meeting_;
  const int which_;
  const std::size_t record_;
  std::vector<std::byte> memory_;
  std::vector<utofu_vcq_hdl_t> vcqs_;
  utofu_vcq_id_t there_ = 0;
  utofu_stadd_t own_ = 0, remote_ = 0;
  std::uint64_t next_ = 0, under_way_ = 0, arrived_ = 0;
};

double seconds_of(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The median of the repetitions, after one that says how many operations fit into one.
double median_of(Side& side, auto&& work, auto&& figure) {
  std::uint64_t count = kMost / 64;
  const double trial = seconds_of([&] { work(count); });
  count = side.agree(
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(kLongest / trial * static_cast<double>(count)), 1, kMost));
  std::array<double, kRepetitions> figures{};
  for (double& each : figures) each = figure(count, seconds_of([&] { work(count); }));
  std::ranges::sort(figures);
  return figures[kRepetitions / 2];
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 5 ? argv[1] : "";
  const bool latency = what == "latency";
  const std::size_t bytes = latency || what == "rate" ? std::strtoull(argv[2], nullptr, 10) : 0;
  const std::size_t record = bytes > 0 ? std::strtoull(argv[3], nullptr, 10) : 0;
  const std::size_t engines = bytes > 0 ? std::strtoull(argv[4], nullptr, 10) : 0;
  if (record <= kWord || record > kSlotBytes || engines < 1 || engines > 6) {
    std::fputs("bare: expected latency|rate BYTES RECORD ENGINES\n", stderr);
    return 2;
  }
  void* const shared = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("no memory", 0);
  auto& meeting = *new (shared) Meeting;
  const pid_t child = ::fork();
  if (child < 0) fail("fork", child);
  const int which = child != 0 ? 0 : 1;
  if (which == 1) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin(which);
  ::setenv("HEDDLE_RANK", which == 0 ? "0" : "1", 1); // by which the emulation knows the node
  Side side(meeting, which, record, engines);
  const double found =
      latency ? median_of(
                    side, [&](std::uint64_t count) { side.round_trips(count); },
                    [](std::uint64_t count, double seconds) { return seconds * 1e6 / 2 / static_cast<double>(count); })
              : median_of(
                    side, [&](std::uint64_t count) { side.windows(count / kWindow + 1); },
                    [](std::uint64_t count, double seconds) {
                      return static_cast<double>((count / kWindow + 1) * kWindow) / seconds;
                    });
  side.leave();
  if (which == 1) return 0;
  std::printf("{\"results\": [{\"bytes\": %zu, \"%s\": %.6g}]}\n", bytes, latency ? "median_us" : "median_per_s",
              found);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
