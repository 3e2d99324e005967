// The calls of fi_tagged and fi_msg.
#include "provider/endpoint.hpp"

namespace heddle::provider {

namespace {

ssize_t do_send(fid_ep* fid, const Endpoint::Sending& what) {
  Endpoint& endpoint = endpoint_of(fid);
  const Lock lock(*endpoint.domain);
  return endpoint.send(what);
}
ssize_t do_receive(fid_ep* fid, const Endpoint::Receiving& what) {
  Endpoint& endpoint = endpoint_of(fid);
  const Lock lock(*endpoint.domain);
  return endpoint.receive(what);
}
iovec memory(const void* data, std::size_t bytes) {
  return {.iov_base = const_cast<void*>(data), .iov_len = bytes};
}
std::optional<std::uint64_t> word_of(std::uint64_t flags, std::uint64_t data) {
  if ((flags & FI_REMOTE_CQ_DATA) == 0) return std::nullopt;
  return data;
}

} // namespace

fi_ops_tagged tagged_operations = {
    .size = sizeof(fi_ops_tagged),
    .recv = [](fid_ep* ep, void* buf, size_t len, void*, fi_addr_t from, uint64_t tag, uint64_t ignore,
               void* context) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_receive(ep, {.pieces = &piece,
                             .count = 1,
                             .from = from,
                             .channel = Channel::first,
                             .tag = tag,
                             .ignore = ignore,
                             .context = context,
                             .flags = endpoint_of(ep).receive_flags});
    },
    .recvv = [](fid_ep* ep, const iovec* iov, void**, size_t count, fi_addr_t from, uint64_t tag, uint64_t ignore,
                void* context) -> ssize_t {
      return do_receive(ep, {.pieces = iov,
                             .count = count,
                             .from = from,
                             .channel = Channel::first,
                             .tag = tag,
                             .ignore = ignore,
                             .context = context,
                             .flags = endpoint_of(ep).receive_flags});
    },
    .recvmsg = [](fid_ep* ep, const fi_msg_tagged* msg, uint64_t flags) -> ssize_t {
      if ((flags & ~kReceiveCallFlags) != 0) return -FI_EBADFLAGS;
      return do_receive(ep, {.pieces = msg->msg_iov,
                             .count = msg->iov_count,
                             .from = msg->addr,
                             .channel = Channel::first,
                             .tag = msg->tag,
                             .ignore = msg->ignore,
                             .context = msg->context,
                             .flags = flags});
    },
    .send = [](fid_ep* ep, const void* buf, size_t len, void*, fi_addr_t to, uint64_t tag, void* context) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(ep, {.pieces = &piece,
                          .count = 1,
                          .to = to,
                          .channel = Channel::first,
                          .tag = tag,
                          .context = context,
                          .flags = endpoint_of(ep).transmit_flags});
    },
    .sendv = [](fid_ep* ep, const iovec* iov, void**, size_t count, fi_addr_t to, uint64_t tag,
                void* context) -> ssize_t {
      return do_send(ep, {.pieces = iov,
                          .count = count,
                          .to = to,
                          .channel = Channel::first,
                          .tag = tag,
                          .context = context,
                          .flags = endpoint_of(ep).transmit_flags});
    },
    .sendmsg = [](fid_ep* ep, const fi_msg_tagged* msg, uint64_t flags) -> ssize_t {
      if ((flags & ~kSendCallFlags) != 0) return -FI_EBADFLAGS;
      return do_send(ep, {.pieces = msg->msg_iov,
                          .count = msg->iov_count,
                          .to = msg->addr,
                          .channel = Channel::first,
                          .tag = msg->tag,
                          .data = word_of(flags, msg->data),
                          .context = msg->context,
                          .flags = flags});
    },
    .inject = [](fid_ep* ep, const void* buf, size_t len, fi_addr_t to, uint64_t tag) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(ep,
                     {.pieces = &piece, .count = 1, .to = to, .channel = Channel::first, .tag = tag, .no_entry = true});
    },
    .senddata = [](fid_ep* ep, const void* buf, size_t len, void*, uint64_t data, fi_addr_t to, uint64_t tag,
                   void* context) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(ep, {.pieces = &piece,
                          .count = 1,
                          .to = to,
                          .channel = Channel::first,
                          .tag = tag,
                          .data = data,
                          .context = context,
                          .flags = endpoint_of(ep).transmit_flags});
    },
    .injectdata = [](fid_ep* ep, const void* buf, size_t len, uint64_t data, fi_addr_t to, uint64_t tag) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(ep, {.pieces = &piece,
                          .count = 1,
                          .to = to,
                          .channel = Channel::first,
                          .tag = tag,
                          .data = data,
                          .no_entry = true});
    },
};

