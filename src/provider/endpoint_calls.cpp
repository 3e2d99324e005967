// Endpoints as libfabric sees them: opening, binding, options, names.
#include "provider/crowd.hpp"
#include "provider/endpoint.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace heddle::provider {

namespace {

// For `heddle mpi`, which wants to know whether the program has come here at all.
void sign_register() {
  const char* path = std::getenv("FI_HEDDLE_REGISTER");
  if (path == nullptr) return;
  const int descriptor = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return; // of another machine
  static_cast<void>(!::write(descriptor, ".", 1));
  ::close(descriptor);
}

void add_once(std::vector<Endpoint*>& list, Endpoint& endpoint) {
  if (std::ranges::find(list, &endpoint) == list.end()) list.push_back(&endpoint);
}

template <typename Object>
int bind_object(Object& object, Endpoint& endpoint) {
  add_once(object.endpoints, endpoint);
  if (!object.sleep.exists()) return 0;
  const auto descriptor = endpoint.context->descriptor();
  if (!descriptor) return refuse(descriptor.error());
  return object.sleep.watch(*descriptor);
}

template <typename Object>
void let_go(Object* object, Endpoint& endpoint) {
  if (object == nullptr) return;
  std::erase(object->endpoints, &endpoint);
  if (!object->sleep.exists()) return;
  if (const auto descriptor = endpoint.context->descriptor()) object->sleep.forget(*descriptor);
}

int close_endpoint(fid* fid) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(fid);
  Domain& domain = *endpoint.domain;
  {
    const Lock lock(domain);
    let_go(endpoint.transmit_queue, endpoint);
    let_go(endpoint.receive_queue, endpoint);
    for (Counter* counter : endpoint.counters) let_go(counter, endpoint);
    if (endpoint.addresses != nullptr) --endpoint.addresses->users;
    std::erase(domain.endpoints, &endpoint);
  }
  delete &endpoint;
  return 0;
}

int bind_queue(Endpoint& endpoint, CompletionQueue& queue, uint64_t flags) {
  if ((flags & (FI_TRANSMIT | FI_RECV)) == 0) return -FI_EBADFLAGS;
  const bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
  if ((flags & FI_TRANSMIT) != 0 && endpoint.transmit_queue != nullptr) return -FI_EINVAL;
  if ((flags & FI_RECV) != 0 && endpoint.receive_queue != nullptr) return -FI_EINVAL;
  if ((flags & FI_TRANSMIT) != 0) {
    endpoint.transmit_queue = &queue;
    endpoint.transmit_selective = selective;
  }
  if ((flags & FI_RECV) != 0) {
    endpoint.receive_queue = &queue;
    endpoint.receive_selective = selective;
  }
  return bind_object(queue, endpoint);
}

