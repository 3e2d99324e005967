#include "tests/fuzz/kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace heddle::fuzz {

namespace {

constexpr std::uint8_t kLeap = 224; // of a wait: time passes, up to half a minute

std::uint64_t ns_of(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

} // namespace

int Kernel::epoll_create1(int) {
  auto object = std::make_unique<Object>();
  object->kind = Kind::poller;
  return add(std::move(object));
}

int Kernel::epoll_ctl(int poller, int operation, int descriptor, epoll_event* event) {
  Object* object = find(poller, Kind::poller);
  const auto index = static_cast<std::size_t>(descriptor - kFirstDescriptor);
  if (object == nullptr || index >= objects_.size() || objects_[index] == nullptr) return fail(EBADF);
  const auto known = std::ranges::find(object->watched, descriptor, &Watched::descriptor);
  const bool is_known = known != object->watched.end();
  if (operation == EPOLL_CTL_ADD) {
    if (is_known) return fail(EEXIST);
    object->watched.push_back({descriptor, *event});
    return 0;
  }
  if (!is_known) return fail(ENOENT);
  if (operation == EPOLL_CTL_DEL)
    object->watched.erase(known);
  else
    known->event = *event;
  return 0;
}

std::uint32_t Kernel::state_of(const Object& object) const {
  switch (object.kind) {
    case Kind::timer: return object.due_ns != 0 && object.due_ns <= now_ns_ ? EPOLLIN : 0U;
    case Kind::poller:
      return std::ranges::any_of(object.watched,
                                 [&](const Watched& each) {
                                   const auto index = static_cast<std::size_t>(each.descriptor - kFirstDescriptor);
                                   return (state_of(*objects_[index]) & (each.event.events | EPOLLERR | EPOLLHUP)) != 0;
                                 })
                 ? EPOLLIN
                 : 0U;
    case Kind::socket: break;
  }
  if (object.listens) return object.waiting.empty() ? 0U : EPOLLIN;
  if (!object.connected) return EPOLLOUT | EPOLLHUP;
  if (object.on_its_way) return 0;
  std::uint32_t state = 0;
  if (object.unread() > 0 || object.ended) state |= EPOLLIN;
  if (object.error != 0) state |= EPOLLERR;
  if (object.was_reset) state |= EPOLLHUP;
  if (object.peer == nullptr || object.peer->unread() < capacity_) state |= EPOLLOUT;
  return state;
}

int Kernel::epoll_wait(int poller, epoll_event* events, int most, int) {
  Object* object = find(poller, Kind::poller);
  if (object == nullptr) return -1;
  if (const std::uint8_t mood = next_mood(); mood >= kLeap) {
    disturbed_ = true;
    pass(std::uint64_t{1'000'000} << (mood - kLeap) / 2U);
  }
  // In turns, as the system does: who brings much does not hide the others.
  int count = 0;
  const std::size_t all = object->watched.size();
  for (std::size_t i = 0; i < all && count < most; ++i) {
    const Watched& each = object->watched[(object->first + i) % all];
    Object& one = *objects_[static_cast<std::size_t>(each.descriptor - kFirstDescriptor)];
    const std::uint32_t state = state_of(one) & (each.event.events | EPOLLERR | EPOLLHUP);
    if (state == 0) continue;
    events[count] = each.event;
    events[count].events = state;
    ++count;
  }
  for (const auto& each : objects_)
    if (each != nullptr) each->on_its_way = false;
  if (all > 0) object->first = (object->first + 1) % all;
  return count;
}

int Kernel::timerfd_create(int, int) {
  auto object = std::make_unique<Object>();
  object->kind = Kind::timer;
  return add(std::move(object));
}

int Kernel::timerfd_settime(int descriptor, int, const itimerspec* wanted, itimerspec*) {
  Object* object = find(descriptor, Kind::timer);
  if (object == nullptr) return -1;
  const std::uint64_t first = ns_of(wanted->it_value);
  object->due_ns = first == 0 ? 0 : now_ns_ + first;
  object->interval_ns = ns_of(wanted->it_interval);
  return 0;
}

ssize_t Kernel::read(int descriptor, void* data, std::size_t bytes) {
  Object* object = find(descriptor, Kind::timer);
  if (object == nullptr) return -1;
  std::uint64_t ticks = 0;
  if (bytes < sizeof ticks) return fail(EINVAL);
  if (object->due_ns == 0 || object->due_ns > now_ns_) return fail(EAGAIN);
  ticks = 1;
  if (object->interval_ns == 0) {
    object->due_ns = 0;
  } else {
    ticks += (now_ns_ - object->due_ns) / object->interval_ns;
    object->due_ns += ticks * object->interval_ns;
  }
  std::memcpy(data, &ticks, sizeof ticks);
  return sizeof ticks;
}

} // namespace heddle::fuzz
