// The plan of an operation: which stretches of the local memory correspond to which of the area, one after the other.
// Nothing is stored: a cursor finds the next piece when it is asked for it.
#pragma once

#include <heddle/onesided.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace heddle::onesided {

// Offsets from the start of the local memory and from the operation's offset in the area.
struct Piece {
  std::uint64_t local = 0;
  std::uint64_t remote = 0;
  std::uint64_t bytes = 0;
};

// How far the selection reaches beyond the operation's offset in the area; none: it does not fit that much data.
// More than any area has where the sum would wrap.
std::optional<std::uint64_t> extent(const Selection& selection, std::uint64_t bytes);

class PieceCursor {
 public:
  PieceCursor() = default;
  // `data` is looked at for what has changed.
  PieceCursor(const Selection& selection, std::span<const std::byte> data) : selection_(selection), data_(data) {}

  // The next piece, of at most `most` bytes. False: there is none.
  bool next(Piece& piece, std::uint64_t most);
  // Bytes of all pieces so far.
  [[nodiscard]] std::uint64_t selected() const { return selected_; }

 private:
  bool find(Piece& piece);
  bool find_block(Piece& piece);
  bool find_words(Piece& piece);
  bool find_changes(Piece& piece);
  [[nodiscard]] bool chosen(std::uint64_t word) const { return (selection_.bits[word / 64] >> (word % 64) & 1U) != 0; }
  [[nodiscard]] std::uint64_t skip_equal(std::uint64_t from) const;
  [[nodiscard]] bool differs(std::uint64_t at) const;

  Selection selection_;
  std::span<const std::byte> data_;
  std::uint64_t at_ = 0; // bytes, words or blocks passed, as the kind counts
  Piece rest_;           // of a piece that was larger than wanted
  std::uint64_t selected_ = 0;
};

} // namespace heddle::onesided
