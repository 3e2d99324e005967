#include "progress/loop_descriptor.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace heddle::progress {

namespace {

std::unexpected<Error> refused() {
  return std::unexpected(Error{.code = ErrorCode::system_failed,
                               .fact = "cannot create a descriptor to sleep on",
                               .remedy = "raise the limit on open files (ulimit -n)",
                               .system_code = errno});
}

} // namespace

Result<LoopDescriptor> LoopDescriptor::create(std::span<ir::Sleeping* const> networks, int store) {
  LoopDescriptor made;
  made.networks_.assign(networks.begin(), networks.end());
  made.poller_ = base::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  made.timer_ = base::Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!made.poller_.open() || !made.timer_.open()) return refused();
  std::vector<int> watched{made.timer_.number()};
  if (store >= 0) watched.push_back(store);
  for (ir::Sleeping* network : networks) {
    const auto descriptor = network->descriptor();
    if (!descriptor) return std::unexpected(descriptor.error());
    watched.push_back(*descriptor);
  }
  for (const int each : watched) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = each}};
    if (::epoll_ctl(made.poller_.number(), EPOLL_CTL_ADD, each, &wanted) != 0) return refused();
  }
  return made;
}

bool LoopDescriptor::arm() {
  bool certain = true;
  for (ir::Sleeping* network : networks_) certain = network->announce_sleep(ir::Sleeping::By::descriptor) && certain;
  return certain;
}

std::optional<std::chrono::nanoseconds> LoopDescriptor::due() const {
  std::optional<std::chrono::nanoseconds> first;
  for (ir::Sleeping* network : networks_)
    if (const auto each = network->due(); each && (!first || *each < *first)) first = each;
  return first;
}

void LoopDescriptor::set_timer(std::optional<std::chrono::nanoseconds> after) const {
  itimerspec time{};
  if (after) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*after);
    time.it_value = {.tv_sec = seconds.count(), .tv_nsec = (*after - seconds).count()};
  }
  ::timerfd_settime(timer_.number(), 0, &time, nullptr); // also forgets that it has run out
}

void LoopDescriptor::forget(int descriptor) const {
  ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void LoopDescriptor::disarm() {
  for (ir::Sleeping* network : networks_) network->cancel_sleep();
  set_timer(std::nullopt);
}

} // namespace heddle::progress
