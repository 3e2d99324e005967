#include "pattern/outs.hpp"

#include "pattern/pairing.hpp"
#include "pattern/refusals.hpp"

#include <new>

namespace heddle::pattern {

namespace {

bool plausible(const Answer& answer, const Declared& item, bool barriers) {
  if (answer.way == Delivery::put) return item.kind == Declared::Kind::put;
  if (item.kind == Declared::Kind::put && !barriers) return false; // its target is not told
  return answer.way == Delivery::data ||
         (answer.way == Delivery::record && answer.slot == slot_bytes(item.source.bytes()));
}

} // namespace

void adopt(Plan& plan, const Partner& partner, std::uint32_t item, const Answer& answer, bool barriers,
           FirstError& error) {
  const Declared& declared = plan.items[item];
  if (answer.way == Delivery::refused) return error.note([&] { return refusal(declared, answer.verdict); });
  if (!plausible(answer, declared, barriers)) return error.note([&] { return malformed(partner.rank); });
  Out& out = plan.outs.emplace_back();
  out.item = item;
  out.partner = static_cast<std::uint32_t>(&partner - plan.partners.data());
  out.way = answer.way;
  out.bytes = declared.source.bytes();
  out.source = declared.source;
  if (declared.source.shape() == ConstLayout::Shape::contiguous)
    out.local = declared.source.data();
  else
    try {
      out.staging.resize(out.bytes);
    } catch (const std::bad_alloc&) {
      error.note(engine::Engine::no_memory());
    }
  out.place = answer.place;
  out.flag = answer.flag;
  out.slot = answer.slot;
}

void open_direct_memory(Plan& plan) {
  const auto direct = [](const Partner& partner, const ir::RemotePlace& place, std::uint64_t bytes) {
    ir::DirectMemory* memory = partner.queue->facets().direct_memory;
    return memory != nullptr ? memory->direct_ring(ir::Peer{partner.rank}, place, bytes) : ir::DirectRing{};
  };
  for (Partner& partner : plan.partners) partner.direct = direct(partner, partner.remote_line, sizeof(Line));
  for (Out& out : plan.outs) {
    const Partner& partner = plan.partners[out.partner];
    if (out.way == Delivery::record) out.direct = direct(partner, out.place, kSlots * out.slot);
    if (out.way == Delivery::data) out.direct_flag = direct(partner, out.flag, sizeof(std::uint64_t));
  }
}

} // namespace heddle::pattern
