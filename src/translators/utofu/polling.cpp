// What comes back: notices of what was sent, of what has ended, and of what others have written here.
#include "translators/utofu/utofu.hpp"

#include <algorithm>

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
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) poll_engine(engine);
  if (!strangers_.empty()) greet_strangers();
  return events_.pop(events);
}

void Utofu::poll_engine(std::size_t number) {
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

bool Utofu::drained() const {
  return std::ranges::all_of(engines_, [](const Engine& engine) { return engine.under_way == 0; });
}

void Utofu::noticed(std::size_t number, int code, const utofu_mrq_notice& notice) {
  if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT) {
    utofu_stadd_t bell = 0;
    api_.query_stadd(vcqs_[number].id, utofu::Memory::kFirstTag, &bell);
    bell += offsetof(Identity, bell);
    const bool rung = notice.rmt_stadd >= bell && notice.rmt_stadd <= bell + sizeof identity_->bell;
    announce(notice.vcq_id,
             {.kind = rung ? ir::EventKind::remote_read : ir::EventKind::remote_written, .value = notice.edata});
    return;
  }
  if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_GET || notice.notice_type == UTOFU_MRQ_TYPE_RMT_ARMW) return;
  Slot& slot = engines_[number].slots[notice.edata & 0xffU];
  if (!slot.used || slot.awaited == 0) return;
  // Errors also come of commands that asked for no notice and have no slot, or another: they are known by the place.
  if (code != UTOFU_SUCCESS && (plain(notice.vcq_id) != slot.to || notice.rmt_stadd < slot.remote ||
                                notice.rmt_stadd > slot.remote + slot.extent))
    return;
  if (code != UTOFU_SUCCESS && slot.status == ir::Status::ok) {
    slot.status = status_of(code);
    slot.code = code;
  }
  slot.value = notice.rmt_value;
  if (--slot.awaited == 0) end(number, slot);
}

void Utofu::end(std::size_t number, Slot& slot) {
  Engine& engine = engines_[number];
  if (slot.block != 0) {
    if (slot.target != nullptr && slot.status == ir::Status::ok) copy_out(engine, slot);
    if (slot.target != nullptr && slot.status != ir::Status::ok && slot.asks)
      reinterpret_cast<Identity*>(slot.target)->rank = kNobody;
    engine.block_users[slot.block] = 0;
  }
  if (slot.registered != 0) api_.dereg_mem(vcqs_[number].handle, slot.registered, 0);
  if (slot.signalled)
    events_.push({.kind = ir::EventKind::completed,
                  .status = slot.status,
                  .peer = slot.peer,
                  .cookie = slot.cookie,
                  .value = slot.value,
                  .vendor_code = slot.code});
  give_back(engine, slot);
}

// Its sender is told of before anything that it wrote. One that has never been attached here is asked who it is.
void Utofu::announce(utofu_vcq_id_t from, ir::Event event) {
  Stranger& sender = known_[from];
  if (sender.known) {
    event.peer = sender.peer;
    events_.push(event);
    return;
  }
  if (sender.events.empty()) strangers_.push_back(from);
  sender.events.push_back(event);
}

void Utofu::greet_strangers() {
  std::erase_if(strangers_, [this](utofu_vcq_id_t id) {
    Stranger& sender = known_[id];
    if (!sender.asked) sender.asked = ask(id, sender.identity);
    if (sender.identity.rank == kNobody) { // it is gone, and what it wrote is found without
      known_.erase(id);
      return true;
    }
    if (sender.identity.salt == 0) return false;
    sender.known = true;
    sender.peer = ir::Peer{static_cast<std::uint32_t>(sender.identity.rank)};
    for (ir::Event& event : sender.events) {
      event.peer = sender.peer;
      events_.push(event);
    }
    sender.events.clear();
    return true;
  });
}

void Utofu::detach(ir::Peer peer) {
  Peer* const gone = attached(peer);
  if (gone == nullptr) return;
  gone->attached = false;
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) {
    for (Slot& slot : engines_[engine].slots) {
      if (!slot.used || slot.peer != peer || slot.asks) continue;
      // Its notices may come yet, and are then of no interest; nothing is written to the caller's memory any more.
      if (slot.registered != 0) api_.dereg_mem(vcqs_[engine].handle, slot.registered, 0);
      if (slot.signalled)
        events_.push(
            {.kind = ir::EventKind::completed, .status = ir::Status::peer_lost, .peer = peer, .cookie = slot.cookie});
      slot.registered = 0;
      slot.signalled = false;
      slot.target = nullptr;
    }
  }
}

} // namespace heddle::translators
