// The counter of a large message that its receiver and its sender copy together: who adds to it has the chunk of the number that it
// finds. It orders nothing beyond itself: the records that ask for help and end it do that (docs/memory-order.md).
#pragma once

#include "base/shared_words.hpp"
#include "engine/bootstrap/area.hpp"

#include <cstdint>

namespace heddle::engine {

// By the receiver, before it asks for help; `first` is the first chunk that nobody has.
template <typename Memory = base::Processor>
void open_cell(ClaimCell& cell, std::uint64_t first) {
  Memory::store(cell.next, first, std::memory_order_relaxed);
}
// By the receiver; the sender does it by a command.
template <typename Memory = base::Processor>
std::uint64_t claim_chunk(ClaimCell& cell) {
  return Memory::fetch_add(cell.next, std::uint64_t{1}, std::memory_order_relaxed);
}
// By the receiver, when the sender has said that it takes no more.
template <typename Memory = base::Processor>
std::uint64_t chunks_claimed(const ClaimCell& cell) {
  return Memory::load(cell.next, std::memory_order_relaxed);
}

} // namespace heddle::engine
