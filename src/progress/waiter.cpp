#include "progress/waiter.hpp"

#include "base/pause.hpp"

#include <sched.h>

#include <algorithm>

namespace heddle::progress {

namespace {

// Polls without any pause: a reply from a peer that is running comes within them.
constexpr std::uint64_t kQuickSpins = 512;
// When processes outnumber cores, whoever is waited for is likely not running: spinning only keeps it from running.
constexpr std::uint64_t kCrowdedSpins = 32;
// Turns given away before sleeping: each lets every runnable process have the core once.
constexpr std::uint32_t kYieldsBeforeSleep = 64;
constexpr std::uint64_t kPollsPerClock = 64;
// A turn that comes back later than this went to somebody else's work, which keeps the core for a whole time slice. Then
// sleeping is better: the message wakes this process, and whoever wakes is served before those who compute. Measured with
// 16 processes on 2 busy cores, a barrier took 0.5 ms without giving turns away, 2 to 10 ms with.
constexpr std::chrono::microseconds kSlowTurn{200};
// Waits that sleep at once after a slow turn; twice as many after each further one that follows.
constexpr std::uint32_t kFewestWaitsWithoutTurns = 256;
constexpr std::uint32_t kMostWaitsWithoutTurns = 1U << 16U;
// Where something may arrive untold: long enough to give the core away, short enough that a message is hardly late.
constexpr std::chrono::nanoseconds kNap = std::chrono::microseconds(50);

} // namespace

Waiter::Waiter(const Config& config, std::span<ir::Translator* const> networks)
    : config_(config),
      spins_before_pause_(config.crowded && config.waiting != Waiting::spin ? kCrowdedSpins : kQuickSpins),
      next_without_turns_(kFewestWaitsWithoutTurns) {
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
  if (idle_polls_ == spins_before_pause_ + 1) {
    idle_since_ = std::chrono::steady_clock::now();
    yielding_ = config_.crowded;
    yields_ = 0;
    if (waits_without_turns_ > 0 && config_.waiting != Waiting::yield) {
      --waits_without_turns_;
      yields_ = kYieldsBeforeSleep;
    }
  }
  if (!yielding_) {
    if (idle_polls_ % kPollsPerClock == 0) yielding_ = std::chrono::steady_clock::now() - idle_since_ >= config_.spin;
    base::pause_briefly();
    return Advice::poll;
  }
  if (config_.waiting == Waiting::yield || ++yields_ <= kYieldsBeforeSleep) {
    give_turn_away();
    return Advice::poll;
  }
  announce_sleep();
  return Advice::check_then_sleep;
}

void Waiter::announce_sleep() {
  const auto by = networks_.size() == 1 ? ir::Sleeping::By::sleep : ir::Sleeping::By::descriptor;
  must_nap_ = !knows_all_;
  for (ir::Sleeping* network : networks_)
    if (!network->announce_sleep(by)) must_nap_ = true;
}

void Waiter::give_turn_away() {
  const auto before = std::chrono::steady_clock::now();
  ::sched_yield();
  if (std::chrono::steady_clock::now() - before < kSlowTurn) {
    if (yields_ == kYieldsBeforeSleep) next_without_turns_ = kFewestWaitsWithoutTurns; // all of them were quick
    return;
  }
  waits_without_turns_ = next_without_turns_;
  next_without_turns_ = std::min(2 * next_without_turns_, kMostWaitsWithoutTurns);
  yields_ = kYieldsBeforeSleep;
}

void Waiter::sleep(std::chrono::nanoseconds limit) {
  if (must_nap_) limit = std::min(limit, kNap);
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
