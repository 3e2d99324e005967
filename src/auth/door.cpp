#include "auth/door.hpp"

#include "base/refusal.hpp"

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

// False: the system lacks memory for it, or the user may watch no more.
bool watch(int poller, int descriptor, std::uint64_t what) {
  epoll_event wanted{.events = EPOLLIN, .data = {.u64 = what}};
  return ::epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &wanted) == 0;
}

constexpr std::chrono::milliseconds kBetweenLooks{1000};
constexpr std::chrono::milliseconds kBetweenLooksWhenFull{50};

// 0: never.
void tick(int timer, std::chrono::milliseconds between) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(between);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(between - seconds).count()};
  const itimerspec each{.it_interval = time, .it_value = time};
  ::timerfd_settime(timer, 0, &each, nullptr);
}

} // namespace

Result<std::unique_ptr<Door>> Door::open(const Config& config) {
  net::Endpoint endpoint{.host = config.host};
  auto listener = net::listen_at(endpoint, config.ports);
  if (!listener) return std::unexpected(std::move(listener.error()));
  base::Descriptor poller(::epoll_create1(EPOLL_CLOEXEC));
  base::Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!poller.open() || !timer.open() || !watch(poller.number(), listener->number(), kListener) ||
      !watch(poller.number(), timer.number(), kTimer))
    return std::unexpected(system_error("cannot wait for connections", errno));
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
      timer_(std::move(timer)) {}

std::vector<base::Descriptor> Door::admit() {
  std::vector<base::Descriptor> admitted;
  std::array<epoll_event, 64> ready{};
  admitted.reserve(ready.size()); // who has proven itself is not lost for lack of memory
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
  if (full_ && newcomers_.size() < kMostIntroductions) {
    go_on_accepting();
    come = true;
  }
  if (come) accept_all();
  return admitted;
}

void Door::accept_all() {
  while (true) {
    if (newcomers_.size() >= kMostIntroductions && !make_room()) {
      full_ = true;
      return pause_accepting(kBetweenLooksWhenFull);
    }
    std::list<Newcomer> next; // memory first: whoever is accepted is not dropped for lack of it
    try {
      next.emplace_back(base::Descriptor(), Introduction(Introduction::Role::answers, secret_, service_),
                        base::Clock::now());
    } catch (const std::bad_alloc&) {
      return pause_accepting(kBetweenLooks);
    }
    Newcomer& newcomer = next.front();
    newcomer.socket = net::accept_one(listener_.number());
    if (!newcomer.socket.open()) {
      const int reason = errno;
      if (reason == EINTR || reason == ECONNABORTED) continue;
      if (reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == ENOBUFS) lack(reason);
      return;
    }
    if (!watch(poller_.number(), newcomer.socket.number(), reinterpret_cast<std::uint64_t>(&newcomer))) {
      const int reason = errno;
      net::reset_when_closed(newcomer.socket.number()); // as who is turned out: it may call again
      return lack(reason);
    }
    if (newcomers_.empty()) tick(timer_.number(), kBetweenLooks);
    newcomers_.splice(newcomers_.end(), next);
  }
}

void Door::lack(int reason) {
  pause_accepting(kBetweenLooks);
  log_.warning("no further connection can be accepted for now: " + std::generic_category().message(reason));
}

// Who belongs here is done in a moment, or, where hundreds come at once, as soon as this process and theirs get to run: of many who
// have waited for longer, the first is a stranger.
bool Door::make_room() {
  if (base::Clock::now() - newcomers_.front().begun < kUndisturbed) return false;
  turn_out(newcomers_.front());
  newcomers_.pop_front();
  return true;
}

// The system would report the same connection again and again: the timer brings it back.
void Door::pause_accepting(std::chrono::milliseconds between_looks) {
  if (std::exchange(accepts_, false)) ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, listener_.number(), nullptr);
  tick(timer_.number(), between_looks);
}

void Door::go_on_accepting() {
  full_ = false;
  if (accepts_) return;
  accepts_ = watch(poller_.number(), listener_.number(), kListener);
  if (!accepts_) tick(timer_.number(), kBetweenLooks);
}

void Door::hear(Newcomer& newcomer, std::vector<base::Descriptor>& admitted) {
  switch (newcomer.introduction.advance(newcomer.socket.number())) {
    case Introduction::State::goes_on: return;
    case Introduction::State::failed:
      log_.info("a connection was turned away: " + newcomer.introduction.reason());
      forget(newcomer);
      break;
    case Introduction::State::proven:
      forget(newcomer);
      admitted.push_back(std::move(newcomer.socket));
      break;
  }
  newcomer.done = true;
}

// Closing alone is not enough: the poller goes on to tell of a connection that a child of this process holds, too.
void Door::forget(const Newcomer& newcomer) {
  ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, newcomer.socket.number(), nullptr);
}

// A reset, not an end in good order, which would say that its secret is another: it may call again.
void Door::turn_out(const Newcomer& newcomer) {
  forget(newcomer);
  net::reset_when_closed(newcomer.socket.number());
}

void Door::turn_all_out() {
  if (accepts_) accept_all();
  for (const Newcomer& newcomer : newcomers_) turn_out(newcomer);
  newcomers_.clear();
}

void Door::look_at_clock() {
  std::uint64_t ticks = 0;
  [[maybe_unused]] const auto got = ::read(timer_.number(), &ticks, sizeof ticks);
  const base::Deadline now = base::Clock::now();
  std::erase_if(newcomers_, [&](const Newcomer& each) {
    const bool late = each.begun + kIntroductionLimit < now;
    if (late) turn_out(each);
    return late;
  });
  tick(timer_.number(), newcomers_.empty() ? std::chrono::milliseconds(0) : kBetweenLooks);
  go_on_accepting(); // which ticks on where it cannot
}

void Door::decline_all() {
  if (accepts_) accept_all();
  for (const Newcomer& newcomer : newcomers_) Introduction::decline(newcomer.socket.number());
}

} // namespace heddle::auth
