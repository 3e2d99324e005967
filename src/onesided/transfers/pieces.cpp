#include "onesided/transfers/pieces.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace heddle::onesided {

namespace {

// What `changed` compares: the smallest that two processes may write side by side.
constexpr std::uint64_t kDiffWord = 4;
constexpr std::uint64_t kBeyond = std::numeric_limits<std::uint64_t>::max();

// (count - 1) * step + block, or kBeyond where that wraps.
std::uint64_t reach(std::uint64_t count, std::uint64_t step, std::uint64_t block) {
  std::uint64_t last = 0;
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(count - 1, step, &last) || __builtin_add_overflow(last, block, &end)) return kBeyond;
  return end;
}

} // namespace

std::optional<std::uint64_t> extent(const Selection& selection, std::uint64_t bytes) {
  switch (selection.kind) {
    case Selection::Kind::all: return bytes;
    case Selection::Kind::strided:
      if (selection.count == 0 || selection.block == 0) return 0;
      if (selection.count > 1 && (selection.local_step < selection.block || selection.remote_step < selection.block))
        return std::nullopt;
      if (reach(selection.count, selection.local_step, selection.block) > bytes) return std::nullopt;
      return reach(selection.count, selection.remote_step, selection.block);
    case Selection::Kind::bitmap:
      if (selection.word_bytes == 0 || bytes % selection.word_bytes != 0) return std::nullopt;
      return bytes;
    case Selection::Kind::changed:
      if (selection.twin.size() != bytes) return std::nullopt;
      return bytes;
  }
  return std::nullopt;
}

bool PieceCursor::next(Piece& piece, std::uint64_t most) {
  if (rest_.bytes == 0 && !find(rest_)) return false;
  piece = {.local = rest_.local, .remote = rest_.remote, .bytes = std::min(most, rest_.bytes)};
  rest_ = {
      .local = rest_.local + piece.bytes, .remote = rest_.remote + piece.bytes, .bytes = rest_.bytes - piece.bytes};
  selected_ += piece.bytes;
  return true;
}

bool PieceCursor::find(Piece& piece) {
  switch (selection_.kind) {
    case Selection::Kind::all:
      piece = {.local = 0, .remote = 0, .bytes = data_.size() - at_};
      at_ = data_.size();
      return piece.bytes > 0;
    case Selection::Kind::strided: return find_block(piece);
    case Selection::Kind::bitmap: return find_words(piece);
    case Selection::Kind::changed: return find_changes(piece);
  }
  return false;
}

bool PieceCursor::find_block(Piece& piece) {
  if (at_ >= selection_.count || selection_.block == 0) return false;
  piece = {.local = at_ * selection_.local_step, .remote = at_ * selection_.remote_step, .bytes = selection_.block};
  ++at_;
  return true;
}

bool PieceCursor::find_words(Piece& piece) {
  const std::uint64_t words =
      std::min<std::uint64_t>(data_.size() / selection_.word_bytes, selection_.bits.size() * 64);
  while (at_ < words && !chosen(at_)) {
    const std::uint64_t left = selection_.bits[at_ / 64] >> (at_ % 64);
    at_ = left == 0 ? (at_ / 64 + 1) * 64 : at_ + static_cast<std::uint64_t>(std::countr_zero(left));
  }
  if (at_ >= words) return false;
  const std::uint64_t first = at_;
  while (at_ < words && chosen(at_)) ++at_;
  piece = {.local = first * selection_.word_bytes,
           .remote = first * selection_.word_bytes,
           .bytes = (at_ - first) * selection_.word_bytes};
  return true;
}

bool PieceCursor::differs(std::uint64_t at) const {
  const std::uint64_t bytes = std::min<std::uint64_t>(kDiffWord, data_.size() - at);
  return std::memcmp(data_.data() + at, selection_.twin.data() + at, bytes) != 0;
}

std::uint64_t PieceCursor::skip_equal(std::uint64_t from) const {
  constexpr std::uint64_t kStride = 64; // what the library's comparison takes in one go
  while (from + kStride <= data_.size() &&
         std::memcmp(data_.data() + from, selection_.twin.data() + from, kStride) == 0)
    from += kStride;
  while (from < data_.size() && !differs(from)) from += kDiffWord;
  return std::min<std::uint64_t>(from, data_.size());
}

bool PieceCursor::find_changes(Piece& piece) {
  const std::uint64_t first = skip_equal(at_);
  if (first >= data_.size()) return false;
  std::uint64_t end = first;
  while (end < data_.size() && differs(end)) end += kDiffWord;
  at_ = std::min<std::uint64_t>(end, data_.size());
  piece = {.local = first, .remote = first, .bytes = at_ - first};
  return true;
}

} // namespace heddle::onesided
