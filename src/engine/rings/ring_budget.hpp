// Who gets a ring: memory for rings is bounded, and given first come, first served. The last ring that fits is kept back as
// the shared one, one for each translator; peers that come after the exclusive ones are gone share it.
#pragma once

#include "engine/rings/ring.hpp"
#include "engine/rings/shared_ring.hpp"
#include "ir/translator.hpp"

#include <heddle/error.hpp>

namespace heddle::engine {

// The ring that peers share, one for each translator; made when the first peer needs it.
struct SharedRing {
  ir::ExposedMemory memory;
  SharedRingReader reader;
};

class RingBudget {
 public:
  // `limit` bounds the memory of all rings of this process together, over all translators; at least ring_bytes.
  RingBudget(std::uint64_t limit, std::uint64_t ring_bytes) : limit_(limit), ring_bytes_(ring_bytes) {}

  // So many translators take rings from here; before the first is taken. Where the limit does not hold one ring for each,
  // all rings are smaller than wished.
  void share_between(std::size_t translators) {
    shared_to_come_ = translators;
    while (translators * ring_bytes_ > limit_ && ring_bytes_ > kSmallestRing) ring_bytes_ /= 2;
  }

  // A ring's memory: its own for the exclusive type; none for the shared type, whose memory is the SharedRing's.
  struct Ring {
    RingGrant grant;
    ir::ExposedMemory memory;
  };
  // Exclusive while memory lasts, then shared. `refused` when not even the shared ring could be made.
  Ring take(ir::Translator& translator, SharedRing& shared);
  // Memory to put payloads from; it counts as ring memory. Empty when there is none left beside what is kept back.
  ir::ExposedMemory take_staging(ir::Translator& translator, std::uint64_t bytes);
  void give_back_staging(ir::Translator& translator, ir::ExposedMemory& staging);
  // Gives an exclusive ring back when its peer is gone.
  void give_back(ir::Translator& translator, const Ring& ring);

  [[nodiscard]] std::uint64_t used() const { return used_; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t ring_bytes() const { return ring_bytes_; }

 private:
  Ring take_shared(ir::Translator& translator, SharedRing& shared);

  std::uint64_t limit_;
  std::uint64_t ring_bytes_;
  std::uint64_t used_ = 0;
  std::uint64_t shared_to_come_ = 1; // shared rings not made yet, for which memory is kept back
};

} // namespace heddle::engine
