// A ring of fixed slots with several writers, given out when memory for exclusive rings is short.
//
// Each slot begins with a claim word: lap (31 bits), owner (the number by which the reader knows the writer, + 1; 0: none),
// and whether a record is ready. A writer takes a slot with compare-and-swap from "free in this lap" to "mine in this
// lap", then puts the record, whose first word is "mine and ready". The reader frees a slot for the next lap when it has
// copied the record out. A claim word carries its lap, so old contents are never taken for new ones.
//
// A writer moves on only past slots that are claimed or already read, so that the claimed slots are without holes: the
// reader, which goes slot by slot, would wait at a hole for ever.
//
// A slot claimed by a peer that died is skipped and freed. If the reader has given up on a writer that still lives, its
// record may yet land in the slot, over one of the next lap: the slot is closed, which is "ready" without an owner. Both
// sides pass it, lap by lap, until the record has landed or its writer is gone. What has landed would look like a full
// ring to writers: the reader mends the claim word.
#pragma once

#include "base/shared_words.hpp"
#include "engine/record.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heddle::engine {

struct Claim {
  std::uint32_t lap = 0;   // mod 2^31
  std::uint32_t owner = 0; // number + 1
  bool ready = false;

  static constexpr std::uint32_t kLapMask = 0x7fff'ffffU;
  static constexpr std::uint32_t kNobody = 0xffff'ffffU; // an owner that is none
  [[nodiscard]] constexpr bool free() const { return owner == 0 && !ready; }
  // How many laps this claim is ahead of `other` (negative: behind), as laps are counted mod 2^31.
  [[nodiscard]] constexpr std::int32_t laps_ahead_of(std::uint32_t other) const {
    return static_cast<std::int32_t>((lap - other) << 1U) >> 1U;
  }
  [[nodiscard]] constexpr std::uint64_t pack() const {
    return (static_cast<std::uint64_t>(ready) << 63U) | (static_cast<std::uint64_t>(lap & kLapMask) << 32U) | owner;
  }
  static constexpr Claim unpack(std::uint64_t word) {
    return {.lap = static_cast<std::uint32_t>((word >> 32U) & kLapMask),
            .owner = static_cast<std::uint32_t>(word),
            .ready = (word >> 63U) != 0};
  }
};

// Slots of a shared ring: so many that many peers find one, and never so small that a control record would not fit.
inline constexpr std::uint64_t kSharedSlots = 64;
inline constexpr std::uint64_t kSmallestSlot = 128;
constexpr std::uint64_t shared_slot_bytes(std::uint64_t ring_bytes) {
  return ring_bytes / kSharedSlots < kSmallestSlot ? kSmallestSlot : ring_bytes / kSharedSlots;
}
// Payload that one slot holds.
constexpr std::uint64_t shared_payload(std::uint64_t slot_bytes) {
  return slot_bytes - kLeadBytes - kRecordHeadBytes;
}

// The writer's view: which slot to try next, and what the answer to a try means.
class SharedRingCursor {
 public:
  SharedRingCursor() = default;
  // `position` is that of the first slot to try: 0 in a new ring.
  explicit SharedRingCursor(std::uint64_t slots, std::uint64_t position = 0) : slots_(slots), position_(position) {}

  [[nodiscard]] std::uint64_t slot() const { return position_ % slots_; }
  [[nodiscard]] std::uint32_t lap() const { return static_cast<std::uint32_t>(position_ / slots_) & Claim::kLapMask; }
  [[nodiscard]] std::uint64_t expected() const { return Claim{.lap = lap()}.pack(); }

  enum class Outcome : std::uint8_t { claimed, try_next, full };
  // `old` is what compare-and-swap found. try_next: the cursor has moved on; full: the slot is still of an earlier lap.
  Outcome judge(std::uint64_t old) {
    const Claim found = Claim::unpack(old);
    const std::int32_t ahead = found.laps_ahead_of(lap());
    if (ahead < 0) return Outcome::full;
    if (ahead == 0 && found.free()) return Outcome::claimed;
    // Claimed in the lap found: the next slot follows. Free or closed in a later lap than this: passed by the reader in
    // the lap before, and the first slot that can be free is the one after it in that earlier lap.
    const std::uint32_t passed = found.owner == 0 && ahead > 0 ? 1 : 0;
    position_ += (static_cast<std::uint64_t>(ahead) - passed) * slots_ + 1;
    return Outcome::try_next;
  }
  void advance() { ++position_; }

