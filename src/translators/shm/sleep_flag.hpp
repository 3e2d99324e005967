// Sleeping until a peer writes here: one word of the sleeper's segment, `asleep`, that it sets and that writers look at after each
// write. The order in which both sides do that, and why nothing is missed, is in docs/protocols/waiting.md.
// The writers' look is ir::must_wake.
#pragma once

#include "base/shared_words.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace heddle::translators {

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

// True, and only with `barrier`: from here on, whoever writes sees the flag, or what it has written is seen by the caller's next look.
template <typename Memory>
bool announce_sleep(std::atomic<std::uint32_t>& asleep, bool barrier) {
  Memory::store(asleep, 1U, std::memory_order_relaxed);
  return barrier && Memory::barrier_everywhere();
}
template <typename Memory>
void cancel_sleep(std::atomic<std::uint32_t>& asleep) {
  Memory::store(asleep, 0U, std::memory_order_relaxed);
}
// After announce_sleep and a look that found nothing.
template <typename Memory>
void sleep_announced(std::atomic<std::uint32_t>& asleep, std::chrono::nanoseconds limit) {
  Memory::wait_while(asleep, 1, limit);
  cancel_sleep<Memory>(asleep);
}
template <typename Memory>
void wake_sleeper(std::atomic<std::uint32_t>& asleep) {
  if (Memory::exchange(asleep, 0U, std::memory_order_relaxed) != 0) Memory::wake(asleep);
}

} // namespace heddle::translators
