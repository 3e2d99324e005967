// What comes back: notices of what was sent, of what has ended, and of what others have written here.
#include "translators/utofu/utofu.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::translators {

namespace {

ir::Status status_of(int code) {
  switch (code) {
    case UTOFU_SUCCESS: return ir::Status::ok;
    case UTOFU_ERR_MRQ_PEER: return ir::Status::peer_lost;
    case UTOFU_ERR_MRQ_RMT_MEMORY:
    case UTOFU_ERR_MRQ_RMT_STADD:
    case UTOFU_ERR_MRQ_RMT_LENGTH: return ir::Status::refused;
    default: return ir::Status::failed;
  }
}

// Whether a poll has found something, good or bad; otherwise there is nothing, or polling itself does not work now.
bool is_notice(int code, int first_error) {
  constexpr int kErrors = 64; // of each kind
  return code == UTOFU_SUCCESS || (code <= first_error && code > first_error - kErrors);
}

} // namespace

std::size_t Utofu::poll(std::span<ir::Event> events) {
  poll_engines();
  return events_.pop(events);
}

void Utofu::poll_engines() {
  for (std::size_t number = 0; number < engines_.size(); ++number) {
    Engine& engine = engines_[number];
    const utofu_vcq_hdl_t vcq = vcqs_[number].handle;
    for (void* block = nullptr; engine.under_way > 0 && is_notice(api_.poll_tcq(vcq, 0, &block), UTOFU_ERR_TCQ_OTHER);
         block = nullptr, --engine.under_way)
      if (block != nullptr) --engine.block_users[reinterpret_cast<std::uintptr_t>(block)];
    // What has left the queue is not told again: none is taken when there may be no memory for it.
    utofu_mrq_notice notice{};
    for (int code = 0;
         base::Reserve::may_begin() && is_notice(code = api_.poll_mrq(vcq, 0, &notice), UTOFU_ERR_MRQ_OTHER);)
      noticed(number, code, notice);
  }
}

bool Utofu::drained() const {
  return std::ranges::all_of(engines_, [](const Engine& engine) { return engine.under_way == 0; });
}

void Utofu::noticed(std::size_t number, int code, const utofu_mrq_notice& notice) {
  if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT) {
    const utofu_stadd_t bell = bell_of(vcqs_[number].id);
    const bool rung = notice.rmt_stadd >= bell && notice.rmt_stadd <= bell + sizeof identity_->bell;
    if (const auto peer = sender(notice.vcq_id))
      events_.push({.kind = rung ? ir::EventKind::remote_read : ir::EventKind::remote_written,
                    .peer = *peer,
                    .value = notice.edata});
    return;
  }
  if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_GET || notice.notice_type == UTOFU_MRQ_TYPE_RMT_ARMW) return;
  Slot& slot = engines_[number].slots[notice.edata & 0xffU];
  if (!slot.used || slot.awaited == 0) return;
  // Errors also come of commands that asked for no notice and have no slot, or another: they are known by the place.
  if (code != UTOFU_SUCCESS && (plain(notice.vcq_id) != slot.to || notice.rmt_stadd < slot.remote ||
                                notice.rmt_stadd > slot.remote + slot.extent))
    return;
  if (code != UTOFU_SUCCESS && slot.end.status == ir::Status::ok) {
    slot.end.status = status_of(code);
    slot.end.vendor_code = code;
  }
  slot.end.value = notice.rmt_value;
  if (--slot.awaited == 0) end(number, slot);
}

void Utofu::end(std::size_t number, Slot& slot) {
  Engine& engine = engines_[number];
  if (!slot.target.empty() && slot.end.status == ir::Status::ok)
    std::memcpy(slot.target.data(), engine.block(slot.block), slot.target.size());
  if (slot.block != 0) engine.block_users[slot.block] = 0;
  if (slot.looks) looked_ = slot.end.status;
  if (slot.signalled) events_.push(slot.end);
  give_back(number, slot);
}

// Known by a queue of its own; nobody: it is not of this job.
std::optional<ir::Peer> Utofu::sender(utofu_vcq_id_t queue) {
  if (const auto known = senders_.find(queue); known != senders_.end()) return known->second;
  std::array<std::uint8_t, 6> coords{};
  utofu_tni_id_t tni = 0;
  utofu_cq_id_t cq = 0;
  std::uint16_t unknown = 0;
  if (api_.query_vcq_info(queue, coords.data(), &tni, &cq, &unknown) != UTOFU_SUCCESS) return std::nullopt;
  const auto has_it = [&](const Peer& peer) {
    for (std::size_t i = 0; peer.where.coords == coords && i < peer.where.engines; ++i)
      if (peer.where.tni[i] == tni && peer.where.cq[i] == cq) return true;
    return false;
  };
  const auto found = std::ranges::find_if(peers_, has_it);
  if (found == peers_.end()) return std::nullopt;
  return senders_[queue] = ir::Peer{static_cast<std::uint32_t>(found - peers_.begin())};
}

void Utofu::detach(ir::Peer peer) {
  Peer* const gone = attached(peer);
  if (gone == nullptr) return;
  gone->attached = false;
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) {
    for (Slot& slot : engines_[engine].slots) {
      if (!slot.used || slot.end.peer != peer) continue;
      // Its notices may come yet, and are then of no interest; nothing is written to the caller's memory any more.
      if (slot.registered != 0) api_.dereg_mem(vcqs_[engine].handle, slot.registered, 0);
      slot.end.status = ir::Status::peer_lost;
      if (slot.signalled) events_.push(slot.end);
      slot.registered = 0;
      slot.signalled = false;
      slot.target = {};
    }
  }
}

} // namespace heddle::translators
