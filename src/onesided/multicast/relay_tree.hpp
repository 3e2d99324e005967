// The shape of a tree of receivers: they stand in a row, which is divided into parts; the first of each part gets what is sent and
// hands it on, in the same way, to the rest of its part. Everybody who sees the row can tell who is behind whom.
#pragma once

#include <cstddef>

namespace heddle::onesided {

// A stretch of the row.
struct TreePart {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Which of `count` receivers belong to part `part` of `fanout`. Parts differ by one at most, and may be empty.
constexpr TreePart tree_part(std::size_t count, std::size_t fanout, std::size_t part) {
  const std::size_t first = count * part / fanout;
  return {.first = first, .count = count * (part + 1) / fanout - first};
}

// Those that receiver `at` hands on to, directly or not.
constexpr TreePart behind(std::size_t count, std::size_t fanout, std::size_t at) {
  TreePart row{.first = 0, .count = count};
  for (;;) {
    std::size_t part = 0;
    TreePart inside = tree_part(row.count, fanout, part);
    while (row.first + inside.first + inside.count <= at) inside = tree_part(row.count, fanout, ++part);
    row = {.first = row.first + inside.first + 1, .count = inside.count - 1};
    if (at + 1 == row.first) return row;
  }
}

} // namespace heddle::onesided
