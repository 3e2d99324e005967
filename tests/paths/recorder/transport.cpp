// The recorder's wires: datagrams, and reliable connections whose two ends must name the same two addresses, as an adapter checks.
// Ordered, and lost only where a test says so.
#include "tests/paths/recorder/adapter.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#define SEEN extern "C" [[gnu::visibility("default")]]

namespace recorder {

namespace {

std::recursive_mutex mutex;
std::vector<Adapter*> adapters;
std::vector<Region*> regions;
std::vector<Pair*> pairs;
bool loses_all = false;

constexpr std::size_t kRouteHeader = 40;
using Lock = std::scoped_lock<std::recursive_mutex>;

template <typename Type>
void forget(std::vector<Type*>& all, Type& one) {
  const Lock lock(mutex);
  std::erase(all, &one);
}

Adapter& adapter_of(const Pair& pair) {
  return Adapter::of(pair.base.context);
}

bool same(const ibv_gid& one, const ibv_gid& other) {
  return std::memcmp(one.raw, other.raw, sizeof one.raw) == 0;
}

// Whether what is sent that way arrives at the adapter.
bool leads(const ibv_ah_attr& way, const Adapter& to) {
  for (std::uint32_t port = 1; port <= to.ports; ++port) {
    const std::uint32_t first = to.lid_of(port);
    if (way.is_global == 0 && to.addresses == 0 && way.dlid >= first && way.dlid < first + (1U << to.lmc)) return true;
    for (std::uint32_t i = 0; way.is_global != 0 && i < to.addresses; ++i)
      if (same(way.grh.dgid, to.gid(port, i))) return true;
  }
  return false;
}

// Whether `back` is the address that `way` goes out from.
bool answers(const ibv_ah_attr& way, const Adapter& from, const ibv_ah_attr& back) {
  if (way.is_global == 0) return back.dlid == from.lid_of(way.port_num) + way.src_path_bits;
  return same(back.grh.dgid, from.gid(way.port_num, way.grh.sgid_index));
}

Pair* far_end(const Pair& from, std::uint32_t number, const ibv_ah_attr& way) {
  if (loses_all) return nullptr;
  const auto found = std::ranges::find(pairs, number, [](const Pair* each) { return each->base.qp_num; });
  return found == pairs.end() || !leads(way, adapter_of(**found)) || from.base.state == IBV_QPS_ERR ? nullptr : *found;
}

void complete(ibv_cq* queue, const ibv_wc& what) {
  auto& completions = *reinterpret_cast<Completions*>(queue);
  completions.all.push_back(what);
  if (!completions.rings || queue->channel == nullptr) return;
  completions.rings = false;
  const std::uint64_t one = 1;
  static_cast<void>(!::write(queue->channel->fd, &one, sizeof one));
}

std::vector<std::byte> contents_of(const Work& work) {
  if ((work.wanted.send_flags & IBV_SEND_INLINE) != 0) return work.contents;
  std::vector<std::byte> all;
  for (const ibv_sge& piece : work.pieces) {
    const auto* from = reinterpret_cast<const std::byte*>(piece.addr);
    if (const auto region = std::ranges::find(regions, piece.lkey, [](const Region* each) { return each->base.lkey; });
        region != regions.end()) // the caller may know it by another address
      from = static_cast<const std::byte*>((*region)->base.addr) + (piece.addr - (*region)->address);
    all.insert(all.end(), from, from + piece.length);
  }
  return all;
}

std::byte* reach(const Adapter& at, std::uint32_t key, std::uint64_t address, std::uint64_t bytes, unsigned access) {
  for (const Region* each : regions)
    if (each->base.rkey == key && &Adapter::of(each->base.context) == &at && (each->access & access) == access &&
        address >= each->address && address - each->address + bytes <= each->base.length)
      return static_cast<std::byte*>(each->base.addr) + (address - each->address);
  return nullptr;
}

std::deque<Receive>& receives_of(Pair& pair) {
  return pair.base.srq != nullptr ? reinterpret_cast<Rooms*>(pair.base.srq)->all : pair.receives;
}

// Into the next room of the pair's, behind `offset` bytes. False: it has none.
bool deliver(Pair& to, const std::vector<std::byte>& contents, std::size_t offset, ibv_wc what) {
  auto& rooms = receives_of(to);
  if (rooms.empty()) return false;
  const Receive room = rooms.front();
  rooms.pop_front();
  if (!contents.empty())
    std::memcpy(reinterpret_cast<std::byte*>(room.into.addr) + offset, contents.data(), contents.size());
  what.wr_id = room.id;
  what.qp_num = to.base.qp_num;
  complete(to.base.recv_cq, what);
  return true;
}

enum class Carried { yes, no_room };

Carried carry(Pair& from, const Work& work, ibv_wc_status& status) {
  const ibv_send_wr& wanted = work.wanted;
  if (from.base.qp_type == IBV_QPT_UD) {
    const auto& way = reinterpret_cast<Handle*>(wanted.wr.ud.ah)->way;
    const auto contents = contents_of(work);
    ibv_wc what{};
    what.opcode = IBV_WC_RECV;
    what.byte_len = static_cast<std::uint32_t>(kRouteHeader + contents.size());
    if (Pair* to = far_end(from, wanted.wr.ud.remote_qpn, way)) deliver(*to, contents, kRouteHeader, what);
    return Carried::yes;
  }
  Pair* to = far_end(from, from.far, from.way);
  const bool met = to != nullptr && (to->base.state == IBV_QPS_RTR || to->base.state == IBV_QPS_RTS) &&
                   to->far == from.base.qp_num && answers(from.way, adapter_of(from), to->way) &&
                   answers(to->way, adapter_of(*to), from.way);
  if (!met) {
    status = IBV_WC_RETRY_EXC_ERR;
    return Carried::yes;
  }
  const auto refuse = [&] {
    status = IBV_WC_REM_ACCESS_ERR;
    to->base.state = IBV_QPS_ERR;
    return Carried::yes;
  };
  const Adapter& there = adapter_of(*to);
  ibv_wc what{};
  const bool atomic = wanted.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wanted.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  if (atomic || wanted.opcode == IBV_WR_RDMA_READ) {
    std::uint64_t bytes = 0;
    for (const ibv_sge& piece : work.pieces) bytes += piece.length;
    const std::uint64_t address = atomic ? wanted.wr.atomic.remote_addr : wanted.wr.rdma.remote_addr;
    const std::uint32_t key = atomic ? wanted.wr.atomic.rkey : wanted.wr.rdma.rkey;
    std::byte* place = reach(there, key, address, bytes, atomic ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_READ);
    if (place == nullptr) return refuse();
    std::memcpy(reinterpret_cast<void*>(work.pieces.front().addr), place, work.pieces.front().length);
    std::uint64_t word = 0;
    if (!atomic) return Carried::yes;
    std::memcpy(&word, place, sizeof word);
    const bool swaps = wanted.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    if (!swaps) word += wanted.wr.atomic.compare_add;
    if (swaps && word == wanted.wr.atomic.compare_add) word = wanted.wr.atomic.swap;
    std::memcpy(place, &word, sizeof word);
    return Carried::yes;
  }
  const auto contents = contents_of(work);
  what.byte_len = static_cast<std::uint32_t>(contents.size());
  if (wanted.opcode == IBV_WR_SEND) {
    what.opcode = IBV_WC_RECV;
    return deliver(*to, contents, 0, what) ? Carried::yes : Carried::no_room;
  }
  const bool notices = wanted.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (notices && receives_of(*to).empty()) return Carried::no_room;
  if (!contents.empty()) {
    std::byte* place =
        reach(there, wanted.wr.rdma.rkey, wanted.wr.rdma.remote_addr, contents.size(), IBV_ACCESS_REMOTE_WRITE);
    if (place == nullptr) return refuse();
    std::memcpy(place, contents.data(), contents.size());
  }
  what.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
  what.imm_data = wanted.imm_data;
  if (notices) deliver(*to, {}, 0, what);
  return Carried::yes;
}

void progress(Pair& from) {
  while (!from.works.empty()) {
    const Work& work = from.works.front();
    ibv_wc what{};
    what.wr_id = work.wanted.wr_id;
    what.qp_num = from.base.qp_num;
    what.status = IBV_WC_SUCCESS;
    if (from.base.state == IBV_QPS_ERR)
      what.status = IBV_WC_WR_FLUSH_ERR;
    else if (carry(from, work, what.status) == Carried::no_room)
      return;
    if (what.status != IBV_WC_SUCCESS) from.base.state = IBV_QPS_ERR;
    const bool tells = from.signals_all || (work.wanted.send_flags & IBV_SEND_SIGNALED) != 0;
    from.works.pop_front();
    if (tells || what.status != IBV_WC_SUCCESS) complete(from.base.send_cq, what);
  }
}

void progress_all() {
  for (Pair* each : pairs) progress(*each);
}

} // namespace

ibv_gid Adapter::gid(std::uint32_t port, std::uint32_t index) const {
  ibv_gid made{};
  if (addresses == 0) {
    made.raw[0] = 0xFE;
    made.raw[1] = 0x80;
    made.raw[14] = static_cast<std::uint8_t>(lid_of(port) >> 8U);
  } else { // an IPv4 address
    made.raw[10] = made.raw[11] = 0xFF;
    made.raw[12] = 10;
    made.raw[13] = static_cast<std::uint8_t>(port);
    made.raw[14] = static_cast<std::uint8_t>(index);
  }
  made.raw[15] = static_cast<std::uint8_t>(lid_of(port));
  return made;
}

void add(Adapter& adapter) {
  const Lock lock(mutex);
  adapters.push_back(&adapter);
}
void remove(Adapter& adapter) {
  forget(adapters, adapter);
}
void add(Region& region) {
  const Lock lock(mutex);
  regions.push_back(&region);
}
void remove(Region& region) {
  forget(regions, region);
}
void add(Pair& pair) {
  const Lock lock(mutex);
  pairs.push_back(&pair);
}
void remove(Pair& pair) {
  forget(pairs, pair);
}

int poll(ibv_cq* queue, int most, ibv_wc* to) {
  const Lock lock(mutex);
  auto& all = reinterpret_cast<Completions*>(queue)->all;
  int count = 0;
  for (; count < most && !all.empty(); ++count) {
    to[count] = all.front();
    all.pop_front();
  }
  return count;
}

int ring(ibv_cq* queue, int) {
  const Lock lock(mutex);
  reinterpret_cast<Completions*>(queue)->rings = true;
  return 0;
}

int send(ibv_qp* one, ibv_send_wr* first, ibv_send_wr** bad) {
  const Lock lock(mutex);
  auto& pair = *reinterpret_cast<Pair*>(one);
  if (!adapter_of(pair).delivers) return 0;
  for (; first != nullptr; first = first->next) {
    *bad = first;
    if (pair.base.state != IBV_QPS_RTS && pair.base.state != IBV_QPS_ERR) return EINVAL;
    Work work{.wanted = *first, .pieces = {}, .contents = {}};
    work.pieces.assign(first->sg_list, first->sg_list + first->num_sge);
    std::uint64_t bytes = 0;
    for (const ibv_sge& piece : work.pieces) bytes += piece.length;
    if ((first->send_flags & IBV_SEND_INLINE) != 0 && bytes > pair.most_inline) return EINVAL;
    if ((first->send_flags & IBV_SEND_INLINE) != 0)
      for (const ibv_sge& piece : work.pieces) {
        const auto* from = reinterpret_cast<const std::byte*>(piece.addr);
        work.contents.insert(work.contents.end(), from, from + piece.length);
      }
    pair.works.push_back(std::move(work));
  }
  progress(pair);
  return 0;
}

int receive(ibv_qp* one, ibv_recv_wr* first, ibv_recv_wr**) {
  const Lock lock(mutex);
  auto& pair = *reinterpret_cast<Pair*>(one);
  if (!adapter_of(pair).delivers) return 0;
  for (; first != nullptr; first = first->next)
    pair.receives.push_back({.id = first->wr_id, .into = first->sg_list[0]});
  return 0;
}

int receive_shared(ibv_srq* one, ibv_recv_wr* first, ibv_recv_wr**) {
  const Lock lock(mutex);
  auto& rooms = *reinterpret_cast<Rooms*>(one);
  if (!Adapter::of(one->context).delivers) return 0;
  for (; first != nullptr; first = first->next) rooms.all.push_back({.id = first->wr_id, .into = first->sg_list[0]});
  progress_all();
  return 0;
}

} // namespace recorder

