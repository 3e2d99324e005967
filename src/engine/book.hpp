// Who has which number. Inside a process a peer is a number, its rank; on the wire it is a unique id, since ranks of processes that
// met without a launcher differ from process to process. The processes of a job have ids in a row, so that they cost no memory here.
#pragma once

#include "base/mix.hpp"
#include "base/reserve.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::engine {

// Names a process on the wire, as no other is named. 0 is nobody.
using Uid = std::uint64_t;

// Tells apart the times that a process has known another: its unique id, and the number by which it knows the other, which it never
// uses again. 0 is nobody.
constexpr std::uint64_t incarnation_of(Uid uid, std::uint32_t number) {
  const std::uint64_t incarnation = base::mix(uid ^ (std::uint64_t{number} << 32U));
  return incarnation != 0 ? incarnation : 1;
}

class Book {
 public:
  // Rank r of `count` has the id first + r; inside a job first is 1.
  Book(Uid first, std::uint32_t count) : size_(count), first_(first), count_(count) {}

  // One more than the highest rank that was ever given.
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Uid uid(std::uint32_t rank) const { return rank < count_ ? first_ + rank : added_[rank - count_]; }
  [[nodiscard]] std::optional<std::uint32_t> find(Uid uid) const {
    if (uid - first_ < count_) return static_cast<std::uint32_t>(uid - first_);
    const auto found = ranks_.find(uid);
    return found == ranks_.end() ? std::nullopt : std::optional(found->second);
  }

  // The rank of a process that has none. Throws std::bad_alloc, and then it still has none.
  std::uint32_t add(Uid uid) {
    added_.push_back(uid);
    try {
      ranks_[uid] = size_;
    } catch (...) {
      added_.pop_back();
      throw;
    }
    return size_++;
  }
  // As if the last had never been added.
  void take_back() {
    forget(size_ - 1);
    added_.pop_back();
    --size_;
  }
  // The rank stays taken, but the id no longer leads to it: the process may be given another.
  void forget(std::uint32_t rank) {
    const auto found = ranks_.find(uid(rank));
    if (found != ranks_.end() && found->second == rank) ranks_.erase(found);
  }

 private:
  std::uint32_t size_;
  Uid first_;
  std::uint32_t count_;                       // of the job
  std::vector<Uid> added_;                    // by rank - count_
  base::BackedMap<Uid, std::uint32_t> ranks_; // of those
};

} // namespace heddle::engine
