// Memory of one process that all others of its machine read. What it has for them stands there after one pass, where messages would be one
// for each.
//
// It has two sides, written in turns. On a side every reader has a line: the number of the exchange, the size of its block, and the first
// bytes of it; what does not fit stands further on. A process writes side k + 1 when its exchange k has ended, which was when it had read
// what everybody had written for k. So whoever has read the lines of k + 1 knows that nobody reads those of k any more, and may write k + 2 over them.
//
// Of a large block the line says where it lies. One word for both sides tells whose large blocks have been read: up to which exchange its process
// needs nobody's memory any more.
#pragma once

#include "base/shared_words.hpp"
#include "ir/command.hpp"
#include "ir/direct_ring.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::collective {

class BoardShape {
 public:
  BoardShape() = default;
  // With room for blocks of at most so many bytes.
  BoardShape(std::uint32_t readers, std::uint64_t largest_block)
      : readers_(readers),
        rest_bytes_(largest_block <= kInLine ? 0 : (largest_block - kInLine + kLine - 1) / kLine * kLine) {}

  [[nodiscard]] std::uint64_t bytes() const { return 2 * side_bytes() + kLine; }
  [[nodiscard]] std::uint64_t largest_block() const { return kInLine + rest_bytes_; }

  // Before the number, which is not 0 and grows by 1, is there, readers look at nothing else of the line.
  template <typename Memory = base::Processor>
  void write(std::byte* board, std::uint64_t number, std::uint32_t reader, std::span<const std::byte> block) const {
    std::byte* const line = board + line_at(number, reader);
    const std::uint64_t first = std::min(block.size(), kInLine);
    if (block.size() > kInLine)
      Memory::copy_in(board + rest_at(number, reader), block.data() + kInLine, block.size() - kInLine);
    Memory::plain_store(line + kSizeAt, block.size());
    Memory::copy_in(line + kBlockAt, block.data(), first);
    Memory::store(base::word_at(line), number, std::memory_order_release);
  }
  // The same of a block that is larger, and lies in the writer's memory.
  template <typename Memory = base::Processor>
  void write_place(std::byte* board, std::uint64_t number, std::uint32_t reader, std::uint64_t bytes,
                   const ir::RemotePlace& place) const {
    std::byte* const line = board + line_at(number, reader);
    Memory::plain_store(line + kSizeAt, bytes);
    Memory::copy_in(line + kBlockAt, reinterpret_cast<const std::byte*>(&place), sizeof place);
    Memory::store(base::word_at(line), number, std::memory_order_release);
  }
  template <typename Memory = base::Processor>
  [[nodiscard]] bool has(const std::byte* board, std::uint64_t number, std::uint32_t reader) const {
    return base::load_watched<Memory>(*reinterpret_cast<const std::uint64_t*>(board + line_at(number, reader))) ==
           number;
  }
  // Once it has the number: as much of the block as fits into the memory. Returns the size of the whole.
  template <typename Memory = base::Processor>
  std::uint64_t read(const std::byte* board, std::uint64_t number, std::uint32_t reader,
                     std::span<std::byte> into) const {
    const std::byte* const line = board + line_at(number, reader);
    const std::uint64_t bytes = size<Memory>(board, number, reader);
    const std::uint64_t wanted = std::min({bytes, into.size(), largest_block()});
    const std::uint64_t first = std::min(wanted, kInLine);
    Memory::copy_out(into.data(), line + kBlockAt, first);
    if (wanted > first) Memory::copy_out(into.data() + first, board + rest_at(number, reader), wanted - first);
    return bytes;
  }
  // Once it has the number: the size of the whole block, and where it lies if it is too large for the board.
  template <typename Memory = base::Processor>
  [[nodiscard]] std::uint64_t size(const std::byte* board, std::uint64_t number, std::uint32_t reader) const {
    std::uint64_t bytes = 0;
    Memory::copy_out(reinterpret_cast<std::byte*>(&bytes), board + line_at(number, reader) + kSizeAt, sizeof bytes);
    return bytes;
  }
  template <typename Memory = base::Processor>
  [[nodiscard]] ir::RemotePlace place(const std::byte* board, std::uint64_t number, std::uint32_t reader) const {
    ir::RemotePlace place;
    Memory::copy_out(reinterpret_cast<std::byte*>(&place), board + line_at(number, reader) + kBlockAt, sizeof place);
    return place;
  }

  // The owner of the board has read all large blocks of exchanges up to that number, which only grows.
  template <typename Memory = base::Processor>
  void tell_read(std::byte* board, std::uint64_t number) const {
    Memory::store(base::word_at(board + read_at()), number, std::memory_order_release);
  }
  template <typename Memory = base::Processor>
  [[nodiscard]] bool has_read(const std::byte* board, std::uint64_t number) const {
    return base::load_watched<Memory>(*reinterpret_cast<const std::uint64_t*>(board + read_at())) >= number;
  }
  // Nobody reads this side any more: its lines are asked for, so that writing them does not wait for their last readers.
  void prefetch(std::byte* board, std::uint64_t number) const {
    constexpr std::uint64_t kMost = 16;
    for (std::uint64_t reader = 0; reader < std::min(readers_, kMost); ++reader)
      ir::prefetch_for_writing(board + line_at(number, reader));
  }

 private:
  static constexpr std::uint64_t kLine = 64;
  static constexpr std::uint64_t kSizeAt = 8;
  static constexpr std::uint64_t kBlockAt = 16;
  static constexpr std::uint64_t kInLine = kLine - kBlockAt;

  [[nodiscard]] std::uint64_t side_bytes() const { return readers_ * (kLine + rest_bytes_); }
  [[nodiscard]] std::uint64_t read_at() const { return 2 * side_bytes(); }
  [[nodiscard]] std::uint64_t line_at(std::uint64_t number, std::uint64_t reader) const {
    return number % 2 * side_bytes() + reader * kLine;
  }
  [[nodiscard]] std::uint64_t rest_at(std::uint64_t number, std::uint64_t reader) const {
    return number % 2 * side_bytes() + readers_ * kLine + reader * rest_bytes_;
  }

  std::uint64_t readers_ = 0;
  std::uint64_t rest_bytes_ = 0;
};

} // namespace heddle::collective