// For tests, in the same process.

// The adapter of that LID says so; about the queue pair of that number, or about that port of it, 0 being the first, too.
SEEN void recorder_raise(std::uint32_t lid, int event, std::uint32_t pair);
void recorder_raise(std::uint32_t lid, int event, std::uint32_t pair) {
  const recorder::Lock lock(recorder::mutex);
  for (recorder::Adapter* each : recorder::adapters) {
    if (each->lid != lid) continue;
    ibv_async_event what{};
    what.event_type = static_cast<ibv_event_type>(event);
    what.element.port_num = pair > 0 ? static_cast<int>(pair) : 1;
    for (recorder::Pair* one : recorder::pairs)
      if (event <= IBV_EVENT_PATH_MIG_ERR && one->base.qp_num == pair) what.element.qp = &one->base;
    each->events.push_back(what);
    const std::uint64_t one = 1;
    static_cast<void>(!::write(each->base.context.async_fd, &one, sizeof one));
  }
}

// It has got another.
SEEN void recorder_move(std::uint32_t lid, std::uint32_t to);
void recorder_move(std::uint32_t lid, std::uint32_t to) {
  const recorder::Lock lock(recorder::mutex);
  for (recorder::Adapter* each : recorder::adapters)
    if (each->lid == lid) each->lid = to;
}

// Nothing arrives any more, or everything again.
SEEN void recorder_lose(int all);
void recorder_lose(int all) {
  const recorder::Lock lock(recorder::mutex);
  recorder::loses_all = all != 0;
}
