// Files of rows with named values, as CSV with a line of names or as a JSON array of flat objects. What the values mean is the business of
// whoever asks (put_file.hpp, job_file.hpp).
#pragma once

#include "traffic/place.hpp"

#include <heddle/error.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::traffic {

// A value as it is written.
struct Cell {
  std::string name;
  std::string text;
  Place place;
};

struct Table {
  std::string_view thing; // what a row is, such as "put"
  std::span<const std::string_view> names;
  std::string_view expected; // the names in words
  // Called for each row with those of its values that are given. An error ends the reading.
  std::function<Result<void>(const Place& place, std::vector<Cell>& cells)> row;
};

// Either way to write it. Error: of the text, with line and column, or the row's.
Result<void> read_table(std::string_view text, const Table& table);

// A value with its place.
template <typename Value>
struct Given {
  Value value{};
  Place place;
};

// Puts a cell's value where it belongs. Error: the value's, or that there is one already.
template <typename Value>
Result<void> set(std::optional<Given<Value>>& member, const Cell& cell, Result<Value> value) {
  if (!value) return std::unexpected(std::move(value.error()));
  if (member) return std::unexpected(wrong_at(cell.place, cell.name + " is given twice"));
  member = Given<Value>{std::move(*value), cell.place};
  return {};
}

// What many cells are. Error with the place.
Result<std::uint32_t> number_of(const Cell& cell);
Result<std::uint64_t> bytes_of(const Cell& cell);

// --- for table_csv.cpp and table_json.cpp ---

Result<void> check_name(const Table& table, const std::string& name, const Place& place);
Result<void> read_csv(Cursor cursor, const Table& table);
Result<void> read_json(Cursor cursor, const Table& table); // from the opening bracket on

} // namespace heddle::traffic
