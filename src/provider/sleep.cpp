#include "provider/objects.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace heddle::provider {

Sleep::~Sleep() {
  if (own_ >= 0) ::close(own_);
  if (all_ >= 0) ::close(all_);
}

int Sleep::open() {
  all_ = ::epoll_create1(EPOLL_CLOEXEC);
  own_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (all_ < 0 || own_ < 0) return -errno;
  return watch(own_);
}

int Sleep::watch(int descriptor) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  return ::epoll_ctl(all_, EPOLL_CTL_ADD, descriptor, &event) == 0 || errno == EEXIST ? 0 : -errno;
}

void Sleep::forget(int descriptor) const {
  static_cast<void>(::epoll_ctl(all_, EPOLL_CTL_DEL, descriptor, nullptr));
}

void Sleep::wake() {
  armed_ = false;
  woken_ = true;
  const std::uint64_t one = 1;
  static_cast<void>(!::write(own_, &one, sizeof one)); // full: it is readable anyway
}

void Sleep::clear() {
  if (!std::exchange(woken_, false)) return;
  std::uint64_t count = 0;
  static_cast<void>(!::read(own_, &count, sizeof count));
}

} // namespace heddle::provider
