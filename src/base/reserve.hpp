// Memory for what has been begun, when there is none left.
//
// What is under way must be able to end: a word that is owed to a peer, a command that back-pressure holds. The lists for such
// things are Backed: their memory comes from the heap while it has some, and from a block kept for that when it has not.
// From then on nothing new is begun until the heap has memory again (may_begin), so that what is under way bounds what is needed.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <new>
#include <vector>

namespace heddle::base {

// One for the whole process, for any thread.
class Reserve {
 public:
  static constexpr std::size_t kBytes = 1 << 20;

  // Makes sure that there is a block. False: there is no memory for it.
  static bool keep();

  // Throws std::bad_alloc when the block, too, is used up.
  static void* take(std::size_t bytes) {
    if (void* memory = ::operator new(bytes, std::nothrow)) [[likely]]
      return memory;
    return draw(bytes);
  }
  static void give_back(void* memory) noexcept {
    if (blocks_.load(std::memory_order_acquire) == 0 || !put_back(memory)) ::operator delete(memory);
  }

  // Whether something new may be begun. False: the reserve is drawn on, and the heap has no memory yet.
  static bool may_begin() { return !drawn_on_.load(std::memory_order_relaxed) || refill(); }

 private:
  static void* draw(std::size_t bytes);
  static bool put_back(void* memory) noexcept;
  static bool refill();

  static inline std::atomic<std::size_t> blocks_ = 0;
  static inline std::atomic<bool> drawn_on_ = false;
};

template <typename T>
struct BackedAllocator {
  using value_type = T;
  static_assert(alignof(T) <= alignof(std::max_align_t));

  BackedAllocator() = default;
  template <typename Other>
  BackedAllocator(const BackedAllocator<Other>&) {} // NOLINT(google-explicit-constructor): containers rebind it

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(Reserve::take(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { Reserve::give_back(memory); }
  friend bool operator==(const BackedAllocator&, const BackedAllocator&) { return true; }
};

template <typename T>
using BackedVector = std::vector<T, BackedAllocator<T>>;
template <typename T>
using BackedDeque = std::deque<T, BackedAllocator<T>>;
template <typename T>
using BackedList = std::list<T, BackedAllocator<T>>;
template <typename Key, typename T>
using BackedMap = std::map<Key, T, std::less<Key>, BackedAllocator<std::pair<const Key, T>>>;

} // namespace heddle::base
