// CSV: a line of names, then a line for each row. Blank lines and those that begin with # do not count; lines may end in CR LF.
#include "traffic/table.hpp"

#include <algorithm>

namespace heddle::traffic {
namespace {

// One value, up to a comma or the end of the line; without blanks around it, and without quotes where it has them.
Result<Cell> read_cell(Cursor& cursor) {
  cursor.skip_any_of(" \t\r");
  Cell cell{.name = {}, .text = {}, .place = cursor.place()};
  const bool in_quotes = cursor.take('"');
  while (!cursor.at_end() && cursor.peek() != '\n' && (in_quotes ? cursor.peek() != '"' : cursor.peek() != ',')) {
    if (cursor.peek() == '\0') return std::unexpected(wrong_at(cursor.place(), "a zero byte: expected text"));
    cell.text += cursor.next();
  }
  if (in_quotes) {
    if (!cursor.take('"')) return std::unexpected(wrong_at(cell.place, "a quote is opened and not closed in its line"));
    cursor.skip_any_of(" \t\r");
    if (!cursor.at_end() && cursor.peek() != ',' && cursor.peek() != '\n')
      return std::unexpected(wrong_at(cursor.place(), "expected a comma after the quote"));
    return cell;
  }
  const std::size_t end = cell.text.find_last_not_of(" \t\r");
  cell.text.resize(end == std::string::npos ? 0 : end + 1);
  return cell;
}

Result<std::vector<Cell>> read_line(Cursor& cursor) {
  std::vector<Cell> cells;
  do {
    auto cell = read_cell(cursor);
    if (!cell) return std::unexpected(std::move(cell.error()));
    cells.push_back(std::move(*cell));
  } while (cursor.take(','));
  cursor.take('\n');
  return cells;
}

// Moves to the next line that counts; false where there is none.
bool find_line(Cursor& cursor) {
  while (!cursor.at_end()) {
    Cursor ahead = cursor;
    ahead.skip_any_of(" \t\r");
    if (!ahead.at_end() && ahead.peek() != '\n' && ahead.peek() != '#') return true;
    cursor.skip_line();
  }
  return false;
}

Result<void> check_names(const Table& table, const std::vector<Cell>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].text.find(';') != std::string::npos)
      return std::unexpected(wrong_at(names[i].place, "columns are parted by semicolons: expected commas"));
    if (auto known = check_name(table, names[i].text, names[i].place); !known) return known;
    const auto before = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(names.begin(), before, [&](const Cell& name) { return name.text == names[i].text; }))
      return std::unexpected(wrong_at(names[i].place, "two columns are called " + names[i].text));
  }
  return {};
}

} // namespace

Result<void> read_csv(Cursor cursor, const Table& table) {
  if (!find_line(cursor)) return {};
  const auto names = read_line(cursor);
  if (!names) return std::unexpected(names.error());
  if (auto good = check_names(table, *names); !good) return good;
  while (find_line(cursor)) {
    auto cells = read_line(cursor);
    if (!cells) return std::unexpected(std::move(cells.error()));
    if (cells->size() != names->size())
      return std::unexpected(wrong_at(cells->back().place, std::to_string(cells->size()) + " values for " +
                                                               std::to_string(names->size()) + " columns"));
    const Place place = cells->front().place;
    for (std::size_t i = 0; i < cells->size(); ++i) (*cells)[i].name = (*names)[i].text;
    std::erase_if(*cells, [](const Cell& cell) { return cell.text.empty(); });
    if (auto read = table.row(place, *cells); !read) return read;
  }
  return {};
}

} // namespace heddle::traffic
