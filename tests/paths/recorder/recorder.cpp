// libibverbs.so.1 as far as tests need it: one InfiniBand adapter that is not there. It says which LID it has
// (RECORDER_LID, RECORDER_LMC), has one port or RECORDER_PORTS, each with LIDs 64 further on, takes RECORDER_INLINE bytes with a request, gives out queue pairs, and notes in the file RECORDER_FILE, a line each, with which addresses they are
// connected and address handles are made: what reaches it is what an adapter would have got. With RECORDER_DELIVERS it also carries out
// what is sent between its objects of one process (transport.cpp), and with RECORDER_ADDRESSES it is on Ethernet, with so many of them.
// Its symbols have the versions of the real one's (recorder.map), so that programs built against that are bound to it.
#include "tests/paths/recorder/adapter.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#undef ibv_query_port
#undef ibv_reg_mr

#define SEEN extern "C" [[gnu::visibility("default")]]

namespace {

std::uint32_t number_of(const char* variable, std::uint32_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

void note(const char* what, const recorder::Adapter& from, const ibv_ah_attr& address) {
  const char* name = std::getenv("RECORDER_FILE");
  const int file = name != nullptr ? ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  if (file < 0) return;
  char line[120];
  char at[24];
  const int end = std::snprintf(at, sizeof at, "%u", from.lid);
  if (address.port_num > 1) std::snprintf(at + end, sizeof at - static_cast<std::size_t>(end), ":%u", address.port_num);
  const int length = address.is_global != 0 && from.addresses != 0
                         ? std::snprintf(line, sizeof line, "%s from %s index %u to %u.%u\n", what, at,
                                         address.grh.sgid_index, address.grh.dgid.raw[15], address.grh.dgid.raw[14])
                         : std::snprintf(line, sizeof line, "%s from %s lid %u bits %u\n", what, at, address.dlid,
                                         address.src_path_bits);
  if (::write(file, line, static_cast<std::size_t>(length)) != length) std::abort();
  ::close(file);
}

using recorder::Adapter;

template <typename Type, typename Base>
int freed(Base* object) {
  delete reinterpret_cast<Type*>(object);
  return 0;
}

ibv_device device;

int describe_port(ibv_context* context, std::uint8_t port, ibv_port_attr* about, std::size_t bytes) {
  ibv_port_attr all{};
  const Adapter& adapter = Adapter::of(context);
  if (port < 1 || port > adapter.ports) return EINVAL;
  all.state = number_of("RECORDER_DOWN", 0) == port ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
  all.max_mtu = all.active_mtu = IBV_MTU_4096;
  all.gid_tbl_len = adapter.addresses != 0 ? static_cast<int>(adapter.addresses) : 1;
  all.max_msg_sz = 1U << 30U;
  all.pkey_tbl_len = 1;
  if (adapter.addresses == 0) {
    all.lid = static_cast<std::uint16_t>(adapter.lid_of(port));
    all.lmc = static_cast<std::uint8_t>(adapter.lmc);
  }
  all.sm_lid = 1;
  all.max_vl_num = 4;
  all.active_width = 2;
  all.active_speed = 32;
  all.phys_state = 5;
  all.link_layer = adapter.addresses != 0 ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  std::memcpy(about, &all, bytes < sizeof all ? bytes : sizeof all);
  return 0;
}

std::atomic<std::uint32_t> next_number{1};

} // namespace

SEEN ibv_device** ibv_get_device_list(int* count) {
  device.node_type = IBV_NODE_CA;
  device.transport_type = IBV_TRANSPORT_IB;
  std::strcpy(device.name, "recorder0");
  std::strcpy(device.dev_name, "recorder0");
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  list[0] = &device;
  if (count != nullptr) *count = 1;
  return list;
}
SEEN void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}
SEEN const char* ibv_get_device_name(ibv_device* one) {
  return one->name;
}
SEEN const char* ibv_node_type_str(ibv_node_type) {
  return "InfiniBand channel adapter";
}

SEEN ibv_context* ibv_open_device(ibv_device* one) {
  auto* adapter = new Adapter{};
  adapter->lid = number_of("RECORDER_LID", 1);
  adapter->lmc = number_of("RECORDER_LMC", 0);
  adapter->addresses = number_of("RECORDER_ADDRESSES", 0);
  adapter->ports = number_of("RECORDER_PORTS", 1);
  adapter->delivers = number_of("RECORDER_DELIVERS", 0) != 0;
  recorder::add(*adapter);
  verbs_context* whole = &adapter->base;
  whole->sz = sizeof(verbs_context);
  whole->query_port = describe_port;
  ibv_context& context = whole->context;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.device = one;
  context.cmd_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  context.async_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  context.num_comp_vectors = 1;
  context.ops.poll_cq = recorder::poll;
  context.ops.req_notify_cq = recorder::ring;
  context.ops.post_send = recorder::send;
  context.ops.post_recv = recorder::receive;
  context.ops.post_srq_recv = recorder::receive_shared;
  return &context;
}
SEEN int ibv_close_device(ibv_context* context) {
  ::close(context->cmd_fd);
  ::close(context->async_fd);
  recorder::remove(Adapter::of(context));
  return freed<Adapter>(verbs_get_ctx(context));
}

