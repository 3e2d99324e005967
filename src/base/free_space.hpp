// Which stretches of some memory are free, by offset: taken where there is room first, and given back in any order. It knows of numbers
// alone, so that the memory may lie anywhere.
#pragma once

#include "base/reserve.hpp"

#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace heddle::base {

class FreeSpace {
 public:
  FreeSpace() = default;
  explicit FreeSpace(std::uint64_t bytes) { free_[0] = bytes; }

  // Where so many bytes, at least one, are this caller's now; none: no stretch is so long.
  std::optional<std::uint64_t> take(std::uint64_t bytes) {
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      const auto [offset, available] = *place;
      if (available < bytes) continue;
      if (available > bytes) free_.emplace(offset + bytes, available - bytes); // the one step that takes memory
      auto taken = free_.extract(place);
      taken.mapped() = bytes;
      used_.insert(std::move(taken));
      return offset;
    }
    return std::nullopt;
  }
  // What take() has said; anything else is nobody's. Needs no memory.
  void give_back(std::uint64_t offset) {
    auto used = used_.extract(offset);
    if (used.empty()) return;
    const auto freed = free_.insert(std::move(used)).position;
    join(freed);
    if (freed != free_.begin()) join(std::prev(freed));
  }

 private:
  using Stretches = BackedMap<std::uint64_t, std::uint64_t>; // by offset: bytes

  void join(Stretches::iterator stretch) {
    const auto next = std::next(stretch);
    if (next == free_.end() || stretch->first + stretch->second != next->first) return;
    stretch->second += next->second;
    free_.erase(next);
  }

  Stretches free_, used_;
};

} // namespace heddle::base