int bind_counter(Endpoint& endpoint, Counter& counter, uint64_t flags) {
  constexpr std::array<std::uint64_t, kCounted> kBits = {FI_SEND,  FI_RECV,        FI_READ,
                                                         FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
  if ((flags & kModifiers) == 0) return -FI_EBADFLAGS;
  for (std::size_t i = 0; i < kCounted; ++i)
    if ((flags & kBits[i]) != 0 && endpoint.counters[i] != nullptr) return -FI_EINVAL;
  for (std::size_t i = 0; i < kCounted; ++i)
    if ((flags & kBits[i]) != 0) endpoint.counters[i] = &counter;
  return bind_object(counter, endpoint);
}

int bind_endpoint(fid* fid, struct fid* other, uint64_t flags) try {
  auto& endpoint = *reinterpret_cast<Endpoint*>(fid);
  const Lock lock(*endpoint.domain);
  switch (other->fclass) {
    case FI_CLASS_AV:
      if (endpoint.addresses != nullptr) return -FI_EINVAL;
      endpoint.addresses = reinterpret_cast<AddressVector*>(other);
      ++endpoint.addresses->users;
      return 0;
    case FI_CLASS_CQ: return bind_queue(endpoint, *reinterpret_cast<CompletionQueue*>(other), flags);
    case FI_CLASS_CNTR: return bind_counter(endpoint, *reinterpret_cast<Counter*>(other), flags);
    case FI_CLASS_EQ: return 0; // nothing that it could be told of ever happens
    default: return -FI_EINVAL;
  }
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int control_endpoint(fid* fid, int command, void* argument) try {
  auto& endpoint = *reinterpret_cast<Endpoint*>(fid);
  const Lock lock(*endpoint.domain);
  switch (command) {
    case FI_ENABLE:
      if (endpoint.addresses == nullptr) return -FI_ENOAV;
      if (endpoint.enabled) return 0;
      if (endpoint.makes_no_progress()) return -FI_ENOCQ;
      endpoint.post_control_receives();
      endpoint.enabled = true;
      endpoint.greet_all();
      return 0;
    case FI_GETOPSFLAG: {
      auto& flags = *static_cast<std::uint64_t*>(argument);
      flags = (flags & FI_TRANSMIT) != 0 ? endpoint.transmit_flags : endpoint.receive_flags;
      return 0;
    }
    case FI_SETOPSFLAG: {
      const std::uint64_t flags = *static_cast<std::uint64_t*>(argument);
      if ((flags & FI_TRANSMIT) != 0) endpoint.transmit_flags = flags & kTransmitFlags;
      if ((flags & FI_RECV) != 0) endpoint.receive_flags = flags & kReceiveFlags;
      return 0;
    }
    default: return -FI_ENOSYS;
  }
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

ssize_t cancel(fid_t fid, void* context) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(fid);
  const Lock lock(*endpoint.domain);
  return endpoint.cancel(context);
}

int get_option(fid_t fid, int level, int option, void* value, size_t* bytes) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(fid);
  if (level != FI_OPT_ENDPOINT || (option != FI_OPT_MIN_MULTI_RECV && option != FI_OPT_CM_DATA_SIZE))
    return -FI_ENOPROTOOPT;
  if (*bytes < sizeof(size_t)) return -FI_ETOOSMALL;
  *bytes = sizeof(size_t);
  *static_cast<size_t*>(value) = option == FI_OPT_MIN_MULTI_RECV ? endpoint.least_left : 0;
  return 0;
}

int set_option(fid_t fid, int level, int option, const void* value, size_t bytes) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(fid);
  if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV || bytes != sizeof(size_t)) return -FI_ENOPROTOOPT;
  const Lock lock(*endpoint.domain);
  endpoint.least_left = *static_cast<const size_t*>(value);
  return 0;
}

int get_name(fid_t fid, void* address, size_t* bytes) {
  const auto& endpoint = *reinterpret_cast<Endpoint*>(fid);
  const size_t room = *bytes;
  *bytes = Name::kBytes;
  if (room < Name::kBytes) return -FI_ETOOSMALL;
  std::memcpy(address, endpoint.name.bytes().data(), Name::kBytes);
  return 0;
}

fi_ops endpoint_fid_operations = {.size = sizeof(fi_ops),
                                  .close = close_endpoint,
                                  .bind = bind_endpoint,
                                  .control = control_endpoint,
                                  .ops_open = no_ops};
fi_ops_ep endpoint_operations = {.size = sizeof(fi_ops_ep),
                                 .cancel = cancel,
                                 .getopt = get_option,
                                 .setopt = set_option,
                                 .tx_ctx = [](fid_ep*, int, fi_tx_attr*, fid_ep**, void*) { return -FI_ENOSYS; },
                                 .rx_ctx = [](fid_ep*, int, fi_rx_attr*, fid_ep**, void*) { return -FI_ENOSYS; },
                                 .rx_size_left = [](fid_ep*) -> ssize_t { return -FI_ENOSYS; },
                                 .tx_size_left = [](fid_ep*) -> ssize_t { return -FI_ENOSYS; }};
