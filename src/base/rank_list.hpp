// Ranks as people write them: "1-3,7".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heddle::base {

// Of ranks in rising order; the form that node lists on the command line have.
inline std::string print_ranks(std::span<const std::uint32_t> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end > i) text += "-" + std::to_string(ranks[end]);
    i = end + 1;
  }
  return text;
}

} // namespace heddle::base
