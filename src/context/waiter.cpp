#include "context/waiter.hpp"

#include <sched.h>

namespace heddle::context {

namespace {

// Polls without any pause: a reply from a peer that is running comes within them.
constexpr std::uint64_t kQuickSpins = 512;
// When processes outnumber cores, whoever is waited for is likely not running: spinning only keeps it from running.
constexpr std::uint64_t kCrowdedSpins = 32;
// Turns given away before sleeping: each lets every runnable process have the core once.
constexpr std::uint32_t kYieldsBeforeSleep = 64;
constexpr std::uint64_t kPollsPerClock = 64;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace

ProcessorSet usable_processors() {
  ProcessorSet usable{};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return usable;
  for (std::size_t cpu = 0; cpu < usable.size() * 64 && cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) usable[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
  return usable;
}

Waiter::Waiter(const Config& config, std::vector<ir::Translator*> translators)
    : config_(config),
      translators_(std::move(translators)),
      spins_before_pause_(config.crowded && config.waiting != Waiting::spin ? kCrowdedSpins : kQuickSpins) {}

Waiter::Advice Waiter::idle_long() {
  if (config_.waiting == Waiting::spin) {
    pause_briefly();
    return Advice::poll;
  }
  if (idle_polls_ == spins_before_pause_ + 1) {
    idle_since_ = std::chrono::steady_clock::now();
    yielding_ = config_.crowded;
    yields_ = 0;
  }
  if (!yielding_) {
    if (idle_polls_ % kPollsPerClock == 0) yielding_ = std::chrono::steady_clock::now() - idle_since_ >= config_.spin;
    pause_briefly();
    return Advice::poll;
  }
  if (config_.waiting == Waiting::yield || ++yields_ <= kYieldsBeforeSleep) {
    ::sched_yield();
    return Advice::poll;
  }
  if (!translators_.empty()) translators_.front()->announce_sleep();
  return Advice::check_then_sleep;
}

void Waiter::sleep(std::chrono::nanoseconds limit) {
  if (!translators_.empty()) translators_.front()->sleep(limit);
}

void Waiter::cancel() {
  if (!translators_.empty()) translators_.front()->cancel_sleep();
  busy();
}

} // namespace heddle::context