fi_ops_msg message_operations = {
    .size = sizeof(fi_ops_msg),
    .recv = [](fid_ep* ep, void* buf, size_t len, void*, fi_addr_t from, void* context) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_receive(ep, {.pieces = &piece,
                             .count = 1,
                             .from = from,
                             .channel = Channel::second,
                             .tag = kUntagged,
                             .context = context,
                             .flags = endpoint_of(ep).receive_flags});
    },
    .recvv = [](fid_ep* ep, const iovec* iov, void**, size_t count, fi_addr_t from, void* context) -> ssize_t {
      return do_receive(ep, {.pieces = iov,
                             .count = count,
                             .from = from,
                             .channel = Channel::second,
                             .tag = kUntagged,
                             .context = context,
                             .flags = endpoint_of(ep).receive_flags});
    },
    .recvmsg = [](fid_ep* ep, const fi_msg* msg, uint64_t flags) -> ssize_t {
      if ((flags & ~kReceiveCallFlags) != 0) return -FI_EBADFLAGS;
      return do_receive(ep, {.pieces = msg->msg_iov,
                             .count = msg->iov_count,
                             .from = msg->addr,
                             .channel = Channel::second,
                             .tag = kUntagged,
                             .context = msg->context,
                             .flags = flags});
    },
    .send = [](fid_ep* ep, const void* buf, size_t len, void*, fi_addr_t to, void* context) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(ep, {.pieces = &piece,
                          .count = 1,
                          .to = to,
                          .channel = Channel::second,
                          .context = context,
                          .flags = endpoint_of(ep).transmit_flags});
    },
    .sendv = [](fid_ep* ep, const iovec* iov, void**, size_t count, fi_addr_t to, void* context) -> ssize_t {
      return do_send(ep, {.pieces = iov,
                          .count = count,
                          .to = to,
                          .channel = Channel::second,
                          .context = context,
                          .flags = endpoint_of(ep).transmit_flags});
    },
    .sendmsg = [](fid_ep* ep, const fi_msg* msg, uint64_t flags) -> ssize_t {
      if ((flags & ~kSendCallFlags) != 0) return -FI_EBADFLAGS;
      return do_send(ep, {.pieces = msg->msg_iov,
                          .count = msg->iov_count,
                          .to = msg->addr,
                          .channel = Channel::second,
                          .data = word_of(flags, msg->data),
                          .context = msg->context,
                          .flags = flags});
    },
    .inject = [](fid_ep* ep, const void* buf, size_t len, fi_addr_t to) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(ep, {.pieces = &piece, .count = 1, .to = to, .channel = Channel::second, .no_entry = true});
    },
    .senddata = [](fid_ep* ep, const void* buf, size_t len, void*, uint64_t data, fi_addr_t to,
                   void* context) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(ep, {.pieces = &piece,
                          .count = 1,
                          .to = to,
                          .channel = Channel::second,
                          .data = data,
                          .context = context,
                          .flags = endpoint_of(ep).transmit_flags});
    },
    .injectdata = [](fid_ep* ep, const void* buf, size_t len, uint64_t data, fi_addr_t to) -> ssize_t {
      const iovec piece = memory(buf, len);
      return do_send(
          ep, {.pieces = &piece, .count = 1, .to = to, .channel = Channel::second, .data = data, .no_entry = true});
    },
};

} // namespace heddle::provider