SEEN int ibv_query_device(ibv_context*, ibv_device_attr* about) {
  *about = {};
  about->vendor_id = 1;
  about->max_mr_size = ~std::uint64_t{0};
  about->page_size_cap = 0xFFFFF000U;
  about->max_qp = about->max_cq = about->max_mr = about->max_pd = about->max_ah = about->max_srq = 1 << 16;
  about->max_qp_wr = about->max_cqe = about->max_srq_wr = 1 << 15;
  about->max_sge = about->max_srq_sge = 16;
  about->max_qp_rd_atom = about->max_qp_init_rd_atom = 16;
  about->atomic_cap = number_of("RECORDER_ATOMICS", 1) != 0 ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
  about->max_pkeys = 1;
  about->phys_port_cnt = static_cast<std::uint8_t>(number_of("RECORDER_PORTS", 1));
  return 0;
}
// What stands in front of it in programs asks for less than there is now, as those that are older do.
SEEN int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* about) {
  return describe_port(context, port, reinterpret_cast<ibv_port_attr*>(about),
                       offsetof(ibv_port_attr, port_cap_flags2));
}
SEEN int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
  *gid = Adapter::of(context).gid(port, static_cast<std::uint32_t>(index));
  return 0;
}
SEEN int _ibv_query_gid_ex(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t, std::size_t);
int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry* to, std::uint32_t,
                      std::size_t) {
  *to = {};
  to->gid = Adapter::of(context).gid(port, index);
  to->gid_index = index;
  to->port_num = port;
  to->gid_type = Adapter::of(context).addresses != 0 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
  return 0;
}
SEEN int ibv_query_pkey(ibv_context*, std::uint8_t, int, std::uint16_t* key) {
  *key = 0xFFFF;
  return 0;
}
SEEN int ibv_fork_init() {
  return 0;
}
SEEN ibv_fork_status ibv_is_fork_initialized() {
  return IBV_FORK_UNNEEDED;
}

