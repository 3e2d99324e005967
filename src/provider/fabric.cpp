// The fabric, and event queues, which only carry what the program itself or an address vector writes: nothing here is connected.
#include "provider/queue.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <new>

namespace heddle::provider {

namespace {

struct EventQueue {
  fid_eq fid{};
  std::mutex mutex;
  Sleep sleep;
  struct Entry {
    std::uint32_t event;
    std::vector<std::byte> bytes;
  };
  std::deque<Entry> entries;
};

EventQueue& events_of(fid_eq* fid) {
  return *reinterpret_cast<EventQueue*>(fid);
}

ssize_t read_event(fid_eq* fid, uint32_t* event, void* buffer, size_t bytes, uint64_t flags) {
  EventQueue& queue = events_of(fid);
  const std::lock_guard guard(queue.mutex);
  if (queue.entries.empty()) {
    queue.sleep.clear();
    return -FI_EAGAIN;
  }
  const EventQueue::Entry& first = queue.entries.front();
  if (bytes < first.bytes.size()) return -FI_ETOOSMALL;
  *event = first.event;
  std::memcpy(buffer, first.bytes.data(), first.bytes.size());
  const auto copied = static_cast<ssize_t>(first.bytes.size());
  if ((flags & FI_PEEK) == 0) queue.entries.pop_front();
  return copied;
}

ssize_t write_event(fid_eq* fid, uint32_t event, const void* buffer, size_t bytes, uint64_t /*flags*/) try {
  EventQueue& queue = events_of(fid);
  const auto* data = static_cast<const std::byte*>(buffer);
  const std::lock_guard guard(queue.mutex);
  queue.entries.push_back({.event = event, .bytes = {data, data + bytes}});
  queue.sleep.wake();
  return static_cast<ssize_t>(bytes);
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

ssize_t wait_event(fid_eq* fid, uint32_t* event, void* buffer, size_t bytes, int timeout, uint64_t flags) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout);
  for (;;) {
    const ssize_t status = read_event(fid, event, buffer, bytes, flags);
    if (status != -FI_EAGAIN) return status;
    int left = -1;
    if (timeout >= 0) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (rest.count() <= 0) return -FI_EAGAIN;
      left = static_cast<int>(rest.count());
    }
    pollfd descriptor{.fd = events_of(fid).sleep.descriptor(), .events = POLLIN, .revents = 0};
    static_cast<void>(::poll(&descriptor, 1, left));
  }
}

int close_events(fid* fid) {
  delete reinterpret_cast<EventQueue*>(fid);
  return 0;
}
int control_events(fid* fid, int command, void* argument) {
  if (command != FI_GETWAIT) return -FI_ENOSYS;
  *static_cast<int*>(argument) = reinterpret_cast<EventQueue*>(fid)->sleep.descriptor();
  return 0;
}

fi_ops event_fid_operations = {
    .size = sizeof(fi_ops), .close = close_events, .bind = no_bind, .control = control_events, .ops_open = no_ops};
fi_ops_eq event_operations = {
    .size = sizeof(fi_ops_eq),
    .read = read_event,
    .readerr = [](fid_eq*, fi_eq_err_entry*, uint64_t) -> ssize_t { return -FI_EAGAIN; },
    .write = write_event,
    .sread = wait_event,
    .strerror = [](fid_eq*, int, const void*, char*, size_t) { return "no event of this provider carries an error"; }};

int close_fabric(fid* fid) {
  delete reinterpret_cast<Fabric*>(fid);
  return 0;
}

int try_wait_all(fid_fabric* /*fabric*/, fid** fids, int count) {
  for (int i = 0; i < count; ++i) {
    int status = 0;
    if (fids[i]->fclass == FI_CLASS_CQ)
      status = try_wait(*reinterpret_cast<CompletionQueue*>(fids[i]));
    else if (fids[i]->fclass == FI_CLASS_CNTR)
      status = try_wait(*reinterpret_cast<Counter*>(fids[i]));
    else if (fids[i]->fclass != FI_CLASS_EQ)
      status = -FI_EINVAL;
    if (status != 0) return status;
  }
  return 0;
}

fi_ops fabric_fid_operations = {
    .size = sizeof(fi_ops), .close = close_fabric, .bind = no_bind, .control = no_control, .ops_open = no_ops};
fi_ops_fabric fabric_operations = {
    .size = sizeof(fi_ops_fabric),
    .domain = open_domain,
    .passive_ep = [](fid_fabric*, fi_info*, fid_pep**, void*) { return -FI_ENOSYS; },
    .eq_open = open_event_queue,
    .wait_open = [](fid_fabric*, fi_wait_attr*, fid_wait**) { return -FI_ENOSYS; },
    .trywait = try_wait_all,
    .domain2 = [](fid_fabric* fabric, fi_info* info, fid_domain** domain, uint64_t flags,
                  void* context) { return flags == 0 ? open_domain(fabric, info, domain, context) : -FI_ENOSYS; }};

} // namespace

int open_event_queue(fid_fabric* /*fabric*/, fi_eq_attr* attributes, fid_eq** fid, void* context) try {
  if (attributes != nullptr && attributes->wait_obj > FI_WAIT_FD) return -FI_ENOSYS;
  if (attributes != nullptr && attributes->wait_obj == FI_WAIT_SET) return -FI_ENOSYS;
  auto queue = std::make_unique<EventQueue>();
  if (const int status = queue->sleep.open(); status != 0) return status;
  queue->fid = {.fid = {.fclass = FI_CLASS_EQ, .context = context, .ops = &event_fid_operations},
                .ops = &event_operations};
  *fid = &queue.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int open_fabric(fi_fabric_attr* attributes, fid_fabric** fid, void* context) try {
  if (attributes->name != nullptr && std::strcmp(attributes->name, kFabricName) != 0) return -FI_ENODATA;
  auto fabric = std::make_unique<Fabric>();
  fabric->fid = {.fid = {.fclass = FI_CLASS_FABRIC, .context = context, .ops = &fabric_fid_operations},
                 .ops = &fabric_operations,
                 .api_version = attributes->api_version};
  *fid = &fabric.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

} // namespace heddle::provider
