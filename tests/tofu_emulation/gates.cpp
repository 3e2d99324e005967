// Barrier gates: each waits for a signal from its local and its remote source and then signals both its destinations. The first gate of a
// process is where a barrier starts and ends.
#include "fabric.hpp"
#include "switches.hpp"

#include <csignal>

#include <unistd.h>

using namespace tofu_emulation;

namespace {

constexpr std::uint64_t kGateMark = std::uint64_t{1} << 54U;
constexpr std::uint64_t kRelay = std::uint64_t{1} << 53U;
constexpr std::uint64_t kNodeAndTni = (std::uint64_t{1} << 34U) - 1; // of an id (Place::id)

Gate* gate_of(std::uint64_t id) {
  for (Gate& gate : fabric().gates)
    if (gate.id == id && id != 0) return &gate;
  return nullptr;
}

void fire(const Gate& gate);

void signal(std::uint64_t to, bool local) {
  if (to == UTOFU_VBG_ID_NULL) return;
  Gate* gate = gate_of(to);
  if (gate == nullptr) return; // its process is gone
  if (!gate->set) violation("a barrier reaches a gate that is not set yet");
  ++(local ? gate->local : gate->remote);
  const bool needs_local = gate->to.src_lcl_vbg_id != UTOFU_VBG_ID_NULL;
  const bool needs_remote = gate->to.src_rmt_vbg_id != UTOFU_VBG_ID_NULL;
  if ((gate->id & kRelay) == 0) return; // the end is looked for by poll_barrier
  if ((needs_local && gate->local == 0) || (needs_remote && gate->remote == 0)) return;
  gate->local -= needs_local ? 1U : 0U;
  gate->remote -= needs_remote ? 1U : 0U;
  fire(*gate);
}

void fire(const Gate& gate) {
  signal(gate.to.dst_lcl_vbg_id, true);
  signal(gate.to.dst_rmt_vbg_id, false);
}

Gate& own(std::uint64_t id) {
  Gate* gate = gate_of(id);
  if (gate == nullptr || gate->pid != ::getpid()) violation("a barrier gate that is not this process's");
  return *gate;
}

} // namespace

extern "C" {

int utofu_alloc_vbg(utofu_tni_id_t tni, std::size_t count, unsigned long flags, utofu_vbg_id_t ids[]) {
  if (tni >= switches().tnis) return UTOFU_ERR_INVALID_TNI_ID;
  if (flags != 0) return UTOFU_ERR_INVALID_FLAGS;
  if (count == 0) return UTOFU_ERR_INVALID_NUMBER;
  const Lock lock(fabric().gate_mutex);
  Place place = here();
  place.tni = tni;
  const std::uint64_t on = place.id() & kNodeAndTni;
  std::uint64_t taken = 0;
  for (Gate& gate : fabric().gates) {
    if (gate.id != 0 && ::kill(gate.pid, 0) != 0) gate = {};
    if (gate.id != 0 && (gate.id & kNodeAndTni) == on) ++taken;
  }
  if (taken + count > switches().gates) return UTOFU_ERR_FULL;
  std::size_t made = 0;
  for (std::uint64_t at = 0; at < kGates && made < count; ++at) {
    Gate& gate = fabric().gates[at];
    if (gate.id != 0) continue;
    gate = {}; // where in the table it stands makes it unique
    gate.id = on | at << 34U | kGateMark | (made > 0 ? kRelay : 0);
    gate.pid = ::getpid();
    ids[made++] = gate.id;
  }
  return made == count ? UTOFU_SUCCESS : UTOFU_ERR_FULL;
}

int utofu_free_vbg(utofu_vbg_id_t ids[], std::size_t count) {
  const Lock lock(fabric().gate_mutex);
  for (std::size_t i = 0; i < count; ++i) own(ids[i]) = {};
  return UTOFU_SUCCESS;
}

int utofu_set_vbg(utofu_vbg_setting settings[], std::size_t count) {
  const Lock lock(fabric().gate_mutex);
  for (std::size_t i = 0; i < count; ++i) {
    Gate& gate = own(settings[i].vbg_id);
    if (!path_of(settings[i].dst_path_coords)) return UTOFU_ERR_INVALID_PATH;
    gate.to = settings[i];
    gate.set = true;
  }
  return UTOFU_SUCCESS;
}

int utofu_barrier(utofu_vbg_id_t start, unsigned long flags) {
  if (flags != 0) return UTOFU_ERR_INVALID_FLAGS;
  const Lock lock(fabric().gate_mutex);
  Gate& gate = own(start);
  if (!gate.set) violation("a barrier by a gate that is not set");
  if (gate.running) return UTOFU_ERR_BUSY;
  gate.running = true;
  fire(gate);
  return UTOFU_SUCCESS;
}

int utofu_poll_barrier(utofu_vbg_id_t start, unsigned long flags) {
  if (flags != 0) return UTOFU_ERR_INVALID_FLAGS;
  const Lock lock(fabric().gate_mutex);
  Gate& gate = own(start);
  if (!gate.running) violation("a barrier is polled that has not been started");
  const bool needs_local = gate.to.src_lcl_vbg_id != UTOFU_VBG_ID_NULL;
  const bool needs_remote = gate.to.src_rmt_vbg_id != UTOFU_VBG_ID_NULL;
  if ((needs_local && gate.local == 0) || (needs_remote && gate.remote == 0)) return UTOFU_ERR_NOT_COMPLETED;
  gate.local -= needs_local ? 1U : 0U;
  gate.remote -= needs_remote ? 1U : 0U;
  gate.running = false;
  return UTOFU_SUCCESS;
}

} // extern "C"
