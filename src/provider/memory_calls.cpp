// The calls of fi_rma.
#include "provider/endpoint.hpp"

#include <algorithm>

namespace heddle::provider {

namespace {

// Pieces of local memory, of either direction.
struct Local {
  std::array<Piece, kPieces> in;
  std::array<ConstPiece, kPieces> out;
  std::size_t count = 0;
};

bool take_pieces(const iovec* iov, std::size_t count, Local& local) {
  if (count > kPieces) return false;
  local.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    local.in[i] = {.data = static_cast<std::byte*>(iov[i].iov_base), .bytes = iov[i].iov_len};
    local.out[i] = {.data = static_cast<const std::byte*>(iov[i].iov_base), .bytes = iov[i].iov_len};
  }
  return true;
}

struct Call {
  const iovec* iov = nullptr;
  std::size_t count = 0;
  const fi_rma_iov* at = nullptr;
  std::size_t at_count = 0;
  fi_addr_t peer = 0;
  std::optional<std::uint64_t> data{};
  void* context = nullptr;
  std::uint64_t flags = 0;
  bool no_entry = false;
};

ssize_t reach_memory(fid_ep* ep, ControlKind kind, const Call& call) {
  Endpoint& endpoint = endpoint_of(ep);
  Local local;
  if (!take_pieces(call.iov, call.count, local)) return -FI_EINVAL;
  if ((call.flags & ~kSendCallFlags) != 0) return -FI_EBADFLAGS;
  const bool reads = kind == ControlKind::read;
  const Lock lock(*endpoint.domain);
  if ((endpoint.caps & FI_RMA) == 0) return -FI_EOPNOTSUPP;
  // Memory of an injected write is free at once: what is small enough travels within the first message.
  if (!reads && (call.no_entry || (call.flags & FI_INJECT) != 0)) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < call.count; ++i) bytes += call.iov[i].iov_len;
    if (bytes > kInlineBytes) return -FI_EMSGSIZE;
  }
  Endpoint::Remote what{.kind = kind,
                        .at = std::span(call.at, call.at_count),
                        .to = call.peer,
                        .data = call.data,
                        .context = call.context,
                        .entry_flags = FI_RMA | (reads ? FI_READ : FI_WRITE),
                        .counted = reads ? Counted::read : Counted::write,
                        .wanted = !call.no_entry && endpoint.wants_transmit(call.flags)};
  if (reads)
    what.in = std::span(local.in).first(call.count);
  else
    what.out = std::span(local.out).first(call.count);
  return endpoint.access(what);
}

// One stretch of the target's memory, as long as the local one.
ssize_t access_one(fid_ep* ep, ControlKind kind, Call call, std::uint64_t address, std::uint64_t key) {
  fi_rma_iov at{.addr = address, .len = 0, .key = key};
  for (std::size_t i = 0; i < call.count; ++i) at.len += call.iov[i].iov_len;
  call.at = &at;
  call.at_count = 1;
  return reach_memory(ep, kind, call);
}

iovec stretch(const void* data, std::size_t bytes) {
  return {.iov_base = const_cast<void*>(data), .iov_len = bytes};
}

} // namespace

fi_ops_rma memory_operations = {
    .size = sizeof(fi_ops_rma),
    .read = [](fid_ep* ep, void* buf, size_t len, void*, fi_addr_t peer, uint64_t addr, uint64_t key,
               void* context) -> ssize_t {
      const iovec piece = stretch(buf, len);
      return access_one(
          ep, ControlKind::read,
          {.iov = &piece, .count = 1, .peer = peer, .context = context, .flags = endpoint_of(ep).transmit_flags}, addr,
          key);
    },
    .readv = [](fid_ep* ep, const iovec* iov, void**, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
                void* context) -> ssize_t {
      return access_one(
          ep, ControlKind::read,
          {.iov = iov, .count = count, .peer = peer, .context = context, .flags = endpoint_of(ep).transmit_flags}, addr,
          key);
    },
    .readmsg = [](fid_ep* ep, const fi_msg_rma* msg, uint64_t flags) -> ssize_t {
      return reach_memory(ep, ControlKind::read,
                          {.iov = msg->msg_iov,
                           .count = msg->iov_count,
                           .at = msg->rma_iov,
                           .at_count = msg->rma_iov_count,
                           .peer = msg->addr,
                           .context = msg->context,
                           .flags = flags});
    },
    .write = [](fid_ep* ep, const void* buf, size_t len, void*, fi_addr_t peer, uint64_t addr, uint64_t key,
                void* context) -> ssize_t {
      const iovec piece = stretch(buf, len);
      return access_one(
          ep, ControlKind::write,
          {.iov = &piece, .count = 1, .peer = peer, .context = context, .flags = endpoint_of(ep).transmit_flags}, addr,
          key);
    },
    .writev = [](fid_ep* ep, const iovec* iov, void**, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
                 void* context) -> ssize_t {
      return access_one(
          ep, ControlKind::write,
          {.iov = iov, .count = count, .peer = peer, .context = context, .flags = endpoint_of(ep).transmit_flags}, addr,
          key);
    },
    .writemsg = [](fid_ep* ep, const fi_msg_rma* msg, uint64_t flags) -> ssize_t {
      Call call{.iov = msg->msg_iov,
                .count = msg->iov_count,
                .at = msg->rma_iov,
                .at_count = msg->rma_iov_count,
                .peer = msg->addr,
                .context = msg->context,
                .flags = flags};
      if ((flags & FI_REMOTE_CQ_DATA) != 0) call.data = msg->data;
      return reach_memory(ep, ControlKind::write, call);
    },
    .inject = [](fid_ep* ep, const void* buf, size_t len, fi_addr_t peer, uint64_t addr, uint64_t key) -> ssize_t {
      const iovec piece = stretch(buf, len);
      return access_one(ep, ControlKind::write, {.iov = &piece, .count = 1, .peer = peer, .no_entry = true}, addr, key);
    },
    .writedata = [](fid_ep* ep, const void* buf, size_t len, void*, uint64_t data, fi_addr_t peer, uint64_t addr,
                    uint64_t key, void* context) -> ssize_t {
      const iovec piece = stretch(buf, len);
      return access_one(ep, ControlKind::write,
                        {.iov = &piece,
                         .count = 1,
                         .peer = peer,
                         .data = data,
                         .context = context,
                         .flags = endpoint_of(ep).transmit_flags},
                        addr, key);
    },
    .injectdata = [](fid_ep* ep, const void* buf, size_t len, uint64_t data, fi_addr_t peer, uint64_t addr,
                     uint64_t key) -> ssize_t {
      const iovec piece = stretch(buf, len);
      return access_one(ep, ControlKind::write,
                        {.iov = &piece, .count = 1, .peer = peer, .data = data, .no_entry = true}, addr, key);
    },
};

} // namespace heddle::provider
