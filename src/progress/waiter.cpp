#include "progress/waiter.hpp"

#include "base/clock.hpp"
#include "base/pause.hpp"

#include <sched.h>

#include <algorithm>

namespace heddle::progress {

namespace {

// While a process spins on a core that seems to be its own, it gives a turn away now and then to see whether it still is.
constexpr std::uint64_t kPollsPerClock = 64;
// Where something may arrive untold: long enough to give the core away, short enough that a message is hardly late.
constexpr std::chrono::nanoseconds kNap = std::chrono::microseconds(50);

} // namespace

Waiter::Waiter(const Config& config, std::span<ir::Translator* const> networks)
    : config_(config),
      core_(config.on_each > 1 && config.waiting != Waiting::spin),
      turn_length_(config.on_each, base::steady_ns()) {
  if (core_.shared()) spins_before_pause_ = kSharedSpins;
  for (ir::Translator* network : networks) {
    if (ir::Sleeping* sleeping = network->facets().sleeping)
      networks_.push_back(sleeping);
    else
      knows_all_ = false;
  }
  if (networks_.size() < 2) return;
  for (ir::Sleeping* network : networks_) {
    if (const auto descriptor = network->descriptor())
      descriptors_.push_back({.fd = *descriptor, .events = POLLIN, .revents = 0});
    else
      knows_all_ = false;
  }
}

Waiter::Advice Waiter::idle_long() {
  if (config_.waiting == Waiting::spin) {
    base::pause_briefly();
    return Advice::poll;
  }
  const bool first = idle_polls_ == spins_before_pause_ + 1;
  if (!core_.shared()) base::pause_briefly();
  if (!first && (!core_.shared() || !gives_turns_) && idle_polls_ % kPollsPerClock != 0) return Advice::poll;
  const std::uint64_t now = base::steady_ns();
  if (first) begin_long_wait(now);
  const bool over = now - idle_since_ns_ >= static_cast<std::uint64_t>(config_.spin.count()) * 1000;
  if (config_.waiting == Waiting::yield || (gives_turns_ && !over)) {
    if (core_.shared() || core_.may_try(now)) give_turn_away(now);
    return Advice::poll;
  }
  if (first) return Advice::poll; // whoever is waited for may be running, and answer in a moment
  announce_sleep();
  return Advice::check_then_sleep;
}

void Waiter::begin_long_wait(std::uint64_t now_ns) {
  idle_since_ns_ = now_ns;
  gives_turns_ = !core_.shared() || turn_length_.gives_turns(now_ns);
}

void Waiter::end_long_wait() {
  spins_before_pause_ = core_.shared() ? kSharedSpins : kQuickSpins;
}

void Waiter::give_turn_away(std::uint64_t now_ns) {
  ::sched_yield();
  const std::uint64_t back = base::steady_ns();
  if (core_.note_turn(back - now_ns, now_ns) && core_.shared()) turn_length_.note_turn(now_ns, back);
}

void Waiter::relax() {
  if (config_.waiting != Waiting::spin && (core_.shared() || ++relaxed_ % kPollsPerClock == 0)) {
    const std::uint64_t now = base::steady_ns();
    if (core_.shared() || core_.may_try(now)) return give_turn_away(now);
  }
  base::pause_briefly();
}

void Waiter::announce_sleep() {
  const auto by = networks_.size() == 1 ? ir::Sleeping::By::sleep : ir::Sleeping::By::descriptor;
  must_nap_ = !knows_all_;
  for (ir::Sleeping* network : networks_)
    if (!network->announce_sleep(by)) must_nap_ = true;
}

void Waiter::sleep(std::chrono::nanoseconds limit) {
  if (must_nap_) limit = std::min(limit, kNap);
  sleep_on_all(limit);
  turn_length_.note_sleep(base::steady_ns());
}

void Waiter::sleep_on_all(std::chrono::nanoseconds limit) {
  if (networks_.size() == 1) return networks_.front()->sleep(limit);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
  ::ppoll(descriptors_.data(), descriptors_.size(), &time, nullptr);
  for (ir::Sleeping* network : networks_) network->cancel_sleep();
}

void Waiter::cancel() {
  for (ir::Sleeping* network : networks_) network->cancel_sleep();
  busy();
}

} // namespace heddle::progress
