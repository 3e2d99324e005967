// Whom a poll looks at, and how a process sleeps.
#include "base/clock.hpp"
#include "net/sockets.hpp"
#include "translators/tcp/tcp.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace heddle::translators {

using tcp::Wire;
using tcp::WireState;

namespace {

// While only one connection brings something, the others are looked at once in so many reads of it.
constexpr std::uint64_t kReadsPerLook = 64;
// After so many reads that brought something, the system need not tell of it any more.
constexpr std::uint32_t kFruitfulReads = 64;
// After several connections have brought something, so many polls ask for all of them.
constexpr std::uint64_t kPollsWithSeveral = 1024;
// After so many polls that brought nothing, the system is asked by the clock: other networks of this process want to be polled, too.
constexpr std::uint64_t kBusyPolls = 256;
constexpr std::uint64_t kBetweenLooksNs = 1'000;
constexpr std::uint64_t kBetweenLooksAloneNs = 50'000; // where nobody is connected
constexpr int kReadsAtOnce = 8;

} // namespace

std::size_t Tcp::poll(std::span<ir::Event> events) {
  ++polls_;
  try {
    look(events.empty());
  } catch (const std::bad_alloc&) { // what it was about is looked at again
  }
  return events_.pop(events);
}

void Tcp::look(bool takes_no_events) {
  if (!held_.empty() && events_.empty()) release_held();
  if (!to_flush_.empty()) flush_listed();
  const bool has_enough = !events_.empty() && !takes_no_events; // the system is asked when they are taken
  if (!has_enough && looks_now()) {
    if (hot_ != nullptr) read_hot();
    if (hot_ == nullptr || ++hot_reads_ % kReadsPerLook == 0 || idle_polls_ > kBusyPolls) epoll_pass();
  }
  look_at_clock();
}

bool Tcp::looks_now() {
  if (++idle_polls_ <= kBusyPolls) return true;
  const std::uint64_t now = base::steady_ns();
  const bool alone = wires_.empty() && newcomers_.empty();
  if (now - last_looked_ns_ < (alone ? kBetweenLooksAloneNs : kBetweenLooksNs)) return false;
  last_looked_ns_ = now;
  return true;
}

void Tcp::flush_listed() {
  for (std::size_t i = 0; i < to_flush_.size();) {
    Wire& wire = *to_flush_[i];
    flush(wire);
    if (wire.has_to_send()) {
      ++i;
      continue;
    }
    wire.listed = false;
    to_flush_[i] = to_flush_.back();
    to_flush_.pop_back();
  }
}

void Tcp::read_hot() {
  Wire& wire = *hot_;
  const bool brought = read(wire);
  if (hot_ == nullptr || !brought || wire.unwatched || wire.watched_for_room) return;
  if (++fruitful_reads_ >= kFruitfulReads) unwatch(wire);
}

bool Tcp::read(Wire& wire) {
  reading_ = &wire;
  auto state = tcp::Inflow::State::goes_on;
  bool brought = false;
  // What comes may have to be answered and told: while memory is short it waits in the socket.
  for (int reads = 0; reads < kReadsAtOnce && state == tcp::Inflow::State::goes_on && base::Reserve::may_begin();
       ++reads) {
    try {
      state = wire.in.read(wire.socket.number(), buffer_, *this);
    } catch (const std::bad_alloc&) { // the reserve is used up, too, in the midst of a frame
      errno = 0;
      state = tcp::Inflow::State::ended;
    }
    brought = brought || wire.in.has_brought();
  }
  reading_ = nullptr;
  if (state == tcp::Inflow::State::ended) {
    if (net::is_silence(errno))
      give_up(wire); // connecting again would take as long again
    else
      end_wire(wire);
    return true;
  }
  if (!brought) return false;
  idle_polls_ = 0;
  if (std::exchange(wire.must_confirm, false)) net::confirm(wire.socket.number());
  flush(wire);
  return true;
}

void Tcp::flush(Wire& wire) {
  if (wire.state != WireState::open) return;
  if (std::exchange(wire.gathers, false)) net::send_at_once(wire.socket.number());
  if (!wire.owed.empty()) pay_owed(wire);
  wire.out.flush(wire.socket.number());
  serve_gets(wire);
  const bool full = wire.out.waiting() > 0;
  if (full != wire.watched_for_room) wire.watched_for_room = watch(wire, full ? EPOLLIN | EPOLLOUT : EPOLLIN) && full;
  if (wire.unwatched && wire.has_to_send()) list(wire); // every poll looks whether it takes more
}

bool Tcp::drained() const {
  return std::ranges::none_of(to_flush_,
                              [](const Wire* wire) { return wire->out.waiting() > 0 || !wire->owed.empty(); });
}

bool Tcp::announce_sleep(By) {
  idle_polls_ = 0; // the last look before a sleep is one
  slept_ = true;
  const bool watches_all = watch_again();
  for (Wire* wire : to_flush_) flush(*wire);
  return watches_all;
}

// Of what the other system has not confirmed its silence is seen by the clock alone, as are connections that are not made in time.
std::optional<std::chrono::nanoseconds> Tcp::due() {
  const auto is_confirmed = [](Wire& wire) {
    if (wire.state == WireState::idle || wire.state == WireState::draining) return true;
    if (wire.state != WireState::open) return false;
    if (wire.confirmed == wire.out.taken()) return true;
    if (wire.out.waiting() > 0 || net::unconfirmed(wire.socket.number()) > 0) return false;
    wire.confirmed = wire.out.taken();
    return true;
  };
  bool all = true;
  for (auto& [id, wire] : wires_) for_each_lane(*wire, [&](Wire& lane) { all = all && is_confirmed(lane); });
  if (all) return std::nullopt;
  return tcp::LookRound::kLength;
}

void Tcp::sleep(std::chrono::nanoseconds limit) {
  pollfd waits{.fd = poller_.number(), .events = POLLIN, .revents = 0};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
  ::ppoll(&waits, 1, &time, nullptr);
}

void Tcp::unwatch(Wire& wire) {
  ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, wire.socket.number(), nullptr);
  wire.unwatched = true;
}

bool Tcp::watch_again() {
  fruitful_reads_ = 0;
  return hot_ == nullptr || !hot_->unwatched || watch(*hot_, EPOLLIN);
}

void Tcp::choose_hot(Wire& wire, bool alone) {
  if (hot_ == &wire) return;
  if (alone && hot_ == nullptr && polls_ >= no_hot_until_) {
    hot_ = &wire;
    hot_reads_ = 0;
    fruitful_reads_ = 0;
    return;
  }
  if (!watch_again()) return;
  hot_ = nullptr;
  if (polls_ >= no_hot_until_) no_hot_until_ = polls_ + kPollsWithSeveral;
}

} // namespace heddle::translators