SEEN ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* pd = new recorder::Object<ibv_pd>{};
  pd->base.context = context;
  return &pd->base;
}
SEEN int ibv_dealloc_pd(ibv_pd* pd) {
  return freed<recorder::Object<ibv_pd>>(pd);
}
// Where RECORDER_LOCKS says how many bytes at once can be locked, it is asked for more in vain: for the reason RECORDER_REFUSES.
SEEN ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* memory, std::size_t bytes, std::uint64_t address, unsigned access) {
  if (bytes > number_of("RECORDER_LOCKS", ~0U)) {
    errno = static_cast<int>(number_of("RECORDER_REFUSES", ENOMEM));
    return nullptr;
  }
  auto* region = new recorder::Region{};
  region->base.context = pd->context;
  region->base.pd = pd;
  region->base.addr = memory;
  region->base.length = bytes;
  region->base.lkey = region->base.rkey = next_number++;
  region->address = address;
  region->access = access;
  recorder::add(*region);
  return &region->base;
}
SEEN ibv_mr* ibv_reg_mr(ibv_pd* pd, void* memory, std::size_t bytes, int access) {
  return ibv_reg_mr_iova2(pd, memory, bytes, reinterpret_cast<std::uintptr_t>(memory), static_cast<unsigned>(access));
}
SEEN int ibv_dereg_mr(ibv_mr* region) {
  recorder::remove(*reinterpret_cast<recorder::Region*>(region));
  return freed<recorder::Region>(region);
}
SEEN ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = new recorder::Object<ibv_comp_channel>{};
  channel->base.context = context;
  channel->base.fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return &channel->base;
}
SEEN int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  ::close(channel->fd);
  return freed<recorder::Object<ibv_comp_channel>>(channel);
}
SEEN ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* own, ibv_comp_channel* channel, int) {
  auto* cq = new recorder::Completions{};
  cq->base.context = context;
  cq->base.cqe = entries;
  cq->base.cq_context = own;
  cq->base.channel = channel;
  return &cq->base;
}
SEEN int ibv_destroy_cq(ibv_cq* cq) {
  return freed<recorder::Completions>(cq);
}
SEEN ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr*) {
  auto* srq = new recorder::Rooms{};
  srq->base.context = pd->context;
  srq->base.pd = pd;
  return &srq->base;
}
SEEN int ibv_destroy_srq(ibv_srq* srq) {
  return freed<recorder::Rooms>(srq);
}
SEEN ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  if (number_of("RECORDER_NO_PAIRS", 0) != 0) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::uint32_t most_inline = number_of("RECORDER_INLINE", 512);
  if (wanted->cap.max_inline_data > most_inline) {
    wanted->cap.max_inline_data = most_inline; // as some drivers do, though they refuse
    errno = EINVAL;
    return nullptr;
  }
  auto* whole = new recorder::Pair{};
  whole->most_inline = wanted->cap.max_inline_data;
  ibv_qp* qp = &whole->base;
  qp->context = pd->context;
  qp->pd = pd;
  qp->send_cq = wanted->send_cq;
  qp->recv_cq = wanted->recv_cq;
  qp->srq = wanted->srq;
  qp->qp_num = next_number++;
  qp->qp_type = wanted->qp_type;
  whole->signals_all = wanted->sq_sig_all != 0;
  recorder::add(*whole);
  return qp;
}
SEEN int ibv_destroy_qp(ibv_qp* qp) {
  recorder::remove(*reinterpret_cast<recorder::Pair*>(qp));
  return freed<recorder::Pair>(qp);
}
SEEN int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* about, int, ibv_qp_init_attr* made_with) {
  about->qp_state = qp->state;
  made_with->cap = about->cap = {
      .max_send_wr = 256, .max_recv_wr = 256, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64};
  return 0;
}
SEEN int recorded_modify_qp(ibv_qp* qp, ibv_qp_attr* wanted, int mask);
int recorded_modify_qp(ibv_qp* qp, ibv_qp_attr* wanted, int mask) {
  if ((mask & IBV_QP_STATE) != 0) qp->state = wanted->qp_state;
  auto& whole = *reinterpret_cast<recorder::Pair*>(qp);
  if ((mask & IBV_QP_DEST_QPN) != 0) whole.far = wanted->dest_qp_num;
  if ((mask & IBV_QP_AV) != 0) whole.way = wanted->ah_attr;
  if ((mask & IBV_QP_AV) != 0) note("connect", Adapter::of(qp->context), wanted->ah_attr);
  if ((mask & IBV_QP_ALT_PATH) != 0) note("alternate", Adapter::of(qp->context), wanted->alt_ah_attr);
  return 0;
}
SEEN ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* address) {
  if (number_of("RECORDER_NO_WAY", 0) != 0) {
    errno = ENETUNREACH;
    return nullptr;
  }
  note("address", Adapter::of(pd->context), *address);
  auto* handle = new recorder::Handle{};
  handle->base.context = pd->context;
  handle->base.pd = pd;
  handle->way = *address;
  return &handle->base;
}
SEEN int ibv_destroy_ah(ibv_ah* handle) {
  return freed<recorder::Handle>(handle);
}
SEEN int ibv_init_ah_from_wc(ibv_context*, std::uint8_t port, ibv_wc* arrived, ibv_grh*, ibv_ah_attr* address) {
  *address = {};
  address->dlid = arrived->slid;
  address->src_path_bits = arrived->dlid_path_bits;
  address->port_num = port;
  return 0;
}
// As in the real one, its own function is called, and not one in front of it.
namespace {
ibv_ah* own_create_ah(ibv_pd* pd, ibv_ah_attr* address) __attribute__((alias("ibv_create_ah")));
}
SEEN ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* arrived, ibv_grh* header, std::uint8_t port) {
  ibv_ah_attr address;
  return ibv_init_ah_from_wc(pd->context, port, arrived, header, &address) == 0 ? own_create_ah(pd, &address) : nullptr;
}

SEEN int ibv_get_async_event(ibv_context* context, ibv_async_event* to) {
  auto& events = Adapter::of(context).events;
  if (events.empty()) {
    errno = EAGAIN;
    return -1;
  }
  *to = events.front();
  events.pop_front();
  return 0;
}
SEEN void ibv_ack_async_event(ibv_async_event*) {}
SEEN int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq**, void**) {
  std::uint64_t rung = 0;
  static_cast<void>(!::read(channel->fd, &rung, sizeof rung));
  errno = EAGAIN;
  return -1;
}
SEEN void ibv_ack_cq_events(ibv_cq*, unsigned) {}
SEEN const char* ibv_event_type_str(ibv_event_type) {
  return "event";
}
SEEN const char* ibv_wc_status_str(ibv_wc_status) {
  return "status";
}

// The first version of the function, which ancient programs ask for: its structures were others.
extern "C" [[gnu::visibility("default")]] int ancient_modify_qp(void*, void*, int);
int ancient_modify_qp(void*, void*, int) {
  return EPROTO;
}
__asm__(".symver ancient_modify_qp, ibv_modify_qp@IBVERBS_1.0");
__asm__(".symver recorded_modify_qp, ibv_modify_qp@@IBVERBS_1.1");

// What libraries around the real one must find there to be loaded at all. Those that are called find nothing.
extern "C" void* recorder_has_nothing();
void* recorder_has_nothing() {
  return nullptr;
}
SEEN void verbs_register_driver_34(const void*);
void verbs_register_driver_34(const void*) {} // when a driver is loaded
#define UNUSED(name) __asm__(".globl " #name "\n.type " #name ", @function\n.set " #name ", recorder_has_nothing");
#include "tests/paths/recorder/unused.inc"
