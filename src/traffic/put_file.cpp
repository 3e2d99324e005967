#include "traffic/put_file.hpp"

#include <array>

namespace heddle::traffic {
namespace {

constexpr std::array<std::string_view, 5> kPutNames{"from", "to", "direction", "bytes", "stage"};

Result<void> add_cell(Put& put, const Cell& cell) {
  if (cell.name == "from") return set(put.from, cell, number_of(cell));
  if (cell.name == "to") return set(put.to, cell, number_of(cell));
  if (cell.name == "stage") return set(put.stage, cell, number_of(cell));
  if (cell.name == "bytes") return set(put.bytes, cell, bytes_of(cell));
  return set(put.direction, cell, Result<std::string>(cell.text));
}

Result<void> check(const Put& put) {
  if (!put.to && !put.direction) return std::unexpected(wrong_at(put.place, "a put needs to or direction"));
  if (put.to && put.direction)
    return std::unexpected(wrong_at(put.direction->place, "a put has either to or direction, not both"));
  if (put.from && put.direction)
    return std::unexpected(wrong_at(put.from->place, "a put by direction has no from: every process does the same"));
  return {};
}

} // namespace

Result<std::vector<Put>> parse_puts(std::string_view text) {
  std::vector<Put> puts;
  const auto add = [&](const Place& place, std::vector<Cell>& cells) -> Result<void> {
    Put put{.place = place};
    for (const Cell& cell : cells)
      if (auto added = add_cell(put, cell); !added) return added;
    if (auto good = check(put); !good) return good;
    if (puts.size() == kMostPuts)
      return std::unexpected(wrong_at(place, "more than " + std::to_string(kMostPuts) + " puts"));
    puts.push_back(std::move(put));
    return {};
  };
  if (auto read = read_table(
          text, {.thing = "put", .names = kPutNames, .expected = "from, to or direction, bytes, stage", .row = add});
      !read)
    return std::unexpected(std::move(read.error()));
  if (puts.empty()) return refuse("there is no put in it");
  return puts;
}

} // namespace heddle::traffic
