// Files that say what is sent: one put a row (table.hpp). docs/traffic.md is the user's page. Not here: what node numbers, directions
// and stages mean, which depends on who asks.
#pragma once

#include "traffic/table.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::traffic {

struct Put {
  std::optional<Given<std::uint32_t>> from;
  std::optional<Given<std::uint32_t>> to;
  std::optional<Given<std::string>> direction;
  std::optional<Given<std::uint64_t>> bytes;
  std::optional<Given<std::uint32_t>> stage;
  Place place; // of the row
};

// Of one file.
inline constexpr std::size_t kMostPuts = 1'000'000;

// At least one. bad_argument names line and column.
Result<std::vector<Put>> parse_puts(std::string_view text);

} // namespace heddle::traffic
