// A peer's communication area as plain memory of this process. Each access is bracketed by enter and leave: enter fails
// once the owner has closed the area, and the owner waits until nobody is inside before it takes the memory away.
// The bracket costs two stores to a word that only this process writes, and one look at a word that hardly ever changes; the
// owner pays for the ordering, with one barrier in every process, when it closes (see the translator).
// Stores wake nobody: a process that sleeps until something happens is woken by the record of a signal or of a lock.
#pragma once
// for shm: begin

#include "base/shared_words.hpp"
#include "ir/command.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heddle::ir {

struct DirectArea {
  std::byte* memory = nullptr;                      // null: the area is reached by commands alone
  const std::atomic<std::uint64_t>* live = nullptr; // holds `key` while the area is open
  std::uint64_t key = 0;
  std::atomic<std::uint64_t>* inside = nullptr; // not 0 while this process is inside
  std::uint64_t mark = 0;                       // what this process writes there: who it is
  bool fenced = false;                          // the owner has no barrier for all: each access brings its own

  [[nodiscard]] bool exists() const { return memory != nullptr; }

  template <typename Memory = base::Processor>
  [[nodiscard, gnu::always_inline]] bool enter() const {
    Memory::store(*inside, mark, std::memory_order_relaxed);
    if (fenced) [[unlikely]]
      Memory::fence(std::memory_order_seq_cst);
    else
      Memory::compiler_fence();
    if (Memory::load(*live, std::memory_order_acquire) == key) [[likely]]
      return true;
    leave<Memory>();
    return false;
  }
  template <typename Memory = base::Processor>
  void leave() const {
    Memory::store(*inside, std::uint64_t{0}, std::memory_order_release);
  }
};

} // namespace heddle::ir
// for shm: end
