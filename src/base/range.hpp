// What a number may be, and how its text is read. Bytes are written as sizes, other numbers as digits.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/size_text.hpp"

namespace heddle::base {

struct Range {
  std::uint64_t least;
  std::uint64_t most;
  bool bytes = false;
  bool power_of_two = false;

  [[nodiscard]] constexpr bool holds(std::uint64_t value) const {
    return value >= least && value <= most && (!power_of_two || std::has_single_bit(value));
  }
  // Nothing where the text is no such number.
  [[nodiscard]] std::optional<std::uint64_t> read(std::string_view text) const {
    std::uint64_t value = 0;
    if (bytes) {
      const auto size = parse_size(text);
      if (!size) return std::nullopt;
      value = *size;
    } else {
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    }
    return holds(value) ? std::optional(value) : std::nullopt;
  }
};

} // namespace heddle::base
