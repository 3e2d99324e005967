// The words of a lock (lock_memory.hpp) as this process reaches them: at once where the lock's area is direct memory, by commands elsewhere.
#pragma once

#include "base/shared_words.hpp"
#include "onesided/common.hpp"

#include <cstdint>

namespace heddle::onesided {

// What a command on a lock is for; comes back with its event.
enum class LockErrand : std::uint8_t {
  step, // of the lock's machine
  read, // the others are recovery's (recovery.hpp)
  raise,
  pass,
};

// `Memory` is how words are reached in direct memory (base/shared_words.hpp).
template <typename Memory>
class BasicLockWords {
 public:
  explicit BasicLockWords(Common& common) : common_(common), layout_{.size = common.engine.book.size()} {}

  [[nodiscard]] const LockLayout& layout() const { return layout_; }

  // True: done, and `old` is what was there. False: a command is under way, whose event brings that.
  bool add(KnownArea& area, std::uint64_t offset, std::uint64_t value, std::uint64_t& old);
  bool swap(KnownArea& area, std::uint64_t offset, std::uint64_t expected, std::uint64_t value, LockErrand errand,
            std::uint64_t& old);
  // The same, into seat.word.
  bool read_claim(KnownArea& area, std::uint32_t ticket);
  void store(KnownArea& area, std::uint64_t offset, std::uint64_t value);
  // `trying` and the claim of this process.
  void set_trying(KnownArea& area, bool tries) { store(area, layout_.trying(common_.engine.rank), tries ? 1 : 0); }
  void claim(KnownArea& area, bool holds) {
    store(area, layout_.claim(area.seat.ticket), LockClaim::pack(area.seat.ticket, common_.engine.rank, holds));
  }

  // Only of direct memory.
  static std::uint64_t& word(const KnownArea& area, std::uint64_t offset) {
    return base::word_at(area.seat.direct.memory + offset);
  }
  static LockState load_state(const KnownArea& area, std::memory_order order) {
    return LockState::unpack(Memory::load(word(area, LockLayout::kState), order));
  }

  // A command on the lock's memory, but for its operation.
  static ir::Command command(const KnownArea& area, std::uint64_t offset, LockErrand errand);
  // Whose command it was, and what for.
  struct Answer {
    KnownArea* area = nullptr;
    LockErrand errand{};
    bool stale = false; // of an earlier use of the lock
  };
  [[nodiscard]] Answer answer(const ir::Event& event);

 private:
  Common& common_;
  LockLayout layout_;
};
extern template class BasicLockWords<base::Processor>;

// Brackets plain memory operations on a lock. Where the owner has closed it in the meantime they hit memory that is still mapped here
// and that nobody uses any more; the next call finds out. An inner one ends the outer one too: nothing that matters follows it.
class Inside {
 public:
  explicit Inside(const KnownArea& area) : direct_(area.seat.direct), entered_(direct_.enter()) {}
  ~Inside() {
    if (entered_) direct_.leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  const ir::DirectArea& direct_;
  bool entered_;
};

} // namespace heddle::onesided
