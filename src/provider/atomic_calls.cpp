// The calls of fi_atomic.
#include "provider/endpoint.hpp"

#include <algorithm>

namespace heddle::provider {

namespace {

struct AtomicCall {
  AtomicForm form{};
  std::span<const fi_ioc> operands{};
  std::span<const fi_ioc> compare{};
  std::span<const fi_ioc> results{};
  std::span<const fi_rma_ioc> at{};
  fi_addr_t peer = 0;
  fi_datatype datatype{};
  fi_op op{};
  void* context = nullptr;
  std::uint64_t flags = 0;
  bool no_entry = false;
};

template <typename Slice>
std::size_t pieces_of(std::span<const fi_ioc> from, std::size_t element, std::array<Slice, kPieces>& to) {
  std::size_t elements = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = {.data = static_cast<std::byte*>(from[i].addr), .bytes = from[i].count * element};
    elements += from[i].count;
  }
  return elements;
}

ssize_t carry_out(fid_ep* ep, const AtomicCall& call) {
  Endpoint& endpoint = endpoint_of(ep);
  const auto datatype = static_cast<std::uint8_t>(call.datatype);
  const auto op = static_cast<std::uint8_t>(call.op);
  if ((call.flags & ~(kSendCallFlags & ~FI_REMOTE_CQ_DATA)) != 0) return -FI_EBADFLAGS;
  if (call.datatype >= FI_DATATYPE_LAST || !atomic_exists(call.form, datatype, op)) return -FI_EOPNOTSUPP;
  for (const auto& list : {call.operands, call.compare, call.results})
    if (list.size() > kPieces) return -FI_EINVAL;
  if (call.at.empty() || call.at.size() > kRemotePieces) return -FI_EINVAL;
  const std::size_t element = element_bytes(datatype);
  std::array<ConstPiece, kPieces> operands;
  std::array<ConstPiece, kPieces> compare;
  std::array<Piece, kPieces> results;
  std::array<fi_rma_iov, kRemotePieces> at;
  std::size_t elements = 0;
  for (std::size_t i = 0; i < call.at.size(); ++i) {
    elements += call.at[i].count;
    at[i] = {.addr = call.at[i].addr, .len = call.at[i].count * element, .key = call.at[i].key};
  }
  const bool reads = call.op == FI_ATOMIC_READ;
  if (elements == 0 || elements * element > kAtomicBytes) return -FI_EINVAL;
  if (pieces_of(call.operands, element, operands) != elements && !reads) return -FI_EINVAL;
  if (call.form == AtomicForm::compare && pieces_of(call.compare, element, compare) != elements) return -FI_EINVAL;
  if (call.form != AtomicForm::plain && pieces_of(call.results, element, results) != elements) return -FI_EINVAL;
  const ControlKind kind = call.form == AtomicForm::plain   ? ControlKind::atomic
                           : call.form == AtomicForm::fetch ? ControlKind::fetch
                                                            : ControlKind::compare;
  const bool plain = call.form == AtomicForm::plain;
  const Lock lock(*endpoint.domain);
  if ((endpoint.caps & FI_ATOMIC) == 0) return -FI_EOPNOTSUPP;
  return endpoint.access({.kind = kind,
                          .out = std::span(operands).first(reads ? 0 : call.operands.size()),
                          .compare = std::span(compare).first(call.compare.size()),
                          .in = std::span(results).first(call.results.size()),
                          .at = std::span(at).first(call.at.size()),
                          .to = call.peer,
                          .datatype = datatype,
                          .op = op,
                          .context = call.context,
                          .entry_flags = FI_ATOMIC | (plain ? FI_WRITE : FI_READ),
                          .counted = plain ? Counted::write : Counted::read,
                          .wanted = !call.no_entry && endpoint.wants_transmit(call.flags)});
}

std::size_t elements_of(std::span<const fi_ioc> list) {
  std::size_t count = 0;
  for (const fi_ioc& each : list) count += each.count;
  return count;
}

fi_ioc elements_at(const void* data, std::size_t count) {
  return {.addr = const_cast<void*>(data), .count = count};
}

int exists(AtomicForm form, fi_datatype datatype, fi_op op, std::size_t* count) {
  if (datatype >= FI_DATATYPE_LAST || op >= FI_ATOMIC_OP_LAST ||
      !atomic_exists(form, static_cast<std::uint8_t>(datatype), static_cast<std::uint8_t>(op)))
    return -FI_EOPNOTSUPP;
  if (count != nullptr) *count = kAtomicBytes / element_bytes(static_cast<std::uint8_t>(datatype));
  return 0;
}

AtomicCall of_message(AtomicForm form, const fi_msg_atomic& msg, std::uint64_t flags) {
  return {.form = form,
          .operands = {msg.msg_iov, msg.iov_count},
          .at = {msg.rma_iov, msg.rma_iov_count},
          .peer = msg.addr,
          .datatype = msg.datatype,
          .op = msg.op,
          .context = msg.context,
          .flags = flags};
}

} // namespace

