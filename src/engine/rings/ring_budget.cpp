#include "engine/rings/ring_budget.hpp"

namespace heddle::engine {

RingBudget::Ring RingBudget::take(ir::Translator& translator, SharedRing& shared) {
  const std::uint64_t kept_back = shared_to_come_ * ring_bytes_;
  if (used_ + ring_bytes_ + kept_back > limit_) return take_shared(translator, shared);
  auto memory = translator.allocate(ring_bytes_);
  if (!memory) return take_shared(translator, shared);
  used_ += ring_bytes_;
  return {.grant = {.type = RingType::exclusive, .place = memory->place, .bytes = ring_bytes_}, .memory = *memory};
}

RingBudget::Ring RingBudget::take_shared(ir::Translator& translator, SharedRing& shared) {
  const std::uint64_t slot_bytes = shared_slot_bytes(ring_bytes_);
  if (!shared.reader.exists()) {
    auto memory = translator.allocate(ring_bytes_);
    if (!memory) return {};
    used_ += ring_bytes_;
    --shared_to_come_;
    shared.memory = *memory;
    shared.reader = SharedRingReader(shared.memory.memory.data(), ring_bytes_ / slot_bytes, slot_bytes);
  }
  return {
      .grant = {.type = RingType::shared, .place = shared.memory.place, .bytes = ring_bytes_, .slot_bytes = slot_bytes},
      .memory = {}};
}

ir::ExposedMemory RingBudget::take_staging(ir::Translator& translator, std::uint64_t bytes) {
  if (used_ + bytes + shared_to_come_ * ring_bytes_ > limit_) return {};
  auto memory = translator.allocate(bytes);
  if (!memory) return {};
  used_ += bytes;
  return *memory;
}

void RingBudget::give_back_staging(ir::Translator& translator, ir::ExposedMemory& staging) {
  if (staging.memory.empty()) return;
  used_ -= staging.memory.size();
  translator.deallocate(staging);
  staging = {};
}

void RingBudget::give_back(ir::Translator& translator, const Ring& ring) {
  if (ring.grant.type != RingType::exclusive) return;
  translator.deallocate(ring.memory);
  used_ -= ring_bytes_;
}

} // namespace heddle::engine
