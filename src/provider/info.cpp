// fi_getinfo: what is offered, and whether that is what the caller asks for. Each refusal is said to libfabric's log.
#include "provider/libfabric.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace heddle::provider {

namespace {

int refuse_hint(const char* what) {
  FI_INFO(&self, FI_LOG_CORE, "not offered: %s\n", what);
  return -FI_ENODATA;
}

std::uint64_t capabilities_for(const fi_info* hints) {
  std::uint64_t asked = hints != nullptr ? hints->caps : 0;
  if ((asked & kPrimaryCapabilities) == 0) asked |= kPrimaryCapabilities;
  if (hints == nullptr || hints->caps == 0) asked = kCapabilities;
  if ((asked & (FI_MSG | FI_TAGGED)) != 0 && (asked & (FI_SEND | FI_RECV)) == 0) asked |= FI_SEND | FI_RECV;
  constexpr std::uint64_t kMemory = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((asked & (FI_RMA | FI_ATOMIC)) != 0 && (asked & kMemory) == 0) asked |= kMemory;
  return asked | FI_LOCAL_COMM | FI_REMOTE_COMM;
}

// Null: all that is asked for is offered.
const char* unmet(const fi_info& hints) {
  if ((hints.caps & ~kCapabilities) != 0) return "a capability";
  if (hints.addr_format != FI_FORMAT_UNSPEC && hints.addr_format != kAddressFormat) return "the address format";
  if (hints.ep_attr != nullptr) {
    const fi_ep_attr& wish = *hints.ep_attr;
    if (wish.type != FI_EP_UNSPEC && wish.type != FI_EP_RDM) return "an endpoint other than FI_EP_RDM";
    if (wish.protocol != FI_PROTO_UNSPEC) return "another protocol";
    if (wish.tx_ctx_cnt > 1 && wish.tx_ctx_cnt != FI_SHARED_CONTEXT) return "several transmit contexts";
    if (wish.rx_ctx_cnt > 1 && wish.rx_ctx_cnt != FI_SHARED_CONTEXT) return "several receive contexts";
    if (wish.tx_ctx_cnt == FI_SHARED_CONTEXT || wish.rx_ctx_cnt == FI_SHARED_CONTEXT) return "shared contexts";
    if (std::max({wish.max_order_raw_size, wish.max_order_war_size, wish.max_order_waw_size}) > kOrderedBytes)
      return "order of so large RMA";
    if (wish.auth_key_size != 0) return "authorization keys";
  }
  if (hints.tx_attr != nullptr) {
    const fi_tx_attr& wish = *hints.tx_attr;
    if ((wish.caps & ~kCapabilities) != 0) return "a capability of sending";
    if ((wish.op_flags & ~kTransmitFlags) != 0) return "a default flag of sending";
    if ((wish.msg_order & ~kOrders) != 0) return "an unknown order of messages";
    if (wish.comp_order != FI_ORDER_NONE) return "an order of completions";
    if (wish.inject_size > kInjectBytes) return "so large an inject size";
    if (wish.size > kQueueSize) return "so many sends under way";
    if (wish.iov_limit > kPieces || wish.rma_iov_limit > kRemotePieces) return "so many pieces of memory";
  }
  if (hints.rx_attr != nullptr) {
    const fi_rx_attr& wish = *hints.rx_attr;
    if ((wish.caps & ~kCapabilities) != 0) return "a capability of receiving";
    if ((wish.op_flags & ~kReceiveFlags) != 0) return "a default flag of receiving";
    if ((wish.msg_order & ~kOrders) != 0) return "an unknown order of messages";
    if (wish.comp_order != FI_ORDER_NONE) return "an order of completions";
    if (wish.size > kQueueSize) return "so many receives posted";
    if (wish.iov_limit > kPieces) return "so many pieces of memory";
  }
  if (hints.domain_attr != nullptr) {
    const fi_domain_attr& wish = *hints.domain_attr;
    if (wish.name != nullptr && std::strcmp(wish.name, kDomainName) != 0) return "a domain of another name";
    if (wish.data_progress == FI_PROGRESS_AUTO) return "progress without calls (FI_PROGRESS_AUTO)";
    if (wish.cq_data_size > sizeof(std::uint64_t)) return "so large a data word";
    if (wish.mr_key_size > sizeof(std::uint64_t)) return "so large a key";
    if (wish.mr_iov_limit > 1) return "memory registered in several pieces";
    if ((wish.caps & ~(FI_LOCAL_COMM | FI_REMOTE_COMM)) != 0) return "a capability of the domain";
    if (wish.auth_key_size != 0) return "authorization keys";
  }
  if (hints.fabric_attr != nullptr && hints.fabric_attr->name != nullptr &&
      std::strcmp(hints.fabric_attr->name, kFabricName) != 0)
    return "a fabric of another name";
  return nullptr;
}

int mr_mode_for(std::uint32_t version, const fi_info* hints) {
  const int asked = hints != nullptr && hints->domain_attr != nullptr ? hints->domain_attr->mr_mode : 0;
  if (asked == FI_MR_BASIC) return FI_MR_BASIC;
  return version < FI_VERSION(1, 5) || asked == FI_MR_SCALABLE ? static_cast<int>(FI_MR_SCALABLE) : 0;
}

void fill(fi_info& info, std::uint32_t version, const fi_info* hints) {
  const std::uint64_t caps = capabilities_for(hints);
  info.caps = caps;
  info.mode = 0;
  info.addr_format = kAddressFormat;
  constexpr std::uint64_t kSending = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE;
  constexpr std::uint64_t kReceiving = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ |
                                       FI_REMOTE_WRITE | FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_RMA_EVENT;
  const fi_tx_attr* tx = hints != nullptr ? hints->tx_attr : nullptr;
  const fi_rx_attr* rx = hints != nullptr ? hints->rx_attr : nullptr;
  *info.tx_attr = {.caps = caps & kSending,
                   .mode = 0,
                   .op_flags = tx != nullptr ? tx->op_flags : 0,
                   .msg_order = FI_ORDER_SAS | (tx != nullptr ? tx->msg_order : 0),
                   .comp_order = FI_ORDER_NONE,
                   .inject_size = kInjectBytes,
                   .size = kQueueSize,
                   .iov_limit = kPieces,
                   .rma_iov_limit = kRemotePieces,
                   .tclass = FI_TC_UNSPEC};
  *info.rx_attr = {.caps = caps & kReceiving,
                   .mode = 0,
                   .op_flags = rx != nullptr ? rx->op_flags : 0,
                   .msg_order = FI_ORDER_SAS | (rx != nullptr ? rx->msg_order : 0),
                   .comp_order = FI_ORDER_NONE,
                   .total_buffered_recv = 0,
                   .size = kQueueSize,
                   .iov_limit = kPieces};
  fi_ep_attr& endpoint = *info.ep_attr;
  endpoint.type = FI_EP_RDM;
  endpoint.protocol = FI_PROTO_UNSPEC;
  endpoint.protocol_version = 1;
  endpoint.max_msg_size = std::size_t{1} << 62U;
  const auto ordered = [asked = info.tx_attr->msg_order](std::uint64_t kinds) {
    return (asked & kinds) != 0 ? kOrderedBytes : 0;
  };
  endpoint.max_order_raw_size = ordered(FI_ORDER_RAW | FI_ORDER_RMA_RAW | FI_ORDER_ATOMIC_RAW);
  endpoint.max_order_war_size = ordered(FI_ORDER_WAR | FI_ORDER_RMA_WAR | FI_ORDER_ATOMIC_WAR);
  endpoint.max_order_waw_size = ordered(FI_ORDER_WAW | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_WAW);
  endpoint.mem_tag_format = std::numeric_limits<std::uint64_t>::max() >> 1U;
  if (hints != nullptr && hints->ep_attr != nullptr && hints->ep_attr->mem_tag_format != 0)
    endpoint.mem_tag_format = hints->ep_attr->mem_tag_format;
  endpoint.tx_ctx_cnt = 1;
  endpoint.rx_ctx_cnt = 1;

  fi_domain_attr& domain = *info.domain_attr;
  const fi_domain_attr* wish = hints != nullptr ? hints->domain_attr : nullptr;
  domain.name = ::strdup(kDomainName);
  domain.threading = wish != nullptr && wish->threading != FI_THREAD_UNSPEC ? wish->threading : FI_THREAD_SAFE;
  domain.control_progress =
      wish != nullptr && wish->control_progress != FI_PROGRESS_UNSPEC ? wish->control_progress : FI_PROGRESS_MANUAL;
  domain.data_progress = FI_PROGRESS_MANUAL;
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = wish != nullptr ? wish->av_type : FI_AV_UNSPEC;
  domain.mr_mode = mr_mode_for(version, hints);
  domain.mr_key_size = sizeof(std::uint64_t);
  domain.cq_data_size = sizeof(std::uint64_t);
  constexpr std::size_t kMany = 1024;
  domain.cq_cnt = kMany;
  domain.ep_cnt = kMany;
  domain.tx_ctx_cnt = kMany;
  domain.rx_ctx_cnt = kMany;
  domain.max_ep_tx_ctx = 1;
  domain.max_ep_rx_ctx = 1;
  domain.cntr_cnt = kMany;
  domain.mr_iov_limit = 1;
  domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
  domain.mr_cnt = kQueueSize;

  info.fabric_attr->name = ::strdup(kFabricName);
  info.fabric_attr->prov_version = self.version;
  info.fabric_attr->api_version = version;
  if (hints != nullptr && hints->dest_addr != nullptr && hints->dest_addrlen == Name::kBytes) {
    info.dest_addr = std::malloc(Name::kBytes);
    if (info.dest_addr != nullptr) {
      std::memcpy(info.dest_addr, hints->dest_addr, Name::kBytes);
      info.dest_addrlen = Name::kBytes;
    }
  }
}

} // namespace

int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints,
             fi_info** info) {
  if (FI_VERSION_LT(self.fi_version, version)) return refuse_hint("a later version of the interface");
  // A process is found by the name that it has given, not by a host's. Whoever names its own host means any.
  if (node != nullptr && (flags & FI_SOURCE) == 0) return refuse_hint("processes found by a host's name");
  static_cast<void>(service);
  if (hints != nullptr)
    if (const char* what = unmet(*hints)) return refuse_hint(what);
  fi_info* made = fi_allocinfo();
  if (made == nullptr) return -FI_ENOMEM;
  fill(*made, version, hints);
  *info = made;
  return 0;
}

} // namespace heddle::provider
