// The way in: libfabric loads libheddle-fi.so and asks for this struct.
#include "provider/libfabric.hpp"

#include <string>

namespace heddle::provider {

fi_provider self = {.version = FI_VERSION(1, 0),
                    .fi_version = FI_VERSION(1, 17),
                    .context = {},
                    .name = kProviderName,
                    .getinfo = get_info,
                    .fabric = open_fabric,
                    .cleanup = [] {}};

int number_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::ok: return 0;
    case ErrorCode::truncated: return FI_ETRUNC;
    case ErrorCode::cancelled: return FI_ECANCELED;
    case ErrorCode::would_block:
    case ErrorCode::lock_busy: return FI_EAGAIN;
    case ErrorCode::timed_out: return FI_ETIMEDOUT;
    case ErrorCode::out_of_memory: return FI_ENOMEM;
    case ErrorCode::out_of_descriptors: return FI_EMFILE;
    case ErrorCode::unreachable: return FI_EHOSTUNREACH;
    case ErrorCode::peer_failed:
    case ErrorCode::peer_left:
    case ErrorCode::connection_lost: return FI_ECONNABORTED;
    case ErrorCode::unsupported: return FI_EOPNOTSUPP;
    case ErrorCode::unknown_area: return FI_ENOKEY;
    case ErrorCode::closed_area:
    case ErrorCode::revoked_area:
    case ErrorCode::out_of_range: return FI_EACCES;
    case ErrorCode::bad_argument:
    case ErrorCode::bad_option:
    case ErrorCode::stale_request: return FI_EINVAL;
    case ErrorCode::no_launcher:
    case ErrorCode::store_failed:
    case ErrorCode::already_joined:
    case ErrorCode::holder_died:
    case ErrorCode::pattern_freed:
    case ErrorCode::system_failed: return FI_EOTHER;
  }
  return FI_EOTHER;
}

std::string_view explanation(int number) {
  if (number == kNoMessage) return "no message: none that matches is there";
  if (number < 0 || number > static_cast<int>(ErrorCode::system_failed)) return "unknown";
  switch (static_cast<ErrorCode>(number)) {
    case ErrorCode::ok: return "ok";
    case ErrorCode::truncated: return "truncated: the message is longer than the memory given for it";
    case ErrorCode::cancelled: return "cancelled: before a message matched";
    case ErrorCode::would_block: return "would_block: the peer takes no more now";
    case ErrorCode::timed_out: return "timed_out: nothing happened within the time given";
    case ErrorCode::out_of_memory: return "out_of_memory: a limit of memory was reached, here or at the peer";
    case ErrorCode::out_of_descriptors: return "out_of_descriptors: the limit of open files was reached";
    case ErrorCode::unreachable: return "unreachable: no network that both use leads to the peer";
    case ErrorCode::peer_failed: return "peer_failed: the peer's process has died";
    case ErrorCode::peer_left: return "peer_left: the peer has closed its endpoint";
    case ErrorCode::connection_lost: return "connection_lost: what was under way may have arrived or not";
    case ErrorCode::unsupported: return "unsupported: the network cannot do this with that memory";
    case ErrorCode::unknown_area: return "unknown_area: the peer has registered no memory with that key";
    case ErrorCode::closed_area: return "closed_area: the memory was not registered for that access";
    case ErrorCode::revoked_area: return "revoked_area: the memory was closed under way";
    case ErrorCode::out_of_range: return "out_of_range: not wholly within the registered memory";
    case ErrorCode::bad_argument: return "bad_argument: lengths or types of the two sides do not fit";
    case ErrorCode::bad_option:
    case ErrorCode::stale_request:
    case ErrorCode::lock_busy:
    case ErrorCode::no_launcher:
    case ErrorCode::store_failed:
    case ErrorCode::already_joined:
    case ErrorCode::holder_died:
    case ErrorCode::pattern_freed:
    case ErrorCode::system_failed: return to_string(static_cast<ErrorCode>(number)); // of no entry
  }
  return "unknown";
}

int refuse(const Error& error) {
  const int number = number_of(error.code);
  if (number != FI_EAGAIN) FI_WARN(&self, FI_LOG_CORE, "%s\n", error.message().c_str());
  return -number;
}

int no_bind(fid* /*self*/, fid* /*other*/, std::uint64_t /*flags*/) {
  return -FI_ENOSYS;
}
int no_control(fid* /*self*/, int /*command*/, void* /*argument*/) {
  return -FI_ENOSYS;
}
int no_ops(fid* /*self*/, const char* /*name*/, std::uint64_t /*flags*/, void** /*ops*/, void* /*context*/) {
  return -FI_ENOSYS;
}

} // namespace heddle::provider

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
  return &heddle::provider::self;
}