int query_atomic(fid_domain* /*domain*/, fi_datatype datatype, fi_op op, fi_atomic_attr* attributes,
                 std::uint64_t flags) {
  if ((flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC)) != 0) return -FI_EOPNOTSUPP;
  const AtomicForm form = (flags & FI_COMPARE_ATOMIC) != 0 ? AtomicForm::compare
                          : (flags & FI_FETCH_ATOMIC) != 0 ? AtomicForm::fetch
                                                           : AtomicForm::plain;
  std::size_t count = 0;
  if (const int status = exists(form, datatype, op, &count); status != 0) return status;
  *attributes = {.count = count, .size = element_bytes(static_cast<std::uint8_t>(datatype))};
  return 0;
}

fi_ops_atomic atomic_operations = {
    .size = sizeof(fi_ops_atomic),
    .write = [](fid_ep* ep, const void* buf, size_t count, void*, fi_addr_t peer, uint64_t addr, uint64_t key,
                fi_datatype datatype, fi_op op, void* context) -> ssize_t {
      const fi_ioc operands = elements_at(buf, count);
      const fi_rma_ioc at{.addr = addr, .count = count, .key = key};
      return carry_out(ep, {.form = AtomicForm::plain,
                            .operands = {&operands, 1},
                            .at = {&at, 1},
                            .peer = peer,
                            .datatype = datatype,
                            .op = op,
                            .context = context,
                            .flags = endpoint_of(ep).transmit_flags});
    },
    .writev = [](fid_ep* ep, const fi_ioc* iov, void**, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
                 fi_datatype datatype, fi_op op, void* context) -> ssize_t {
      const fi_rma_ioc at{.addr = addr, .count = elements_of({iov, count}), .key = key};
      return carry_out(ep, {.form = AtomicForm::plain,
                            .operands = {iov, count},
                            .at = {&at, 1},
                            .peer = peer,
                            .datatype = datatype,
                            .op = op,
                            .context = context,
                            .flags = endpoint_of(ep).transmit_flags});
    },
    .writemsg = [](fid_ep* ep, const fi_msg_atomic* msg, uint64_t flags) -> ssize_t {
      return carry_out(ep, of_message(AtomicForm::plain, *msg, flags));
    },
    .inject = [](fid_ep* ep, const void* buf, size_t count, fi_addr_t peer, uint64_t addr, uint64_t key,
                 fi_datatype datatype, fi_op op) -> ssize_t {
      const fi_ioc operands = elements_at(buf, count);
      const fi_rma_ioc at{.addr = addr, .count = count, .key = key};
      return carry_out(ep, {.form = AtomicForm::plain,
                            .operands = {&operands, 1},
                            .at = {&at, 1},
                            .peer = peer,
                            .datatype = datatype,
                            .op = op,
                            .no_entry = true});
    },
    .readwrite = [](fid_ep* ep, const void* buf, size_t count, void*, void* result, void*, fi_addr_t peer,
                    uint64_t addr, uint64_t key, fi_datatype datatype, fi_op op, void* context) -> ssize_t {
      const fi_ioc operands = elements_at(buf, count);
      const fi_ioc results = elements_at(result, count);
      const fi_rma_ioc at{.addr = addr, .count = count, .key = key};
      return carry_out(ep, {.form = AtomicForm::fetch,
                            .operands = {&operands, 1},
                            .results = {&results, 1},
                            .at = {&at, 1},
                            .peer = peer,
                            .datatype = datatype,
                            .op = op,
                            .context = context,
                            .flags = endpoint_of(ep).transmit_flags});
    },
    .readwritev = [](fid_ep* ep, const fi_ioc* iov, void**, size_t count, fi_ioc* resultv, void**, size_t result_count,
                     fi_addr_t peer, uint64_t addr, uint64_t key, fi_datatype datatype, fi_op op,
                     void* context) -> ssize_t {
      const fi_rma_ioc at{.addr = addr, .count = elements_of({resultv, result_count}), .key = key};
      return carry_out(ep, {.form = AtomicForm::fetch,
                            .operands = {iov, count},
                            .results = {resultv, result_count},
                            .at = {&at, 1},
                            .peer = peer,
                            .datatype = datatype,
                            .op = op,
                            .context = context,
                            .flags = endpoint_of(ep).transmit_flags});
    },
    .readwritemsg = [](fid_ep* ep, const fi_msg_atomic* msg, fi_ioc* resultv, void**, size_t result_count,
                       uint64_t flags) -> ssize_t {
      AtomicCall call = of_message(AtomicForm::fetch, *msg, flags);
      call.results = {resultv, result_count};
      return carry_out(ep, call);
    },
    .compwrite = [](fid_ep* ep, const void* buf, size_t count, void*, const void* compare, void*, void* result, void*,
                    fi_addr_t peer, uint64_t addr, uint64_t key, fi_datatype datatype, fi_op op,
                    void* context) -> ssize_t {
      const fi_ioc operands = elements_at(buf, count);
      const fi_ioc compared = elements_at(compare, count);
      const fi_ioc results = elements_at(result, count);
      const fi_rma_ioc at{.addr = addr, .count = count, .key = key};
      return carry_out(ep, {.form = AtomicForm::compare,
                            .operands = {&operands, 1},
                            .compare = {&compared, 1},
                            .results = {&results, 1},
                            .at = {&at, 1},
                            .peer = peer,
                            .datatype = datatype,
                            .op = op,
                            .context = context,
                            .flags = endpoint_of(ep).transmit_flags});
    },
    .compwritev = [](fid_ep* ep, const fi_ioc* iov, void**, size_t count, const fi_ioc* comparev, void**,
                     size_t compare_count, fi_ioc* resultv, void**, size_t result_count, fi_addr_t peer, uint64_t addr,
                     uint64_t key, fi_datatype datatype, fi_op op, void* context) -> ssize_t {
      const fi_rma_ioc at{.addr = addr, .count = elements_of({iov, count}), .key = key};
      return carry_out(ep, {.form = AtomicForm::compare,
                            .operands = {iov, count},
                            .compare = {comparev, compare_count},
                            .results = {resultv, result_count},
                            .at = {&at, 1},
                            .peer = peer,
                            .datatype = datatype,
                            .op = op,
                            .context = context,
                            .flags = endpoint_of(ep).transmit_flags});
    },
    .compwritemsg = [](fid_ep* ep, const fi_msg_atomic* msg, const fi_ioc* comparev, void**, size_t compare_count,
                       fi_ioc* resultv, void**, size_t result_count, uint64_t flags) -> ssize_t {
      AtomicCall call = of_message(AtomicForm::compare, *msg, flags);
      call.compare = {comparev, compare_count};
      call.results = {resultv, result_count};
      return carry_out(ep, call);
    },
    .writevalid = [](fid_ep*, fi_datatype datatype, fi_op op,
                     size_t* count) { return exists(AtomicForm::plain, datatype, op, count); },
    .readwritevalid = [](fid_ep*, fi_datatype datatype, fi_op op,
                         size_t* count) { return exists(AtomicForm::fetch, datatype, op, count); },
    .compwritevalid = [](fid_ep*, fi_datatype datatype, fi_op op,
                         size_t* count) { return exists(AtomicForm::compare, datatype, op, count); },
};

} // namespace heddle::provider
