// Counters.
#include "provider/queue.hpp"

#include <poll.h>

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
  return counter.value;
}
std::uint64_t read_errors(fid_cntr* fid) {
  Counter& counter = counter_of(fid);
  const Lock lock(*counter.domain);
  make_progress(counter.endpoints);
  return counter.errors;
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

// Until the value is reached. An error that is counted meanwhile ends it, too: what is waited for may then never come.
int wait_for_count(fid_cntr* fid, std::uint64_t threshold, int timeout) {
  Counter& counter = counter_of(fid);
  if (!counter.sleep.exists()) return -FI_ENOSYS;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout);
  const std::uint64_t errors = read_errors(fid);
  for (;;) {
    if (read_value(fid) >= threshold) return 0;
    if (read_errors(fid) != errors) return -FI_EAVAIL;
    int left = -1;
    if (timeout >= 0) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (rest.count() <= 0) return -FI_ETIMEDOUT;
      left = static_cast<int>(rest.count());
    }
    if (try_wait(counter) != 0) continue;
    if (read_value(fid) >= threshold) return 0;
    pollfd descriptor{.fd = counter.sleep.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&descriptor, 1, left) < 0 && errno != EINTR) return -errno;
  }
}

int close_counter(fid* fid) {
  auto& counter = *reinterpret_cast<Counter*>(fid);
  {
    const Lock lock(*counter.domain);
    if (!counter.endpoints.empty()) return -FI_EBUSY;
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
  counter.sleep.clear();
  return go_to_sleep(counter.endpoints, counter.sleep) ? 0 : -FI_EAGAIN;
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
