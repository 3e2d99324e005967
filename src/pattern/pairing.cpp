#include "pattern/pairing.hpp"

#include "pattern/refusals.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pattern {

namespace {

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

} // namespace

std::uint64_t slot_bytes(std::uint64_t payload) {
  return rounded_up(kRecordHead + payload, ir::kTerminatorAlignment) + 64;
}

void Pairing::pair_up_within() {
  for (std::uint32_t out = 0; out < plan_.items.size(); ++out) {
    const Declared& item = plan_.items[out];
    if (!goes_out(item.kind) || item.rank != engine_.rank()) continue;
    const Declared::Kind wanted = item.kind == Declared::Kind::send ? Declared::Kind::receive : Declared::Kind::expose;
    Verdict verdict = wanted == Declared::Kind::receive ? Verdict::no_receive : Verdict::not_exposed;
    for (std::uint32_t in = 0; in < plan_.items.size() && verdict != Verdict::fine; ++in) {
      const Declared& other = plan_.items[in];
      if (other.kind != wanted || other.tag != item.tag || (wanted == Declared::Kind::receive && paired_[in])) continue;
      if (wanted == Declared::Kind::receive && other.rank != engine_.rank()) continue;
      const bool fits =
          item.offset <= other.target.bytes() && item.source.bytes() <= other.target.bytes() - item.offset;
      const bool taken = other.target.shape() != Layout::Shape::contiguous && paired_[in];
      verdict = !fits ? (wanted == Declared::Kind::receive ? Verdict::too_long : Verdict::beyond_end)
                      : (taken ? Verdict::taken : Verdict::fine);
      if (verdict != Verdict::fine) break;
      paired_[in] = true;
      plan_.within.push_back({.out = out, .in = in, .bytes = item.source.bytes(), .offset = item.offset});
    }
    if (verdict != Verdict::fine) error_.note([&] { return refusal(item, verdict); });
  }
}

Answer Pairing::answer(Partner& partner, std::uint32_t index, const Want& want) {
  if (want.is_put != 0) return answer_put(partner, index, want);
  for (std::uint32_t item = 0; item < plan_.items.size(); ++item) {
    const Declared& declared = plan_.items[item];
    if (declared.kind != Declared::Kind::receive || paired_[item] || declared.rank != partner.rank ||
        declared.tag != want.tag)
      continue;
    paired_[item] = true;
    if (want.bytes > declared.target.bytes()) return {.verdict = Verdict::too_long};
    return land(partner, index, {.item = item, .bytes = want.bytes, .target = declared.target}, declared);
  }
  return {.verdict = Verdict::no_receive};
}

Answer Pairing::answer_put(Partner& partner, std::uint32_t index, const Want& want) {
  const auto found = std::ranges::find_if(
      plan_.items, [&](const Declared& item) { return item.kind == Declared::Kind::expose && item.tag == want.tag; });
  if (found == plan_.items.end()) return {.verdict = Verdict::not_exposed};
  const Layout& memory = found->target;
  if (want.offset > memory.bytes() || want.bytes > memory.bytes() - want.offset)
    return {.verdict = Verdict::beyond_end};
  const auto item = static_cast<std::uint32_t>(found - plan_.items.begin());
  if (memory.shape() != Layout::Shape::contiguous) {
    if (paired_[item]) return {.verdict = Verdict::taken};
    paired_[item] = true;
    return land(partner, index, {.item = item, .bytes = want.bytes, .offset = want.offset, .target = memory}, *found);
  }
  const auto known = std::ranges::find_if(plan_.exposures, [&](const Plan::Exposure& exposure) {
    return exposure.item == item && exposure.queue == partner.queue;
  });
  if (known != plan_.exposures.end()) return {.way = Delivery::put, .place = known->place.at(want.offset)};
  const auto place = partner.queue->capabilities().reads_any_memory
                         ? partner.queue->translator().expose({memory.data(), memory.bytes()})
                         : Result<ir::RemotePlace>(std::unexpected(Error{}));
  // for utofu: begin
  if (!place) { // names for memory may be few
    if (paired_[item]) return {.verdict = Verdict::unreachable};
    paired_[item] = true;
    return land(partner, index, {.item = item, .bytes = want.bytes, .offset = want.offset, .target = memory}, *found);
  }
  // for utofu: end
  plan_.exposures.push_back({.item = item, .queue = partner.queue, .place = *place});
  return {.way = Delivery::put, .place = place->at(want.offset)};
}

// Records for what the processor copies anyway and for what has no contiguous memory; otherwise straight into place, as long as the
// network has names for it.
Answer Pairing::land(Partner& partner, std::uint32_t index, In in, const Declared& item) {
  const ir::Capabilities& can = partner.queue->capabilities();
  ir::Translator& translator = partner.queue->translator();
  const bool contiguous = item.target.shape() == Layout::Shape::contiguous;
  const bool small = can.processor_copies && in.bytes <= engine_.limits().eager_limit;
  bool straight = can.reads_any_memory && contiguous && !small && in.bytes > 0 && item.kind == Declared::Kind::receive;
  if (straight) {
    const auto place = translator.expose({item.target.data(), in.bytes});
    straight = place.has_value(); // for utofu
    if (straight) in.exposed = *place;
  }
  in.is_exposed = straight;
  in.partner = index;
  in.lands = !straight;
  in.way = !straight && in.bytes + kRecordHead <= can.largest_transfer ? Delivery::record : Delivery::data;
  in.slot = in.way == Delivery::record ? slot_bytes(in.bytes) : 64;
  const std::uint64_t needed = in.way == Delivery::record ? kSlots * in.slot : in.slot + (in.lands ? in.bytes : 0);
  auto memory = translator.allocate(needed);
  if (!memory) {
    if (in.is_exposed) translator.withdraw(in.exposed);
    return {.verdict = Verdict::out_of_memory};
  }
  in.memory = *memory;
  Answer answer{.way = in.way, .place = memory->place, .flag = memory->place, .slot = in.slot};
  if (in.way == Delivery::record) {
    ++partner.records;
  } else {
    partner.awaits_start = true;
    answer.place = in.lands ? memory->place.at(in.slot) : in.exposed;
  }
  plan_.ins.push_back(std::move(in));
  return answer;
}

void Pairing::check_receives() {
  for (std::uint32_t item = 0; item < plan_.items.size(); ++item) {
    const Declared& declared = plan_.items[item];
    if (declared.kind != Declared::Kind::receive || paired_[item]) continue;
    error_.note([&] { return sends_nothing(declared); });
  }
}

} // namespace heddle::pattern
