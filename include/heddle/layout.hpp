// Where the bytes of a message lie in the caller's memory: one block, a strided vector, or a list of pieces.
// A layout describes memory, it owns none: the memory, and the array of pieces, stay the caller's and must live until the
// operation that uses them has completed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#pragma GCC visibility push(default)
namespace heddle {

// One contiguous part of a message. Byte is std::byte for receives, const std::byte for sends.
template <typename Byte>
struct BasicPiece {
  Byte* data = nullptr;
  std::uint64_t bytes = 0;
};

template <typename Byte>
class BasicLayout {
 public:
  enum class Shape : std::uint8_t { contiguous, strided, pieces };
  using Void = std::conditional_t<std::is_const_v<Byte>, const void, void>;

  static constexpr std::uint64_t kLargestBytes = std::uint64_t{1} << 62U;

  BasicLayout() = default;

  // One block. The pointer may be null when bytes is 0.
  BasicLayout(Void* data, std::uint64_t bytes) : start_(data), bytes_(bytes) {}

  // Anything contiguous: std::span, std::vector, std::string, std::array.
  template <typename Range>
    requires requires(Range& range) {
      { std::span(range) };
    }
  explicit(false) BasicLayout(Range&& range) : BasicLayout(from_span(std::span(range))) {}

  // `count` blocks of `block` bytes; block i starts at data + i * stride bytes. The stride may be negative.
  static BasicLayout strided(Void* data, std::uint64_t count, std::uint64_t block, std::int64_t stride) {
    if (block != 0 && count > kLargestBytes / block) return unusable_layout();
    BasicLayout layout(data, count * block);
    if (count > 1 && stride != static_cast<std::int64_t>(block)) {
      layout.shape_ = Shape::strided;
      layout.block_ = block;
      layout.stride_ = stride;
    }
    return layout;
  }

  // The pieces in the order of the list. The list is not copied.
  static BasicLayout pieces(std::span<const BasicPiece<Byte>> list) {
    BasicLayout layout;
    layout.shape_ = Shape::pieces;
    layout.start_ = const_cast<BasicPiece<Byte>*>(list.data()); // only ever read through list()
    layout.block_ = list.size();
    for (const auto& piece : list) {
      if (piece.bytes > kLargestBytes - layout.bytes_ || (piece.data == nullptr && piece.bytes > 0))
        return unusable_layout();
      layout.bytes_ += piece.bytes;
    }
    return layout;
  }

  // A layout to receive into may also be sent from.
  operator BasicLayout<const Byte>() const // NOLINT(google-explicit-constructor): widening, like T* to const T*
    requires(!std::is_const_v<Byte>)
  {
    BasicLayout<const Byte> other;
    other.shape_ = static_cast<BasicLayout<const Byte>::Shape>(shape_);
    other.start_ = start_;
    other.bytes_ = bytes_;
    other.block_ = block_;
    other.stride_ = stride_;
    return other;
  }

  // Memory that can exist: no bytes behind a null pointer, and no more than kLargestBytes. Every call that takes a layout
  // refuses another with bad_argument.
  [[nodiscard]] bool usable() const { return bytes_ == 0 || (start_ != nullptr && bytes_ <= kLargestBytes); }

  [[nodiscard]] Shape shape() const { return shape_; }
  // Bytes of the message, over all parts.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Start of the block (contiguous) or of the first block (strided). Not for pieces.
  [[nodiscard]] Byte* data() const { return static_cast<Byte*>(start_); }
  // Bytes of each block. Only for the strided shape.
  [[nodiscard]] std::uint64_t block() const { return block_; }
  // Bytes from the start of a block to the start of the next. Only for the strided shape.
  [[nodiscard]] std::int64_t stride() const { return stride_; }
  // Only for the shape of pieces.
  [[nodiscard]] std::span<const BasicPiece<Byte>> list() const {
    return {static_cast<const BasicPiece<Byte>*>(start_), static_cast<std::size_t>(block_)};
  }

 private:
  template <typename Other>
  friend class BasicLayout;

  static BasicLayout unusable_layout() { return BasicLayout(nullptr, kLargestBytes + 1); }

  template <typename T, std::size_t Extent>
  static BasicLayout from_span(std::span<T, Extent> span) {
    return BasicLayout(static_cast<Void*>(span.data()), span.size_bytes());
  }

  Void* start_ = nullptr; // the first byte, or the list of pieces
  std::uint64_t bytes_ = 0;
  Shape shape_ = Shape::contiguous;
  std::uint64_t block_ = 0; // bytes of a block, or the number of pieces
  std::int64_t stride_ = 0;
};

using Piece = BasicPiece<std::byte>;
using ConstPiece = BasicPiece<const std::byte>;
using Layout = BasicLayout<std::byte>;            // memory to receive into
using ConstLayout = BasicLayout<const std::byte>; // memory to send from

} // namespace heddle
#pragma GCC visibility pop
