// Texts of many lines, made to fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace heddle::base {

// As many whole lines as fit into `most` bytes, and a last one that says how many were left out. Empty where not even that fits.
inline std::string fitting_lines(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto lines = [](std::string_view part) {
    return static_cast<std::size_t>(std::ranges::count(part, '\n')) + (!part.empty() && part.back() != '\n' ? 1 : 0);
  };
  const auto left_out = [](std::size_t count) { return "and " + std::to_string(count) + " lines more\n"; };
  const std::size_t tail = left_out(lines(text)).size(); // the longest it can be
  if (tail > most) return {};
  const std::size_t end = most == tail ? std::string_view::npos : text.rfind('\n', most - tail - 1);
  const std::size_t kept = end == std::string_view::npos ? 0 : end + 1;
  return std::string(text.substr(0, kept)) + left_out(lines(text.substr(kept)));
}

} // namespace heddle::base
