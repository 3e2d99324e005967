// libibverbs.so.1 as far as tests need it: one InfiniBand adapter of one port that is not there. It says which LID it has
// (RECORDER_LID, RECORDER_LMC), gives out queue pairs, and notes in the file RECORDER_FILE, a line each, with which addresses they are
// connected and address handles are made: what reaches it is what an adapter would have got. Nothing is ever transferred.
// Its symbols have the versions of the real one's (recorder.map), so that programs built against that are bound to it.
#include <infiniband/verbs.h>

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

void note(const char* what, const ibv_ah_attr& address) {
  const char* name = std::getenv("RECORDER_FILE");
  const int file = name != nullptr ? ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  if (file < 0) return;
  char line[120];
  const int length = std::snprintf(line, sizeof line, "%s from %u lid %u bits %u\n", what, number_of("RECORDER_LID", 1),
                                   address.dlid, address.src_path_bits);
  if (::write(file, line, static_cast<std::size_t>(length)) != length) std::abort();
  ::close(file);
}

template <typename Object>
Object* made() {
  return static_cast<Object*>(std::calloc(1, sizeof(Object) + 256)); // some are read past what the header says of them
}

int freed(void* object) {
  std::free(object);
  return 0;
}

ibv_device device;

int describe_port(ibv_context*, std::uint8_t port, ibv_port_attr* about, std::size_t bytes) {
  if (port != 1) return EINVAL;
  ibv_port_attr all{};
  all.state = IBV_PORT_ACTIVE;
  all.max_mtu = all.active_mtu = IBV_MTU_4096;
  all.gid_tbl_len = 1;
  all.max_msg_sz = 1U << 30U;
  all.pkey_tbl_len = 1;
  all.lid = static_cast<std::uint16_t>(number_of("RECORDER_LID", 1));
  all.lmc = static_cast<std::uint8_t>(number_of("RECORDER_LMC", 0));
  all.sm_lid = 1;
  all.max_vl_num = 4;
  all.active_width = 2;
  all.active_speed = 32;
  all.phys_state = 5;
  all.link_layer = IBV_LINK_LAYER_INFINIBAND;
  std::memcpy(about, &all, bytes < sizeof all ? bytes : sizeof all);
  return 0;
}

int no_completion(ibv_cq*, int, ibv_wc*) {
  return 0;
}
int no_notice(ibv_cq*, int) {
  return 0;
}
int swallow_send(ibv_qp*, ibv_send_wr*, ibv_send_wr**) {
  return 0;
}
int swallow_receive(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**) {
  return 0;
}
int swallow_shared_receive(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**) {
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
  auto* whole = made<verbs_context>();
  whole->sz = sizeof(verbs_context);
  whole->query_port = describe_port;
  ibv_context& context = whole->context;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.device = one;
  context.cmd_fd = ::eventfd(0, EFD_CLOEXEC);
  context.async_fd = ::eventfd(0, EFD_CLOEXEC);
  context.num_comp_vectors = 1;
  context.ops.poll_cq = no_completion;
  context.ops.req_notify_cq = no_notice;
  context.ops.post_send = swallow_send;
  context.ops.post_recv = swallow_receive;
  context.ops.post_srq_recv = swallow_shared_receive;
  return &context;
}
SEEN int ibv_close_device(ibv_context* context) {
  ::close(context->cmd_fd);
  ::close(context->async_fd);
  return freed(verbs_get_ctx(context));
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
  about->atomic_cap = IBV_ATOMIC_HCA;
  about->max_pkeys = 1;
  about->phys_port_cnt = 1;
  return 0;
}
// What stands in front of it in programs asks for less than there is now, as those that are older do.
SEEN int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* about) {
  return describe_port(context, port, reinterpret_cast<ibv_port_attr*>(about),
                       offsetof(ibv_port_attr, port_cap_flags2));
}
SEEN int ibv_query_gid(ibv_context*, std::uint8_t, int, ibv_gid* gid) {
  *gid = {};
  gid->raw[0] = 0xFE;
  gid->raw[1] = 0x80;
  gid->raw[14] = static_cast<std::uint8_t>(number_of("RECORDER_LID", 1) >> 8U);
  gid->raw[15] = static_cast<std::uint8_t>(number_of("RECORDER_LID", 1));
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
  auto* pd = made<ibv_pd>();
  pd->context = context;
  return pd;
}
SEEN int ibv_dealloc_pd(ibv_pd* pd) {
  return freed(pd);
}
SEEN ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* memory, std::size_t bytes, std::uint64_t, unsigned) {
  auto* region = made<ibv_mr>();
  region->context = pd->context;
  region->pd = pd;
  region->addr = memory;
  region->length = bytes;
  region->lkey = region->rkey = next_number++;
  return region;
}
SEEN ibv_mr* ibv_reg_mr(ibv_pd* pd, void* memory, std::size_t bytes, int access) {
  return ibv_reg_mr_iova2(pd, memory, bytes, 0, static_cast<unsigned>(access));
}
SEEN int ibv_dereg_mr(ibv_mr* region) {
  return freed(region);
}
SEEN ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = made<ibv_comp_channel>();
  channel->context = context;
  channel->fd = ::eventfd(0, EFD_CLOEXEC);
  return channel;
}
SEEN int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  ::close(channel->fd);
  return freed(channel);
}
SEEN ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* own, ibv_comp_channel* channel, int) {
  auto* cq = made<ibv_cq>();
  cq->context = context;
  cq->cqe = entries;
  cq->cq_context = own;
  cq->channel = channel;
  return cq;
}
SEEN int ibv_destroy_cq(ibv_cq* cq) {
  return freed(cq);
}
SEEN ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr*) {
  auto* srq = made<ibv_srq>();
  srq->context = pd->context;
  srq->pd = pd;
  return srq;
}
SEEN int ibv_destroy_srq(ibv_srq* srq) {
  return freed(srq);
}
SEEN ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  auto* qp = made<ibv_qp>();
  qp->context = pd->context;
  qp->pd = pd;
  qp->send_cq = wanted->send_cq;
  qp->recv_cq = wanted->recv_cq;
  qp->srq = wanted->srq;
  qp->qp_num = next_number++;
  qp->qp_type = wanted->qp_type;
  return qp;
}
SEEN int ibv_destroy_qp(ibv_qp* qp) {
  return freed(qp);
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
  if ((mask & IBV_QP_AV) != 0) note("connect", wanted->ah_attr);
  return 0;
}
SEEN ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* address) {
  note("address", *address);
  auto* handle = made<ibv_ah>();
  handle->context = pd->context;
  handle->pd = pd;
  return handle;
}
SEEN int ibv_destroy_ah(ibv_ah* handle) {
  return freed(handle);
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

SEEN int ibv_get_async_event(ibv_context*, ibv_async_event*) {
  errno = EAGAIN;
  return -1;
}
SEEN void ibv_ack_async_event(ibv_async_event*) {}
SEEN int ibv_get_cq_event(ibv_comp_channel*, ibv_cq**, void**) {
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
