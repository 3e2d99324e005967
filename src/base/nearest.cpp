#include "base/nearest.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace heddle::base {

// Damerau's distance, optimal string alignment: three rows of the usual table.
//   d[i][j] = min(d[i-1][j] + 1, d[i][j-1] + 1, d[i-1][j-1] + (a[i] != b[j]), d[i-2][j-2] + 1 for swapped neighbours)
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[to.size()];
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  // The distance costs length times length; the head of an overlong name is enough to guess by.
  const std::string_view wanted = name.substr(0, 64);
  std::string_view best;
  std::size_t smallest = SIZE_MAX;
  for (const std::string_view candidate : known) {
    const std::size_t longer = std::max(wanted.size(), candidate.size()) - std::min(wanted.size(), candidate.size());
    if (longer >= smallest) continue; // and so is the distance
    const std::size_t distance = edit_distance(wanted, candidate);
    if (distance >= smallest) continue;
    smallest = distance;
    best = candidate;
  }
  return best;
}

} // namespace heddle::base