 private:
  std::uint64_t slots_ = 1;
  std::uint64_t position_ = 0;
};

template <typename Memory>
class BasicSharedRingReader {
 public:
  BasicSharedRingReader() = default;
  // `position` is that of the first slot to read: 0 in a new ring.
  BasicSharedRingReader(std::byte* memory, std::uint64_t slots, std::uint64_t slot_bytes, std::uint64_t position = 0)
      : memory_(memory), slots_(slots), slot_bytes_(slot_bytes), position_(position) {}

  [[nodiscard]] bool exists() const { return memory_ != nullptr; }
  // The claim word of the slot that comes next in order.
  [[nodiscard]] Claim peek() const { return Claim::unpack(Memory::load(word(), std::memory_order_acquire)); }
  [[nodiscard]] bool current(const Claim& claim) const { return claim.lap == lap(); }
  // The record behind the claim word.
  [[nodiscard]] const std::byte* record() const { return here() + kLeadBytes; }
  [[nodiscard]] std::uint64_t record_bytes() const { return slot_bytes_ - kLeadBytes; }
  // Frees the slot for the next lap.
  void advance() {
    if (closed_ > 0 && late() != 0) forget_late();
    pass({.lap = lap() + 1});
  }
  // Goes on to the next slot, and leaves this one closed: the writer `owner` may still write there.
  void close(std::uint32_t owner) {
    if (late() == 0) ++closed_;
    late_[position_ % slots_] = owner;
    pass({.lap = lap() + 1, .ready = true});
  }
  // The writer that may still write to the slot, which is closed (kNobody: it has written); 0: the slot is not closed.
  [[nodiscard]] std::uint32_t late() const { return closed_ == 0 ? 0 : late_[position_ % slots_]; }
  // Goes on to the next slot without freeing this one: for a copy that looks ahead.
  void look_further() { ++position_; }
  // What stands in the slot has been read ahead of its turn: nobody's from now on.
  void disown() {
    Memory::store(word(), Claim{.lap = lap(), .owner = Claim::kNobody, .ready = true}.pack(),
                  std::memory_order_release);
  }
  // Looks for late records that have landed, and closes their slots again: for the last time, as nobody writes there now.
  void mend() {
    if (closed_ == 0) return;
    for (std::uint64_t slot = 0; slot < slots_; ++slot) {
      const std::uint64_t visit = position_ + (slot + slots_ - position_ % slots_) % slots_; // the reader's next one
      std::uint64_t& claim = base::word_at(memory_ + slot * slot_bytes_);
      if (late_[slot] == 0 || Claim::unpack(Memory::load(claim, std::memory_order_acquire)).owner != late_[slot])
        continue;
      late_[slot] = Claim::kNobody;
      Memory::store(claim, Claim{.lap = lap_of(visit), .ready = true}.pack(), std::memory_order_relaxed);
    }
  }
  // Frees the slot again for this lap: for a word that a peer thought dead has left there since.
  void restore() { Memory::store(word(), Claim{.lap = lap()}.pack(), std::memory_order_release); }

 private:
  void pass(const Claim& claim) {
    Memory::store(word(), claim.pack(), std::memory_order_release);
    ++position_;
  }
  void forget_late() {
    late_[position_ % slots_] = 0;
    --closed_;
  }
  [[nodiscard]] std::uint32_t lap_of(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position / slots_) & Claim::kLapMask;
  }
  [[nodiscard]] std::uint32_t lap() const { return lap_of(position_); }
  [[nodiscard]] std::byte* here() const { return memory_ + (position_ % slots_) * slot_bytes_; }
  [[nodiscard]] std::uint64_t& word() const { return base::word_at(here()); }

  std::byte* memory_ = nullptr;
  std::uint64_t slots_ = 0;
  std::uint64_t slot_bytes_ = 0;
  std::uint64_t position_ = 0;
  std::uint32_t closed_ = 0;
  std::array<std::uint32_t, kSharedSlots> late_{};
};
using SharedRingReader = BasicSharedRingReader<base::Processor>;

} // namespace heddle::engine
