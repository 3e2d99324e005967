// Completion queues.
#include "provider/queue.hpp"

#include "provider/endpoint.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace heddle::provider {

namespace {

CompletionQueue& queue_of(fid* fid) {
  return *reinterpret_cast<CompletionQueue*>(fid);
}
CompletionQueue& queue_of(fid_cq* fid) {
  return *reinterpret_cast<CompletionQueue*>(fid);
}

// The entries of all formats begin alike.
std::size_t entry_bytes(fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED: return sizeof(fi_cq_tagged_entry);
    case FI_CQ_FORMAT_UNSPEC:
    case FI_CQ_FORMAT_CONTEXT: return sizeof(fi_cq_entry);
  }
  return sizeof(fi_cq_entry);
}

// Bytes is a constant where the format is the usual one, so that the copy is a few moves.
template <typename Bytes>
std::size_t copy_entries(CompletionQueue& queue, std::byte* to, std::size_t count, fi_addr_t* sources, Bytes bytes) {
  std::size_t taken = 0;
  for (; taken < count && !queue.entries.empty(); ++taken, queue.entries.pop_front()) {
    const CompletionQueue::Entry& next = queue.entries.front();
    std::memcpy(to + taken * bytes, &next.entry, bytes);
    if (sources != nullptr) sources[taken] = next.source;
  }
  return taken;
}

// As far as the first failure: it is read before what came behind it.
ssize_t take_entries(CompletionQueue& queue, void* buffer, std::size_t count, fi_addr_t* sources) {
  auto* to = static_cast<std::byte*>(buffer);
  constexpr std::integral_constant<std::size_t, sizeof(fi_cq_tagged_entry)> kTagged;
  const bool failed = !queue.failures.empty();
  if (failed) [[unlikely]] {
    if (queue.failures.front().after == 0) return -FI_EAVAIL;
    count = std::min(count, queue.failures.front().after);
  }
  const std::size_t taken = queue.format == FI_CQ_FORMAT_TAGGED
                                ? copy_entries(queue, to, count, sources, kTagged)
                                : copy_entries(queue, to, count, sources, entry_bytes(queue.format));
  if (failed) [[unlikely]] {
    queue.failures.front().after -= taken;
    queue.before_failures -= taken;
  }
  return static_cast<ssize_t>(taken);
}

// Who has just got less than it had room for asks again, as often as not, to learn that there is no more: that is known, and another look would
// take the line of memory from the peer that writes the next message there.
ssize_t read_from(fid_cq* fid, void* buffer, size_t count, fi_addr_t* sources) try {
  CompletionQueue& queue = queue_of(fid);
  const Lock lock(*queue.domain);
  const bool asks_again = std::exchange(queue.drained, false);
  const bool looks = queue.entries.empty() || count == 0;
  if (looks) {
    if (asks_again && queue.entries.empty() && queue.failures.empty()) return -FI_EAGAIN;
    make_progress(queue.endpoints);
    if (queue.entries.empty() && queue.failures.empty()) {
      relax(queue.endpoints, queue.vain);
      return -FI_EAGAIN;
    }
  }
  const ssize_t taken = take_entries(queue, buffer, count, sources);
  queue.drained = looks && taken > 0 && static_cast<std::size_t>(taken) < count;
  return taken;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

ssize_t read_queue(fid_cq* fid, void* buffer, size_t count) {
  return read_from(fid, buffer, count, nullptr);
}

ssize_t read_error(fid_cq* fid, fi_cq_err_entry* entry, uint64_t /*flags*/) {
  CompletionQueue& queue = queue_of(fid);
  const Lock lock(*queue.domain);
  if (queue.failures.empty()) return -FI_EAGAIN;
  const fi_cq_err_entry& failure = queue.failures.front().entry;
  // No entry has err_data of its own; who gives a buffer for it (API 1.5) is told that nothing was copied.
  void* const given = entry->err_data;
  *entry = failure;
  entry->err_data = given;
  entry->err_data_size = 0;
  const std::size_t after = queue.failures.front().after; // it was asked for before its turn
  queue.failures.pop_front();
  if (queue.failures.empty())
    queue.before_failures = 0;
  else
    queue.failures.front().after += after;
  return 1;
}

// Sleeps on the descriptors until there is something to read, or the time is over.
ssize_t wait_and_read(fid_cq* fid, void* buffer, size_t count, fi_addr_t* sources, const void* /*condition*/,
                      int timeout) {
  CompletionQueue& queue = queue_of(fid);
  if (!queue.sleep.exists()) return -FI_ENOSYS;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout);
  for (;;) {
    const ssize_t status = read_from(fid, buffer, count, sources);
    if (status != -FI_EAGAIN) return status;
    int left = -1;
    if (timeout >= 0) {
      const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (rest.count() <= 0) return -FI_EAGAIN;
      left = static_cast<int>(rest.count());
    }
    {
      const Lock lock(*queue.domain);
      if (std::exchange(queue.signalled, false)) return -FI_EAGAIN;
    }
    if (try_wait(queue) != 0) continue;
    pollfd descriptor{.fd = queue.sleep.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&descriptor, 1, left) < 0 && errno != EINTR) return -errno;
  }
}

