// Counters.
#include "provider/queue.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>

namespace heddle::provider {

namespace {

Counter& counter_of(fid_cntr* fid) {
  return *reinterpret_cast<Counter*>(fid);
}

std::uint64_t read_value(fid_cntr* fid) {
  Counter& counter = counter_of(fid);
  const Lock lock(*counter.domain);
  make_progress(counter.endpoints);
  if (counter.value == counter.seen) relax(counter.endpoints, counter.vain);
  return counter.seen = counter.value;
}
std::uint64_t read_errors(fid_cntr* fid) {
  Counter& counter = counter_of(fid);
  const Lock lock(*counter.domain);
  make_progress(counter.endpoints);
  return counter.seen_errors = counter.errors;
}

template <bool Errors, bool Adds>
int change(fid_cntr* fid, std::uint64_t value) {
  Counter& counter = counter_of(fid);
  const Lock lock(*counter.domain);
  std::uint64_t& changed = Errors ? counter.errors : counter.value;
  changed = Adds ? changed + value : value;
  if (counter.sleep.exists()) counter.sleep.wake();
  return 0;
}

// One of the counter's waiters, for as long as it exists.
class Waiting {
 public:
  Waiting(Counter& counter, std::uint64_t threshold) : counter_(counter) {
    const Lock lock(*counter.domain);
    make_progress(counter.endpoints);
    waiter_ = counter.waiters.insert(counter.waiters.end(), {.threshold = threshold, .errors = counter.errors});
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    const Lock lock(*counter_.domain);
    counter_.waiters.erase(waiter_);
  }
  // -FI_EAGAIN: not yet.
  [[nodiscard]] int outcome() {
    const Lock lock(*counter_.domain);
    make_progress(counter_.endpoints);
    if (counter_.value >= waiter_->threshold) return 0;
    return counter_.is_over(*waiter_) ? -FI_EAVAIL : -FI_EAGAIN;
  }

 private:
  Counter& counter_;
  std::list<Counter::Waiter>::iterator waiter_;
};

int wait_for_count(fid_cntr* fid, std::uint64_t threshold, int timeout) try {
  Counter& counter = counter_of(fid);
  if (!counter.sleep.exists()) return -FI_ENOSYS;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout);
  Waiting waiting(counter, threshold);
  for (;;) {
    if (const int outcome = waiting.outcome(); outcome != -FI_EAGAIN) return outcome;
    int left = -1;
    if (timeout >= 0) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (rest.count() <= 0) return -FI_ETIMEDOUT;
      left = static_cast<int>(rest.count());
    }
    if (try_wait(counter) != 0) continue; // it is over, or something is under way
    pollfd descriptor{.fd = counter.sleep.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&descriptor, 1, left) < 0 && errno != EINTR) return -errno;
  }
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int close_counter(fid* fid) {
  auto& counter = *reinterpret_cast<Counter*>(fid);
  {
    const Lock lock(*counter.domain);
    if (!counter.endpoints.empty() || counter.poll_sets > 0) return -FI_EBUSY;
    --counter.domain->users;
  }
  delete &counter;
  return 0;
}

int control_counter(fid* fid, int command, void* argument) {
  const auto& counter = *reinterpret_cast<Counter*>(fid);
  if (command != FI_GETWAIT || !counter.sleep.exists()) return -FI_ENOSYS;
  *static_cast<int*>(argument) = counter.sleep.descriptor();
  return 0;
}

fi_ops counter_fid_operations = {
    .size = sizeof(fi_ops), .close = close_counter, .bind = no_bind, .control = control_counter, .ops_open = no_ops};
fi_ops_cntr counter_operations = {.size = sizeof(fi_ops_cntr),
                                  .read = read_value,
                                  .readerr = read_errors,
                                  .add = change<false, true>,
                                  .set = change<false, false>,
                                  .wait = wait_for_count,
                                  .adderr = change<true, true>,
                                  .seterr = change<true, false>};

} // namespace

int try_wait(Counter& counter) {
  const Lock lock(*counter.domain);
  if (!counter.sleep.exists()) return -FI_ENOSYS;
  const auto is_over = [&counter](const Counter::Waiter& waiter) { return counter.is_over(waiter); };
  if (std::ranges::any_of(counter.waiters, is_over)) return -FI_EAGAIN; // it has yet to wake
  if (!go_to_sleep(counter.endpoints, counter.sleep)) return -FI_EAGAIN;
  counter.sleep.clear();
  return 0;
}

int open_counter(fid_domain* domain_fid, fi_cntr_attr* attributes, fid_cntr** fid, void* context) try {
  auto& domain = *reinterpret_cast<Domain*>(domain_fid);
  auto counter = std::make_unique<Counter>();
  const fi_wait_obj wanted = attributes != nullptr ? attributes->wait_obj : FI_WAIT_UNSPEC;
  if (wanted == FI_WAIT_FD || wanted == FI_WAIT_UNSPEC) {
    if (const int status = counter->sleep.open(); status != 0) return status;
  } else if (wanted != FI_WAIT_NONE) {
    return -FI_ENOSYS;
  }
  counter->domain = &domain;
  counter->fid = {.fid = {.fclass = FI_CLASS_CNTR, .context = context, .ops = &counter_fid_operations},
                  .ops = &counter_operations};
  const Lock lock(domain);
  ++domain.users;
  *fid = &counter.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

} // namespace heddle::provider
