// Memory of a message with a random layout, and where each byte of the message lies in it.
#pragma once

#include <heddle/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace heddle::tests {

inline constexpr std::byte kUntouched{0xee};

class Region {
 public:
  Region(std::uint64_t bytes, std::mt19937_64& random, bool only_contiguous = false) : bytes_(bytes) {
    const std::uint64_t choice = only_contiguous || bytes == 0 ? 0 : random() % 4;
    if (choice <= 1)
      make_contiguous(random() % 16);
    else if (choice == 2)
      make_strided(random);
    else
      make_pieces(random);
  }
  Region(const Region&) = delete;

  [[nodiscard]] Layout layout() {
    if (!pieces_.empty()) return Layout::pieces(pieces_);
    if (block_ == 0) return {memory_.data() + start_, bytes_};
    return Layout::strided(memory_.data() + start_, bytes_ / block_, block_, stride_);
  }
  [[nodiscard]] std::byte& at(std::uint64_t index) {
    return memory_[places_.empty() ? start_ + index : places_[index]];
  }
  // Overwrites everything, as a program may once the operation has ended.
  void scribble() { std::fill(memory_.begin(), memory_.end(), std::byte{0xdd}); }
  // Whether every byte outside the first `bytes` of the message is as it was.
  [[nodiscard]] bool rest_untouched(std::uint64_t bytes) {
    std::vector<bool> used(memory_.size(), false);
    for (std::uint64_t i = 0; i < bytes; ++i) used[places_.empty() ? start_ + i : places_[i]] = true;
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (!used[i] && memory_[i] != kUntouched) return false;
    return true;
  }

 private:
  void make_contiguous(std::uint64_t start) {
    start_ = start;
    memory_.assign(bytes_ + start_ + 8, kUntouched);
  }
  void make_strided(std::mt19937_64& random) {
    std::uint64_t count = 1 + random() % 40;
    while (bytes_ % count != 0) --count;
    block_ = bytes_ / count;
    const std::uint64_t gap = random() % 24;
    const bool backwards = random() % 2 == 0;
    stride_ = static_cast<std::int64_t>(block_ + gap) * (backwards ? -1 : 1);
    memory_.assign(count * (block_ + gap) + 8, kUntouched);
    start_ = backwards ? (count - 1) * (block_ + gap) : 0;
    for (std::uint64_t i = 0; i < bytes_; ++i)
      places_.push_back(static_cast<std::uint32_t>(static_cast<std::int64_t>(start_ + i % block_) +
                                                   static_cast<std::int64_t>(i / block_) * stride_));
  }
  void make_pieces(std::mt19937_64& random) {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t left = bytes_; left > 0;) {
      const std::uint64_t size = random() % 8 == 0 ? 0 : std::min<std::uint64_t>(left, 1 + random() % (bytes_ / 3 + 1));
      sizes.push_back(size);
      left -= size;
    }
    memory_.assign(bytes_ + 8 * sizes.size() + 8, kUntouched);
    // Laid out from the back, so that pieces are out of order in memory.
    std::uint64_t end = memory_.size() - 3;
    for (const std::uint64_t size : sizes) {
      end -= size + 5;
      pieces_.push_back({.data = memory_.data() + end, .bytes = size});
      for (std::uint64_t i = 0; i < size; ++i) places_.push_back(static_cast<std::uint32_t>(end + i));
    }
  }

  std::uint64_t bytes_;
  std::vector<std::byte> memory_;
  std::uint64_t start_ = 0;
  std::uint64_t block_ = 0;
  std::int64_t stride_ = 0;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> places_; // of each byte; empty: one after the other
};

} // namespace heddle::tests
