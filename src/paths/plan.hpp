// The file that `heddle paths plan` writes and libheddle-paths.so reads: by which of a node's LIDs every node of a job addresses it.
//
//   at       bytes  holds
//   0        16     "heddle paths 1\n" and a zero byte
//   16       4      n: how many nodes, 1 to 49151
//   20       4      lmc, 0 to 7: every node has 2^lmc LIDs
//   24       2 n    the first LID of each node, ascending; a multiple of 2^lmc
//   24 + 2n  2 n    for each node: n offsets by which it addresses the others, then n by which they address it
//
// Numbers are little-endian, offsets single bytes below 2^lmc. What one node needs stands together, so that a process reads a few
// KiB of it, however large the job is. Here is what the preloaded library needs, too: nothing that allocates or needs the C++ library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::paths {

using Byte = unsigned char;

inline constexpr char kMark[] = "heddle paths 1\n";
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::uint32_t kMostNodes = 0xBFFF; // as many as there are unicast LIDs
inline constexpr std::uint32_t kLargestLmc = 7;

inline std::uint32_t number_at(const Byte* bytes, unsigned count) {
  std::uint32_t number = 0;
  for (unsigned i = count; i-- > 0;) number = number << 8U | bytes[i];
  return number;
}

struct Shape {
  std::uint32_t nodes = 0;
  std::uint32_t lmc = 0;

  [[nodiscard]] std::size_t lids_bytes() const { return std::size_t{2} * nodes; }
  [[nodiscard]] std::size_t row_bytes() const { return std::size_t{2} * nodes; }
  [[nodiscard]] std::size_t row_at(std::uint32_t node) const {
    return kHeaderBytes + lids_bytes() + node * row_bytes();
  }
  [[nodiscard]] std::size_t file_bytes() const { return row_at(nodes); }
};

// All return null where nothing is wrong, otherwise what is, for one line of a message.
inline const char* read_header(const Byte (&header)[kHeaderBytes], std::uint64_t file_bytes, Shape& shape) {
  for (std::size_t i = 0; i < sizeof kMark; ++i)
    if (header[i] != static_cast<Byte>(kMark[i]))
      return "it does not begin with 'heddle paths 1', as a plan of `heddle paths plan` does";
  shape = {.nodes = number_at(header + 16, 4), .lmc = number_at(header + 20, 4)};
  if (shape.nodes == 0 || shape.nodes > kMostNodes)
    return "the number of nodes in its header is out of range: expected 1 to 49151";
  if (shape.lmc > kLargestLmc) return "the lmc in its header is out of range: expected 0 to 7";
  if (file_bytes != shape.file_bytes())
    return "its length is not that of a plan for so many nodes as its header says: it was cut off, or is none";
  return nullptr;
}

inline std::uint32_t lid_at(const Byte* lids, std::uint32_t node) {
  return number_at(lids + std::size_t{2} * node, 2);
}

inline const char* check_lids(const Byte* lids, const Shape& shape) {
  const std::uint32_t width = 1U << shape.lmc;
  std::uint32_t least = 1;
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    const std::uint32_t lid = lid_at(lids, node);
    if (lid < least || lid % width != 0 || lid + width - 1 > kMostNodes)
      return "its LIDs are not ascending multiples of 2^lmc from 1 to 49151";
    least = lid + width;
  }
  return nullptr;
}

inline const char* check_row(const Byte* row, const Shape& shape) {
  for (std::size_t i = 0; i < shape.row_bytes(); ++i)
    if (row[i] >> shape.lmc != 0) return "it holds an offset that is not below 2^lmc";
  return nullptr;
}

// The node that has this LID, or shape.nodes where none has.
inline std::uint32_t node_of(const Byte* lids, const Shape& shape, std::uint32_t lid) {
  std::uint32_t low = 0; // the first node whose LIDs begin past this one
  for (std::uint32_t high = shape.nodes; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (lid_at(lids, middle) <= lid)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && lid - lid_at(lids, low - 1) < 1U << shape.lmc ? low - 1 : shape.nodes;
}

} // namespace heddle::paths
