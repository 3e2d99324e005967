#include "base/process_watch.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace heddle::base {

namespace {

bool has_ended(std::int32_t process) {
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

} // namespace

ProcessWatch::ProcessWatch() : poller_(::epoll_create1(EPOLL_CLOEXEC)) {}

void ProcessWatch::watch(std::int32_t process) {
  Watched& watched = watched_[process];
  if (watched.count++ > 0) return;
  Descriptor ending(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = process}};
  if (ending.open() && poller_.open() && ::epoll_ctl(poller_.number(), EPOLL_CTL_ADD, ending.number(), &wanted) == 0)
    watched.ending = std::move(ending);
  else
    ++unseen_;
}

void ProcessWatch::forget(std::int32_t process) {
  const auto found = watched_.find(process);
  if (found == watched_.end() || --found->second.count > 0) return;
  if (!found->second.ending.open() && !found->second.told) --unseen_;
  close(found->second);
  watched_.erase(found);
}

// Taken out of the poller first: a child of fork may hold the descriptor open, and the poller would go on telling of it.
void ProcessWatch::close(Watched& watched) const {
  if (!watched.ending.open()) return;
  ::epoll_ctl(poller_.number(), EPOLL_CTL_DEL, watched.ending.number(), nullptr);
  watched.ending.reset();
}

std::size_t ProcessWatch::take_ended(std::span<std::int32_t> processes) {
  std::size_t count = 0;
  std::array<epoll_event, 16> events;
  const std::size_t room = std::min(processes.size(), events.size());
  const int ready =
      poller_.open() && room > 0 ? ::epoll_wait(poller_.number(), events.data(), static_cast<int>(room), 0) : 0;
  for (int i = 0; i < ready; ++i) {
    const auto found = watched_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == watched_.end() || found->second.told) continue;
    close(found->second);
    found->second.told = true;
    processes[count++] = found->first;
  }
  if (unseen_ == 0) return count;
  for (auto& [process, watched] : watched_) {
    if (count == processes.size()) break;
    if (watched.ending.open() || watched.told || !has_ended(process)) continue;
    watched.told = true;
    --unseen_;
    processes[count++] = process;
  }
  return count;
}

} // namespace heddle::base