ssize_t wait_read(fid_cq* fid, void* buffer, size_t count, const void* condition, int timeout) {
  return wait_and_read(fid, buffer, count, nullptr, condition, timeout);
}

int signal_queue(fid_cq* fid) {
  CompletionQueue& queue = queue_of(fid);
  const Lock lock(*queue.domain);
  if (!queue.sleep.exists()) return -FI_ENOSYS;
  queue.signalled = true;
  queue.sleep.wake();
  return 0;
}

const char* error_text(fid_cq* /*fid*/, int number, const void* /*data*/, char* buffer, size_t bytes) {
  const std::string_view text = explanation(number);
  if (buffer == nullptr || bytes == 0) return text.data(); // each is a literal
  const std::size_t length = std::min(bytes - 1, text.size());
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
  return buffer;
}

int close_queue(fid* fid) {
  CompletionQueue& queue = queue_of(fid);
  Domain& domain = *queue.domain;
  {
    const Lock lock(domain);
    if (!queue.endpoints.empty() || queue.poll_sets > 0) return -FI_EBUSY;
    --domain.users;
  }
  delete &queue;
  return 0;
}

int control_queue(fid* fid, int command, void* argument) {
  CompletionQueue& queue = queue_of(fid);
  if (command == FI_GETWAITOBJ) {
    *static_cast<fi_wait_obj*>(argument) = queue.sleep.exists() ? FI_WAIT_FD : FI_WAIT_NONE;
    return 0;
  }
  if (command != FI_GETWAIT || !queue.sleep.exists()) return -FI_ENOSYS;
  *static_cast<int*>(argument) = queue.sleep.descriptor();
  return 0;
}

fi_ops queue_fid_operations = {
    .size = sizeof(fi_ops), .close = close_queue, .bind = no_bind, .control = control_queue, .ops_open = no_ops};
fi_ops_cq queue_operations = {.size = sizeof(fi_ops_cq),
                              .read = read_queue,
                              .readfrom = read_from,
                              .readerr = read_error,
                              .sread = wait_read,
                              .sreadfrom = wait_and_read,
                              .signal = signal_queue,
                              .strerror = error_text};

} // namespace

int try_wait(CompletionQueue& queue) {
  const Lock lock(*queue.domain);
  if (!queue.sleep.exists()) return -FI_ENOSYS;
  if (!queue.entries.empty() || !queue.failures.empty() || queue.signalled) return -FI_EAGAIN;
  if (!go_to_sleep(queue.endpoints, queue.sleep)) return -FI_EAGAIN;
  queue.sleep.clear(); // not before: another thread may have yet to be woken by it, for what is left
  return 0;
}

int open_queue(fid_domain* domain_fid, fi_cq_attr* attributes, fid_cq** fid, void* context) try {
  auto& domain = *reinterpret_cast<Domain*>(domain_fid);
  auto queue = std::make_unique<CompletionQueue>();
  if (attributes != nullptr) {
    if (attributes->format > FI_CQ_FORMAT_TAGGED || attributes->wait_cond != FI_CQ_COND_NONE) return -FI_EINVAL;
    if (attributes->format != FI_CQ_FORMAT_UNSPEC) queue->format = attributes->format;
    if (attributes->wait_obj == FI_WAIT_FD || attributes->wait_obj == FI_WAIT_UNSPEC) {
      if (const int status = queue->sleep.open(); status != 0) return status;
    } else if (attributes->wait_obj != FI_WAIT_NONE) {
      return -FI_ENOSYS;
    }
  }
  queue->domain = &domain;
  queue->fid = {.fid = {.fclass = FI_CLASS_CQ, .context = context, .ops = &queue_fid_operations},
                .ops = &queue_operations};
  const Lock lock(domain);
  ++domain.users;
  *fid = &queue.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

} // namespace heddle::provider
