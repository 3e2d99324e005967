// JSON: an array of objects whose values are numbers, strings or null. What nests deeper is refused where it begins, so that no
// input costs more than its length.
#include "traffic/put_file.hpp"

namespace heddle::traffic {
namespace {

class Reader {
 public:
  explicit Reader(Cursor cursor) : cursor_(cursor) {}

  Result<std::vector<Put>> array() {
    std::vector<Put> puts;
    cursor_.next(); // the bracket that parse_puts has seen
    skip();
    bool more = !cursor_.take(']');
    while (more) {
      skip();
      Put put{.place = cursor_.place()};
      if (auto read = object(put); !read) return std::unexpected(std::move(read.error()));
      if (auto added = add_put(puts, std::move(put)); !added) return std::unexpected(std::move(added.error()));
      skip();
      more = cursor_.take(',');
      if (!more && !cursor_.take(']')) return wrong("expected , or ] after an object");
    }
    skip();
    if (!cursor_.at_end()) return wrong("expected nothing after the array");
    return puts;
  }

 private:
  void skip() { cursor_.skip_any_of(" \t\r\n"); }
  [[nodiscard]] std::unexpected<Error> wrong(const std::string& expected) const {
    const std::string found = cursor_.at_end() ? "the text ends" : "found " + quoted(cursor_.rest().substr(0, 1));
    return std::unexpected(wrong_at(cursor_.place(), found + ": " + expected));
  }

  Result<void> object(Put& put) {
    if (!cursor_.take('{')) return wrong("expected an object, such as {\"to\": 3, \"bytes\": 65536}");
    if (skip(); cursor_.take('}')) return {};
    while (true) {
      skip();
      const Place at = cursor_.place();
      auto name = string();
      if (!name) return std::unexpected(std::move(name.error()));
      if (auto known = check_name(*name, at); !known) return known;
      if (skip(); !cursor_.take(':')) return wrong("expected : after a name");
      skip();
      Cell cell{.name = std::move(*name), .text = {}, .place = cursor_.place()};
      auto text = value();
      if (!text) return std::unexpected(std::move(text.error()));
      if (*text) {
        cell.text = std::move(**text);
        if (auto added = add_cell(put, cell); !added) return added;
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
      if (cursor_.peek() == '\\') return wrong("no name or value of a put needs an escape");
      text += cursor_.next();
    }
    if (!cursor_.take('"')) return wrong("expected the end of the string");
    return text;
  }

  Cursor cursor_;
};

} // namespace

Result<std::vector<Put>> parse_json(Cursor cursor) {
  return Reader(cursor).array();
}

} // namespace heddle::traffic
