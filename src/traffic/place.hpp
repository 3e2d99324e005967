// Where in a user's file something stands, and a cursor that knows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/refusal.hpp"

namespace heddle::traffic {

// As editors count: from 1, columns in characters.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};

// "line 3, column 7: FACT".
inline Error wrong_at(const Place& place, const std::string& fact, std::string remedy = {}) {
  return bad_argument("line " + std::to_string(place.line) + ", column " + std::to_string(place.column) + ": " + fact,
                      std::move(remedy));
}

// A user's text in quotes, for a message of one line: what is no printable character becomes '?', what is long is cut.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string result = "'";
  for (const char c : text.substr(0, kMost)) result += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return result + (text.size() > kMost ? "...'" : "'");
}

class Cursor {
 public:
  // A byte order mark at the front does not count.
  explicit Cursor(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  }

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  // 0 at the end.
  [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] Place place() const { return place_; }

  char next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '\n')
      place_ = {place_.line + 1, 1};
    else if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) // not in the middle of a character
      ++place_.column;
    return c;
  }
  bool take(char wanted) {
    if (at_end() || peek() != wanted) return false;
    next();
    return true;
  }
  void skip_any_of(std::string_view characters) {
    while (!at_end() && characters.find(peek()) != std::string_view::npos) next();
  }
  // Up to the end of the line, or of the text.
  void skip_line() {
    while (!at_end() && next() != '\n') {
    }
  }

 private:
  std::string_view rest_;
  Place place_;
};

} // namespace heddle::traffic
