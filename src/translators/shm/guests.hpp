// Who has attached to this process in an open world, where nobody else tells. Each guest signs the host's book, which lies in the
// host's segment, when it attaches, and strikes itself out when it detaches: from then on it writes nothing here.
#pragma once

#include "base/shared_words.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::translators {

struct Guest {
  std::uint64_t process = 0; // 0: nobody
  std::uint64_t uid = 0;
  std::uint64_t stay = 0; // tells two of the same process apart

  friend bool operator==(const Guest&, const Guest&) = default;
};

struct GuestLine {
  std::atomic<std::uint64_t> process; // 0: the line is free. Taken first and given back last
  std::atomic<std::uint64_t> uid;     // 0: it is just being written, or struck out
  std::atomic<std::uint64_t> stay;    // how often it was signed
};

inline constexpr std::uint32_t kMostGuests = 4096;

struct GuestBook {
  std::atomic<std::uint64_t> changes;
  alignas(64) GuestLine lines[kMostGuests];

  // The guest's side: the line that it has signed; none where the book is full.
  std::optional<std::uint32_t> sign(const Guest& guest) {
    for (std::uint32_t i = 0; i < kMostGuests; ++i) {
      std::uint64_t nobody = 0;
      if (lines[i].process.load(std::memory_order_relaxed) != 0 ||
          !lines[i].process.compare_exchange_strong(nobody, guest.process, std::memory_order_acquire))
        continue;
      lines[i].stay.fetch_add(1, std::memory_order_relaxed);
      lines[i].uid.store(guest.uid, std::memory_order_release);
      changes.fetch_add(1, std::memory_order_release);
      return i;
    }
    return {};
  }
  void strike_out(std::uint32_t line) {
    lines[line].uid.store(0, std::memory_order_release); // after all that the guest has written
    lines[line].process.store(0, std::memory_order_release);
    changes.fetch_add(1, std::memory_order_release);
  }
};

// The host's side: what has changed in the book.
class Guests {
 public:
  explicit Guests(GuestBook& book) : book_(book), known_(kMostGuests) {}

  [[nodiscard]] bool changed() const { return book_.changes.load(std::memory_order_acquire) != seen_; }
  // Calls arrived(guest) and left(guest, whether the same process has signed again) for what has changed. False from `left`: it is to
  // be told again later.
  template <typename Arrived, typename Left>
  void look(const Arrived& arrived, const Left& left) {
    const std::uint64_t changes = book_.changes.load(std::memory_order_acquire);
    bool all = true;
    for (std::uint32_t i = 0; i < kMostGuests; ++i) {
      const Guest now = read(book_.lines[i]);
      if (now == known_[i]) continue;
      if (known_[i].uid != 0) {
        if (!left(known_[i], signed_elsewhere(known_[i].uid, i))) {
          all = false;
          continue;
        }
        known_[i] = {};
      }
      if (now.uid == 0) continue;
      arrived(now);
      known_[i] = now;
    }
    if (all) seen_ = changes;
  }
  // The process has ended: its lines are free again. Calls left as above.
  template <typename Left>
  void ended(std::uint64_t process, const Left& left) {
    for (std::uint32_t i = 0; i < kMostGuests; ++i) {
      GuestLine& line = book_.lines[i];
      if (line.process.load(std::memory_order_relaxed) != process) continue;
      const Guest gone = known_[i].uid != 0 ? known_[i] : Guest{process, line.uid.load(std::memory_order_relaxed), 0};
      known_[i] = {};
      line.uid.store(0, std::memory_order_relaxed);
      line.process.store(0, std::memory_order_release);
      if (gone.uid != 0) left(gone);
    }
  }

 private:
  // Nobody, where it is just being signed or struck out: another change will follow.
  static Guest read(const GuestLine& line) {
    const std::uint64_t uid = line.uid.load(std::memory_order_acquire);
    const Guest guest{.process = line.process.load(std::memory_order_acquire),
                      .uid = uid,
                      .stay = line.stay.load(std::memory_order_acquire)};
    return uid != 0 && line.uid.load(std::memory_order_acquire) == uid ? guest : Guest{};
  }
  [[nodiscard]] bool signed_elsewhere(std::uint64_t uid, std::uint32_t line) const {
    for (std::uint32_t i = 0; i < kMostGuests; ++i)
      if (i != line && book_.lines[i].uid.load(std::memory_order_relaxed) == uid) return true;
    return false;
  }

  GuestBook& book_;
  std::vector<Guest> known_; // by line
  std::uint64_t seen_ = 0;
};

} // namespace heddle::translators
