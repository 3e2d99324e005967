// A number as digits, and nothing besides.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle::base {

// Nothing where the text is no such number, or is one that does not fit.
template <std::unsigned_integral Number = std::uint64_t>
[[nodiscard]] std::optional<Number> number_in(std::string_view text, int digits = 10) {
  Number value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, digits);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

} // namespace heddle::base