fi_ops_cm name_operations = {.size = sizeof(fi_ops_cm),
                             .setname = [](fid_t, void*, size_t) { return -FI_ENOSYS; },
                             .getname = get_name,
                             .getpeer = [](fid_ep*, void*, size_t*) { return -FI_ENOSYS; },
                             .connect = [](fid_ep*, const void*, const void*, size_t) { return -FI_ENOSYS; },
                             .listen = [](fid_pep*) { return -FI_ENOSYS; },
                             .accept = [](fid_ep*, const void*, size_t) { return -FI_ENOSYS; },
                             .reject = [](fid_pep*, fid_t, const void*, size_t) { return -FI_ENOSYS; },
                             .shutdown = [](fid_ep*, uint64_t) { return -FI_ENOSYS; },
                             .join = [](fid_ep*, const void*, uint64_t, fid_mc**, void*) { return -FI_ENOSYS; }};

} // namespace

void make_progress(const std::vector<Endpoint*>& endpoints) {
  for (Endpoint* endpoint : endpoints) endpoint->progress();
}
bool go_to_sleep(const std::vector<Endpoint*>& endpoints, Sleep& sleep) {
  if (std::ranges::all_of(endpoints, [](Endpoint* endpoint) { return endpoint->may_sleep(); })) {
    sleep.arm();
    return true;
  }
  for (Endpoint* endpoint : endpoints) endpoint->wake_all();
  return false;
}
void relax(const std::vector<Endpoint*>& endpoints, std::uint32_t& vain) {
  constexpr std::uint32_t kPollsPerPause = 8;
  if (is_crowded())
    ::sched_yield();
  else if (++vain % kPollsPerPause == 0 && !endpoints.empty())
    endpoints.front()->context->relax();
}

int open_endpoint(fid_domain* domain_fid, fi_info* info, fid_ep** fid, void* context) try {
  auto& domain = *reinterpret_cast<Domain*>(domain_fid);
  if (info->ep_attr != nullptr && info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_UNSPEC)
    return -FI_ENOSYS;
  Options options;
  // Receives that wait long are nothing unusual here.
  if (std::getenv("HEDDLE_WATCHDOG_S") == nullptr) options.watchdog_s = 0;
  auto opened = Context::open(options);
  if (!opened) { // an option, as often as not: the caller passes on no more than a number
    std::fprintf(stderr, "heddle: %s\n", opened.error().message().c_str());
    return refuse(opened.error());
  }
  const auto name = opened->name();
  if (!name) return refuse(name.error());
  auto endpoint = std::make_unique<Endpoint>(std::move(*opened), *name);
  endpoint->domain = &domain;
  endpoint->caps = info->caps;
  if (info->tx_attr != nullptr) {
    endpoint->transmit_flags = info->tx_attr->op_flags;
    endpoint->orders_sends = (info->tx_attr->msg_order & (FI_ORDER_SAR | FI_ORDER_SAW)) != 0;
    endpoint->orders_memory = (info->tx_attr->msg_order & ~std::uint64_t{FI_ORDER_SAS}) != 0;
  }
  if (info->rx_attr != nullptr) endpoint->receive_flags = info->rx_attr->op_flags;
  endpoint->fid.fid = {.fclass = FI_CLASS_EP, .context = context, .ops = &endpoint_fid_operations};
  endpoint->fid.ops = &endpoint_operations;
  endpoint->fid.cm = &name_operations;
  endpoint->fid.msg = &message_operations;
  endpoint->fid.rma = &memory_operations;
  endpoint->fid.tagged = &tagged_operations;
  endpoint->fid.atomic = &atomic_operations;
  sign_register();
  const Lock lock(domain);
  domain.endpoints.push_back(endpoint.get());
  *fid = &endpoint.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

} // namespace heddle::provider
