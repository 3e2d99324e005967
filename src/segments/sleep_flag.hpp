// Sleeping until a peer writes here: one word of the sleeper's segment, `asleep`, that it sets and that writers look at after each
// write. It says how the sleeper is woken, too. The order in which both sides do that, and why nothing is missed, is in docs/protocols/waiting.md.
// The writers' look is ir::must_wake.
#pragma once

#include "base/shared_words.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace heddle::segments {

// Memory as above, and the kernel's part in its order.
struct Kernel : base::Processor {
  // Agrees to pass the barriers of others. False where the kernel has none.
  static bool take_part_in_barriers();
  // Every process that takes part and is running passes a full barrier, and so does this one. False: the kernel refuses, though
  // it has one, as under a filter of system calls that the program has set since.
  [[nodiscard]] static bool barrier_everywhere(base::Here = base::Here::current());
  // Sleeps while the word holds the value, until woken or the time is over.
  static void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds limit);
  static void wake(std::atomic<std::uint32_t>& word);
};

inline constexpr std::uint32_t kAwake = 0;
inline constexpr std::uint32_t kAsleepOnWord = 1; // on `asleep` itself
inline constexpr std::uint32_t kAsleepByBell = 2; // on descriptors, its bell among them

// True, and only with `barrier`: from here on, whoever writes sees the flag, or what it has written is seen by the caller's next look.
template <typename Memory>
bool announce_sleep(std::atomic<std::uint32_t>& asleep, bool barrier, std::uint32_t how = kAsleepOnWord) {
  Memory::store(asleep, how, std::memory_order_release); // a bell's name before it
  return barrier && Memory::barrier_everywhere();
}
template <typename Memory>
void cancel_sleep(std::atomic<std::uint32_t>& asleep) {
  Memory::store(asleep, kAwake, std::memory_order_relaxed);
}
// After announce_sleep and a look that found nothing.
template <typename Memory>
void sleep_announced(std::atomic<std::uint32_t>& asleep, std::chrono::nanoseconds limit) {
  Memory::wait_while(asleep, kAsleepOnWord, limit);
  cancel_sleep<Memory>(asleep);
}
// Of several that come at once, one wakes it. `ring` rings its bell.
template <typename Memory, typename Ring>
void wake_sleeper(std::atomic<std::uint32_t>& asleep, Ring&& ring) {
  switch (Memory::exchange(asleep, kAwake, std::memory_order_acquire)) {
    case kAsleepOnWord: Memory::wake(asleep); return;
    case kAsleepByBell: ring(); return;
    default: return;
  }
}

} // namespace heddle::segments
