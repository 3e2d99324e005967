#include "api/fork_mark.hpp"

#include <pthread.h>

#include <mutex>

namespace heddle::api {
namespace {

// All that are watched. Held over a fork, so that the child finds the list whole, whatever other threads do.
std::mutex mutex;
ForkMark* first = nullptr;
std::once_flag registered;

} // namespace

void ForkMark::watch() {
  std::call_once(registered, [] { ::pthread_atfork(prepare, go_on, mark_all); });
  const std::lock_guard lock(mutex);
  watched_ = true;
  next_ = first;
  if (next_ != nullptr) next_->before_ = this;
  first = this;
}

ForkMark::~ForkMark() {
  if (!watched_) return;
  const std::lock_guard lock(mutex);
  (before_ == nullptr ? first : before_->next_) = next_;
  if (next_ != nullptr) next_->before_ = before_;
}

void ForkMark::prepare() {
  mutex.lock();
}
void ForkMark::go_on() {
  mutex.unlock();
}
void ForkMark::mark_all() {
  for (ForkMark* mark = first; mark != nullptr; mark = mark->next_) mark->in_child_ = true;
  mutex.unlock();
}

} // namespace heddle::api
