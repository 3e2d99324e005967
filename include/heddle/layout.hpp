// Where the bytes of a message lie in the caller's memory: one block, a strided vector, or a list of pieces.
// A layout describes memory, it owns none: the memory, and the array of pieces, stay the caller's and must live until the
// operation that uses them has completed. So a layout is not made of a temporary; and only of what bytes can be copied of,
// trivially copyable types. Both are checked when the program is compiled.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

#pragma GCC visibility push(default)
namespace heddle {

template <typename Byte>
class BasicLayout;
template <typename Byte>
class BasicMemory;

namespace detail {

template <typename T>
inline constexpr bool kDescribesMemory = false;
template <typename Byte>
inline constexpr bool kDescribesMemory<BasicLayout<Byte>> = true;
template <typename Byte>
inline constexpr bool kDescribesMemory<BasicMemory<Byte>> = true;

// Where bytes are received, nothing may be const.
template <typename Byte, typename T>
concept MayHold =
    std::is_trivially_copyable_v<T> && !std::is_volatile_v<T> && (std::is_const_v<Byte> || !std::is_const_v<T>);

} // namespace detail

// A contiguous range whose elements outlive the expression: one with a name, or a view such as std::span and std::string_view.
template <typename Range>
concept LastingRange =
    std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> && std::ranges::borrowed_range<Range>;

// What memory can be made of: a lasting range of trivially copyable elements, or one object that is no range. A pointer is
// refused: it is not what is pointed to that would be sent.
template <typename Source, typename Byte>
concept MemorySource =
    !detail::kDescribesMemory<std::remove_cvref_t<Source>> &&
    ((LastingRange<Source> && detail::MayHold<Byte, std::remove_reference_t<std::ranges::range_reference_t<Source>>>) ||
     (std::is_lvalue_reference_v<Source> && !std::ranges::range<Source> &&
      !std::is_pointer_v<std::remove_cvref_t<Source>> && !std::is_member_pointer_v<std::remove_cvref_t<Source>> &&
      !std::is_null_pointer_v<std::remove_cvref_t<Source>> && detail::MayHold<Byte, std::remove_reference_t<Source>>));

// One stretch of the caller's memory, as calls take it that know no other layout: made of a span, vector, string, array, C array
// or single object. As cheap to pass as a std::span.
template <typename Byte>
class BasicMemory {
 public:
  using Void = std::conditional_t<std::is_const_v<Byte>, const void, void>;

  constexpr BasicMemory() = default;
  // The pointer may be null when bytes is 0.
  BasicMemory(Void* data, std::size_t bytes) : data_(static_cast<Byte*>(data)), size_(bytes) {}
  template <typename Source>
    requires MemorySource<Source, Byte>
  explicit(false) BasicMemory(Source&& source) // NOLINT(bugprone-forwarding-reference-overload): excluded
      : BasicMemory(address_of(source), bytes_of(source)) {}
  // Memory to receive into may also be sent from.
  template <typename Other>
    requires(!std::same_as<Other, Byte> && std::convertible_to<Other*, Byte*>)
  explicit(false) BasicMemory(const BasicMemory<Other>& other) : BasicMemory(other.data(), other.size()) {}

  [[nodiscard]] Byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; } // in bytes
  [[nodiscard]] bool empty() const { return size_ == 0; }
  explicit(false) operator std::span<Byte>() const { return {data_, size_}; }

 private:
  template <typename Source>
  [[nodiscard]] static Void* address_of(Source& source) {
    if constexpr (std::ranges::range<Source>)
      return std::ranges::data(source);
    else
      return std::addressof(source);
  }
  template <typename Source>
  [[nodiscard]] static std::size_t bytes_of(Source& source) {
    if constexpr (std::ranges::range<Source>)
      return std::ranges::size(source) * sizeof(std::ranges::range_value_t<Source>);
    else
      return sizeof(Source);
  }

  Byte* data_ = nullptr;
  std::size_t size_ = 0;
};
using Memory = BasicMemory<std::byte>;            // to write to
using ConstMemory = BasicMemory<const std::byte>; // to read

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

  // One block, too: std::span, std::vector, std::string, std::array, a C array, a single object.
  template <typename Source>
    requires MemorySource<Source, Byte>
  explicit(false) BasicLayout(Source&& source) // NOLINT(bugprone-forwarding-reference-overload): excluded
      : BasicLayout(BasicMemory<Byte>(source)) {}
  template <typename Other>
    requires std::convertible_to<Other*, Byte*>
  explicit(false) BasicLayout(const BasicMemory<Other>& memory) : BasicLayout(memory.data(), memory.size()) {}

  // `count` blocks of `block` bytes; block i starts at data + i * stride bytes. The stride may be negative.
  [[nodiscard]] static BasicLayout strided(Void* data, std::uint64_t count, std::uint64_t block, std::int64_t stride) {
    if (block != 0 && count > kLargestBytes / block) return unusable_layout();
    auto layout = BasicLayout(data, count * block);
    if (count > 1 && stride != static_cast<std::int64_t>(block)) {
      layout.shape_ = Shape::strided;
      layout.block_ = block;
      layout.stride_ = stride;
    }
    return layout;
  }

  // The pieces in the order of the list. The list is not copied, and so no temporary either.
  template <LastingRange List>
    requires std::same_as<std::ranges::range_value_t<List>, BasicPiece<Byte>>
  [[nodiscard]] static BasicLayout pieces(List&& list) {
    const auto all = std::span<const BasicPiece<Byte>>(list);
    BasicLayout layout;
    layout.shape_ = Shape::pieces;
    layout.start_ = const_cast<BasicPiece<Byte>*>(all.data()); // only ever read through list()
    layout.block_ = all.size();
    for (const auto& piece : all) {
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

  [[nodiscard]] static BasicLayout unusable_layout() { return BasicLayout(nullptr, kLargestBytes + 1); }

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
