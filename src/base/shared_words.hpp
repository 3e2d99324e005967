// Accesses to memory that other processes read and write at the same time, as this processor makes them.
//
// Code whose correctness hangs on the order of such accesses takes them from a template parameter `Memory`, of which this is the
// one that ships. The other (tests/weak_memory) runs the same code over every order that a weakly ordered processor allows, and
// over every access weakened in turn: `Here` tells it which one that is, and costs nothing here.
// Plain accesses (copy_in, copy_out, plain_store) are those that something else orders: nobody else touches the bytes meanwhile.
#pragma once

#include "base/copy.hpp"

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace heddle::base {

using Here = std::source_location;

// An aligned word in raw memory.
template <typename Word = std::uint64_t>
[[gnu::always_inline]] inline Word& word_at(std::byte* at) {
  return *reinterpret_cast<Word*>(at);
}

// A word of private memory, wherever it lies.
template <typename Word>
[[gnu::always_inline]] inline Word read_word(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

struct Processor {
  template <typename Word>
  [[gnu::always_inline]] static Word load(const std::atomic<Word>& word, std::memory_order order,
                                          Here = Here::current()) {
    return word.load(order);
  }
  [[gnu::always_inline]] static std::uint64_t load(const std::uint64_t& word, std::memory_order order,
                                                   Here = Here::current()) {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(order);
  }
  template <typename Word>
  [[gnu::always_inline]] static void store(std::atomic<Word>& word, Word value, std::memory_order order,
                                           Here = Here::current()) {
    word.store(value, order);
  }
  template <std::unsigned_integral Word>
  [[gnu::always_inline]] static void store(Word& word, std::type_identity_t<Word> value, std::memory_order order,
                                           Here = Here::current()) {
    std::atomic_ref(word).store(value, order);
  }
  // Each returns the old value.
  template <typename Word>
  [[gnu::always_inline]] static Word exchange(std::atomic<Word>& word, Word value, std::memory_order order,
                                              Here = Here::current()) {
    return word.exchange(value, order);
  }
  template <typename Word>
  [[gnu::always_inline]] static Word fetch_add(std::atomic<Word>& word, Word value, std::memory_order order,
                                               Here = Here::current()) {
    return word.fetch_add(value, order);
  }
  [[gnu::always_inline]] static std::uint64_t fetch_add(std::uint64_t& word, std::uint64_t value,
                                                        std::memory_order order, Here = Here::current()) {
    return std::atomic_ref(word).fetch_add(value, order);
  }
  // Stores `value` where the word equals `expected`, which becomes what was found.
  [[gnu::always_inline]] static bool compare_exchange(std::uint64_t& word, std::uint64_t& expected, std::uint64_t value,
                                                      std::memory_order order, Here = Here::current()) {
    return std::atomic_ref(word).compare_exchange_strong(expected, value, order);
  }
  [[gnu::always_inline]] static bool compare_exchange(std::atomic<std::uint64_t>& word, std::uint64_t& expected,
                                                      std::uint64_t value, std::memory_order order,
                                                      Here = Here::current()) {
    return word.compare_exchange_strong(expected, value, order);
  }

  [[gnu::always_inline]] static void fence(std::memory_order order, Here = Here::current()) {
    std::atomic_thread_fence(order);
  }
  // Only the compiler keeps the order; the processor is held to it by a barrier that another process passes through all.
  [[gnu::always_inline]] static void compiler_fence(Here = Here::current()) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  [[gnu::always_inline]] static void plain_store(std::byte* to, std::uint64_t value) {
    std::memcpy(to, &value, sizeof value);
  }
  // Into shared memory, and out of it.
  [[gnu::always_inline]] static void copy_in(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    copy_bytes(to, from, bytes);
  }
  // Others may look at the bytes meanwhile, and see some before the others.
  [[gnu::always_inline]] static void copy_watched(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    copy_bytes(to, from, bytes);
  }
  [[gnu::always_inline]] static void copy_out(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    copy_bytes(to, from, bytes);
  }
};

// Stores bytes after everything stored before. An aligned word of 8, 4 or 2 bytes lands at once, by a single store: others may
// wait for it by looking at it, and write it themselves as soon as they see it.
template <typename Memory = Processor>
[[gnu::always_inline]] inline void store_in_order(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const auto is_word = [to, bytes](std::uint64_t size) {
    return bytes == size && reinterpret_cast<std::uintptr_t>(to) % size == 0;
  };
  if (is_word(8)) [[likely]] {
    Memory::store(word_at(to), read_word<std::uint64_t>(from), std::memory_order_release);
  } else if (is_word(4)) {
    Memory::store(word_at<std::uint32_t>(to), read_word<std::uint32_t>(from), std::memory_order_release);
  } else if (is_word(2)) {
    Memory::store(word_at<std::uint16_t>(to), read_word<std::uint16_t>(from), std::memory_order_release);
  } else {
    Memory::fence(std::memory_order_release);
    Memory::copy_watched(to, from, bytes);
  }
}
// A look at a word that others store in order: what they stored before it is there, too.
template <typename Memory = Processor>
[[gnu::always_inline]] inline std::uint64_t load_watched(const std::uint64_t& word) {
  return Memory::load(word, std::memory_order_acquire);
}

} // namespace heddle::base
