// JSON: an array of objects whose values are numbers, strings or null. What nests deeper is refused where it begins, so that no
// input costs more than its length.
#include "traffic/table.hpp"

namespace heddle::traffic {
namespace {

class Reader {
 public:
  Reader(Cursor cursor, const Table& table) : cursor_(cursor), table_(table) {}

  Result<void> array() {
    cursor_.next(); // the bracket that read_table has seen
    skip();
    bool more = !cursor_.take(']');
    while (more) {
      skip();
      const Place place = cursor_.place();
      std::vector<Cell> cells;
      if (auto read = object(cells); !read) return read;
      if (auto read = table_.row(place, cells); !read) return read;
      skip();
      more = cursor_.take(',');
      if (!more && !cursor_.take(']')) return wrong("expected , or ] after an object");
    }
    skip();
    if (!cursor_.at_end()) return wrong("expected nothing after the array");
    return {};
  }

 private:
  void skip() { cursor_.skip_any_of(" \t\r\n"); }
  [[nodiscard]] std::unexpected<Error> wrong(const std::string& expected) const {
    const std::string found = cursor_.at_end() ? "the text ends" : "found " + quoted(cursor_.rest().substr(0, 1));
    return std::unexpected(wrong_at(cursor_.place(), found + ": " + expected));
  }

  Result<void> object(std::vector<Cell>& cells) {
    if (!cursor_.take('{')) return wrong("expected an object, such as {\"to\": 3, \"bytes\": 65536}");
    if (skip(); cursor_.take('}')) return {};
    while (true) {
      skip();
      const Place at = cursor_.place();
      auto name = string();
      if (!name) return std::unexpected(std::move(name.error()));
      if (auto known = check_name(table_, *name, at); !known) return known;
      if (skip(); !cursor_.take(':')) return wrong("expected : after a name");
      skip();
      Cell cell{.name = std::move(*name), .text = {}, .place = cursor_.place()};
      auto text = value();
      if (!text) return std::unexpected(std::move(text.error()));
      if (*text) {
        cell.text = std::move(**text);
        cells.push_back(std::move(cell));
      }
      if (skip(); cursor_.take('}')) return {};
      if (!cursor_.take(',')) return wrong("expected , or } after a value");
    }
  }

  // Nothing where it is null.
  Result<std::optional<std::string>> value() {
    constexpr std::string_view kNull = "null";
    if (cursor_.peek() == '"') {
      auto text = string();
      if (!text) return std::unexpected(std::move(text.error()));
      return std::move(*text);
    }
    if (cursor_.rest().starts_with(kNull)) {
      for (std::size_t i = 0; i < kNull.size(); ++i) cursor_.next();
      return std::nullopt;
    }
    std::string number;
    const auto is_of_number = [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    };
    while (!cursor_.at_end() && is_of_number(cursor_.peek())) number += cursor_.next();
    if (number.empty()) return wrong("expected a number or a string");
    return number;
  }

  Result<std::string> string() {
    if (!cursor_.take('"')) return wrong("expected a name or string in double quotes");
    std::string text;
    while (!cursor_.at_end() && cursor_.peek() != '"') {
      if (static_cast<unsigned char>(cursor_.peek()) < ' ') return wrong("expected the end of the string first");
      if (cursor_.peek() == '\\') return wrong("no name or value needs an escape here");
      text += cursor_.next();
    }
    if (!cursor_.take('"')) return wrong("expected the end of the string");
    return text;
  }

  Cursor cursor_;
  const Table& table_;
};

} // namespace

Result<void> read_json(Cursor cursor, const Table& table) {
  return Reader(cursor, table).array();
}

} // namespace heddle::traffic
