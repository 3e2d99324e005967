// libfabric's headers, all that the provider speaks of, and what is said of it in more than one place.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <heddle/error.hpp>
#include <heddle/name.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::provider {

inline constexpr const char* kProviderName = "heddle";
inline constexpr const char* kFabricName = "heddle";
inline constexpr const char* kDomainName = "heddle";
// An address is a heddle::Name.
inline constexpr std::uint32_t kAddressFormat = FI_PROV_SPECIFIC | 0x4864U;

inline constexpr std::size_t kInjectBytes = 16384;
inline constexpr std::size_t kPieces = 8;       // of memory in one operation
inline constexpr std::size_t kRemotePieces = 4; // the same at the target
inline constexpr std::size_t kAtomicBytes = 8192;
inline constexpr std::size_t kQueueSize =
    65536; // receives and sends that may be under way; nothing is reserved for them

// Each is granted where it is asked for, and costs nothing else. A target serves what a peer asks for in the order in which it was said; what
// moves large data by messages of their own (control.hpp) has no order, and a send that is to come behind RMA waits until that has ended.
inline constexpr std::uint64_t kOrders = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW |
                                         FI_ORDER_WAS | FI_ORDER_SAR | FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR |
                                         FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR |
                                         FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
inline constexpr std::size_t kOrderedBytes = kInjectBytes;
inline constexpr std::uint64_t kPrimaryCapabilities = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
inline constexpr std::uint64_t kModifiers = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
inline constexpr std::uint64_t kSecondary =
    FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_RMA_EVENT;
inline constexpr std::uint64_t kCapabilities = kPrimaryCapabilities | kModifiers | kSecondary;
inline constexpr std::uint64_t kTransmitFlags =
    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE;
inline constexpr std::uint64_t kReceiveFlags = FI_COMPLETION | FI_MULTI_RECV;
// What a call may say on top of that; any other flag would ask for something that does not happen, such as FI_FENCE.
inline constexpr std::uint64_t kHints = FI_MORE | FI_PRIORITY | kPrimaryCapabilities | kModifiers;
inline constexpr std::uint64_t kSendCallFlags = kTransmitFlags | kHints | FI_REMOTE_CQ_DATA;
inline constexpr std::uint64_t kReceiveCallFlags =
    kReceiveFlags | kHints | FI_PEEK | FI_CLAIM | FI_DISCARD | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE;

extern fi_provider self;

// A number of libfabric's for a code of Heddle's, as entries of completion queues carry it.
int number_of(ErrorCode code);
// Their `prov_errno` is the code, or this one, which is no error of Heddle's; and what fi_cq_strerror says of it.
inline constexpr int kNoMessage = 256;
std::string_view explanation(int number);
// What a call returns that failed: the same, negative. What can only be told in words goes to libfabric's log.
int refuse(const Error& error);

int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints,
             fi_info** info);
int open_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);

// Operations that nothing stands behind, since libfabric's wrappers call most without asking.
int no_bind(fid* self, fid* other, std::uint64_t flags);
int no_control(fid* self, int command, void* argument);
int no_ops(fid* self, const char* name, std::uint64_t flags, void** ops, void* context);

} // namespace heddle::provider
