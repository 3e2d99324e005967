// Files that say what is sent: one put a row, as a JSON array of flat objects or as CSV with a line of names. docs/traffic.md is the
// user's page. Not here: what node numbers and directions mean, which depends on who asks.
#pragma once

#include "traffic/place.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::traffic {

template <typename Value>
struct Given {
  Value value{};
  Place place;
};

struct Put {
  std::optional<Given<std::uint32_t>> from;
  std::optional<Given<std::uint32_t>> to;
  std::optional<Given<std::string>> direction;
  std::optional<Given<std::uint64_t>> bytes;
  Place place; // of the row
};

// Of one file.
inline constexpr std::size_t kMostPuts = 1'000'000;

// At least one. bad_argument names line and column.
Result<std::vector<Put>> parse_puts(std::string_view text);

// --- for the two ways to write one (put_csv.cpp, put_json.cpp) ---

// The values of a row as they are written, by name.
struct Cell {
  std::string name;
  std::string text;
  Place place;
};
// Adds what a cell says. Error: no such name, said twice, or not a value that it can have.
Result<void> add_cell(Put& put, const Cell& cell);
// Error: no member or column has this name.
Result<void> check_name(const std::string& name, const Place& place);
// Error: neither to nor direction, or both; more than there may be.
Result<void> add_put(std::vector<Put>& puts, Put put);

Result<std::vector<Put>> parse_csv(Cursor cursor);
Result<std::vector<Put>> parse_json(Cursor cursor);

} // namespace heddle::traffic
