#include "traffic/table.hpp"

#include "base/nearest.hpp"
#include "base/size_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace heddle::traffic {

Result<std::uint32_t> number_of(const Cell& cell) {
  std::uint32_t number = 0;
  const char* const end = cell.text.data() + cell.text.size();
  const auto [read, status] = std::from_chars(cell.text.data(), end, number);
  if (status == std::errc{} && read == end && number < std::numeric_limits<std::uint32_t>::max()) return number;
  return std::unexpected(wrong_at(cell.place, cell.name + " is " + quoted(cell.text) +
                                                  ": expected a number from 0 to " +
                                                  std::to_string(std::numeric_limits<std::uint32_t>::max() - 1)));
}

Result<std::uint64_t> bytes_of(const Cell& cell) {
  const auto bytes = base::parse_size(cell.text);
  if (bytes) return *bytes;
  return std::unexpected(
      wrong_at(cell.place, "bytes is " + quoted(cell.text) + ": expected a size such as 65536 or 64KiB"));
}

Result<void> check_name(const Table& table, const std::string& name, const Place& place) {
  if (std::ranges::find(table.names, name) != table.names.end()) return {};
  return std::unexpected(wrong_at(place, "no " + std::string(table.thing) + " has a " + quoted(name) +
                                             ", did you mean " + std::string(base::nearest(name, table.names)) +
                                             "? Expected " + std::string(table.expected)));
}

Result<void> read_table(std::string_view text, const Table& table) {
  const Cursor cursor(text);
  Cursor probe = cursor;
  probe.skip_any_of(" \t\r\n");
  if (probe.peek() == '{')
    return std::unexpected(wrong_at(probe.place(), "an object stands alone: expected an array of them, [{...}, ...]"));
  return probe.peek() == '[' ? read_json(probe, table) : read_csv(cursor, table);
}

} // namespace heddle::traffic
