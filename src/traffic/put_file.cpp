#include "traffic/put_file.hpp"

#include "base/nearest.hpp"
#include "base/size_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace heddle::traffic {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::array<std::string_view, 4> kNames{"from", "to", "direction", "bytes"};

Result<std::uint32_t> number_of(const Cell& cell) {
  std::uint32_t number = 0;
  const char* const end = cell.text.data() + cell.text.size();
  const auto [read, status] = std::from_chars(cell.text.data(), end, number);
  if (status == std::errc{} && read == end && number < std::numeric_limits<std::uint32_t>::max()) return number;
  return std::unexpected(wrong_at(cell.place, cell.name + " is " + quoted(cell.text) +
                                                  ": expected a number from 0 to " +
                                                  std::to_string(std::numeric_limits<std::uint32_t>::max() - 1)));
}

template <typename Value>
Result<void> set(std::optional<Given<Value>>& member, const Cell& cell, Result<Value> value) {
  if (!value) return std::unexpected(std::move(value.error()));
  if (member) return std::unexpected(wrong_at(cell.place, cell.name + " is given twice"));
  member = Given<Value>{std::move(*value), cell.place};
  return {};
}

Result<std::uint64_t> bytes_of(const Cell& cell) {
  const auto bytes = base::parse_size(cell.text);
  if (bytes) return *bytes;
  return std::unexpected(
      wrong_at(cell.place, "bytes is " + quoted(cell.text) + ": expected a size such as 65536 or 64KiB"));
}

} // namespace

Result<void> check_name(const std::string& name, const Place& place) {
  if (std::ranges::find(kNames, name) != kNames.end()) return {};
  return std::unexpected(wrong_at(place, "no put has a " + quoted(name) + ", did you mean " +
                                             std::string(base::nearest(name, kNames)) +
                                             "? Expected from, to or direction, bytes"));
}

Result<void> add_cell(Put& put, const Cell& cell) {
  if (cell.name == "from") return set(put.from, cell, number_of(cell));
  if (cell.name == "to") return set(put.to, cell, number_of(cell));
  if (cell.name == "bytes") return set(put.bytes, cell, bytes_of(cell));
  if (cell.name == "direction") return set(put.direction, cell, Result<std::string>(cell.text));
  return check_name(cell.name, cell.place);
}

Result<void> add_put(std::vector<Put>& puts, Put put) {
  if (!put.to && !put.direction) return std::unexpected(wrong_at(put.place, "a put needs to or direction"));
  if (put.to && put.direction)
    return std::unexpected(wrong_at(put.direction->place, "a put has either to or direction, not both"));
  if (put.from && put.direction)
    return std::unexpected(wrong_at(put.from->place, "a put by direction has no from: every process does the same"));
  if (puts.size() == kMostPuts)
    return std::unexpected(wrong_at(put.place, "more than " + std::to_string(kMostPuts) + " puts"));
  puts.push_back(std::move(put));
  return {};
}

Result<std::vector<Put>> parse_puts(std::string_view text) {
  Cursor cursor(text);
  Cursor probe = cursor;
  probe.skip_any_of(kBlank);
  if (probe.peek() == '{')
    return std::unexpected(wrong_at(probe.place(), "an object stands alone: expected an array of them, [{...}, ...]"));
  auto puts = probe.peek() == '[' ? parse_json(probe) : parse_csv(cursor);
  if (puts && puts->empty()) return refuse("there is no put in it");
  return puts;
}

} // namespace heddle::traffic
