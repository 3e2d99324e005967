// Walks over the bytes of a layout from any position: gathers into, or scatters from, contiguous memory.
#pragma once

#include "base/copy.hpp"

#include <heddle/layout.hpp>

#include <algorithm>

namespace heddle::engine {

// Calls visit(piece of the layout, bytes) for the parts that make up [from, from + bytes) of the message, in order.
template <typename Byte, typename Visit>
void visit_range(const BasicLayout<Byte>& layout, std::uint64_t from, std::uint64_t bytes, Visit&& visit) {
  using Shape = BasicLayout<Byte>::Shape;
  switch (layout.shape()) {
    case Shape::contiguous:
      if (bytes > 0) visit(layout.data() + from, bytes);
      return;
    case Shape::strided: {
      if (layout.block() == 0) return;
      std::uint64_t index = from / layout.block();
      std::uint64_t within = from % layout.block();
      while (bytes > 0) {
        const std::uint64_t part = std::min(bytes, layout.block() - within);
        visit(layout.data() + static_cast<std::int64_t>(index) * layout.stride() + static_cast<std::int64_t>(within),
              part);
        bytes -= part;
        ++index;
        within = 0;
      }
      return;
    }
    case Shape::pieces:
      for (const auto& piece : layout.list()) {
        if (bytes == 0) return;
        if (from >= piece.bytes) {
          from -= piece.bytes;
          continue;
        }
        const std::uint64_t part = std::min(bytes, piece.bytes - from);
        visit(piece.data + from, part);
        bytes -= part;
        from = 0;
      }
      return;
  }
}

// Copies [from, from + bytes) of the message to `to`.
inline void gather(const ConstLayout& layout, std::uint64_t from, std::byte* to, std::uint64_t bytes) {
  visit_range(layout, from, bytes, [&to](const std::byte* part, std::uint64_t part_bytes) {
    base::copy_bytes(to, part, part_bytes);
    to += part_bytes;
  });
}

// Copies `bytes` bytes to [at, at + bytes) of the message.
inline void scatter(const Layout& layout, std::uint64_t at, const std::byte* from, std::uint64_t bytes) {
  visit_range(layout, at, bytes, [&from](std::byte* part, std::uint64_t part_bytes) {
    base::copy_bytes(part, from, part_bytes);
    from += part_bytes;
  });
}

} // namespace heddle::engine
