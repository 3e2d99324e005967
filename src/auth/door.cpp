#include "auth/door.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace heddle::auth {

namespace {

// What the poller brings back for the two that are no newcomers.
constexpr std::uint64_t kListener = 0;
constexpr std::uint64_t kTimer = 1;

void watch(int poller, int descriptor, std::uint64_t what) {
  epoll_event wanted{.events = EPOLLIN, .data = {.u64 = what}};
  ::epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &wanted);
}

void tick(int timer, bool on) {
  const itimerspec each{.it_interval = {.tv_sec = on ? 1 : 0, .tv_nsec = 0},
                        .it_value = {.tv_sec = on ? 1 : 0, .tv_nsec = 0}};
  ::timerfd_settime(timer, 0, &each, nullptr);
}

} // namespace

Result<std::unique_ptr<Door>> Door::open(const Config& config) {
  net::Endpoint endpoint{.host = config.host};
  auto listener = net::listen_at(endpoint, config.ports);
  if (!listener) return std::unexpected(std::move(listener.error()));
  base::Descriptor poller(::epoll_create1(EPOLL_CLOEXEC));
  base::Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!poller.open() || !timer.open())
    return std::unexpected(
        Error{.code = errno == EMFILE || errno == ENFILE ? ErrorCode::out_of_descriptors : ErrorCode::system_failed,
              .fact = "cannot wait for connections: " + std::generic_category().message(errno),
              .system_code = errno});
  return std::unique_ptr<Door>(new Door(config, endpoint, std::move(*listener), std::move(poller), std::move(timer)));
}

Door::Door(const Config& config, const net::Endpoint& endpoint, base::Descriptor listener, base::Descriptor poller,
           base::Descriptor timer)
    : secret_(config.secret),
      service_(config.service),
      log_(config.log),
      endpoint_(endpoint),
      listener_(std::move(listener)),
      poller_(std::move(poller)),
      timer_(std::move(timer)) {
  watch(poller_.number(), listener_.number(), kListener);
  watch(poller_.number(), timer_.number(), kTimer);
}

std::vector<base::Descriptor> Door::admit() {
  std::vector<base::Descriptor> admitted;
  std::array<epoll_event, 64> ready{};
  const int count = ::epoll_wait(poller_.number(), ready.data(), static_cast<int>(ready.size()), 0);
  bool come = false;
  bool ticked = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t what = ready[static_cast<std::size_t>(i)].data.u64;
    if (what == kListener)
      come = true;
    else if (what == kTimer)
      ticked = true;
    else
      hear(*reinterpret_cast<Newcomer*>(what), admitted);
  }
  // Only now: nothing that the events above point to has gone before.
  std::erase_if(newcomers_, [](const Newcomer& each) { return each.done; });
  if (ticked) look_at_clock();
  if (come) accept_all();
  return admitted;
}

void Door::accept_all() {
  while (true) {
    base::Descriptor socket = net::accept_one(listener_.number());
    if (!socket.open()) {
      const int reason = errno;
      if (reason == EINTR || reason == ECONNABORTED) continue;
      if (reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == ENOBUFS) {
        // The system would report the same connection again and again: the timer brings it back.
        ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, listener_.number(), nullptr);
        accepts_ = false;
        log_.warning("no further connection can be accepted for now: " + std::generic_category().message(reason));
        tick(timer_.number(), true);
      }
      return;
    }
    // Who belongs here is done in a moment: of many who wait, the one that has waited longest is a stranger.
    if (newcomers_.size() >= kMostIntroductions) newcomers_.pop_front();
    if (newcomers_.empty()) tick(timer_.number(), true);
    Newcomer& newcomer =
        newcomers_.emplace_back(std::move(socket), Introduction(Introduction::Role::answers, secret_, service_),
                                base::deadline_in(kIntroductionLimit));
    watch(poller_.number(), newcomer.socket.number(), reinterpret_cast<std::uint64_t>(&newcomer));
  }
}

void Door::hear(Newcomer& newcomer, std::vector<base::Descriptor>& admitted) {
  switch (newcomer.introduction.advance(newcomer.socket.number())) {
    case Introduction::State::goes_on: return;
    case Introduction::State::failed:
      log_.info("a connection was turned away: " + newcomer.introduction.reason());
      break;
    case Introduction::State::proven:
      ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, newcomer.socket.number(), nullptr);
      admitted.push_back(std::move(newcomer.socket));
      break;
  }
  newcomer.done = true;
}

void Door::look_at_clock() {
  std::uint64_t ticks = 0;
  [[maybe_unused]] const auto got = ::read(timer_.number(), &ticks, sizeof ticks);
  const base::Deadline now = base::Clock::now();
  std::erase_if(newcomers_, [&](const Newcomer& each) { return each.deadline < now; });
  if (!std::exchange(accepts_, true)) watch(poller_.number(), listener_.number(), kListener);
  if (newcomers_.empty()) tick(timer_.number(), false);
}

void Door::decline_all() {
  if (accepts_) accept_all();
  for (const Newcomer& newcomer : newcomers_) Introduction::decline(newcomer.socket.number());
}

} // namespace heddle::auth
