// A line of "name field=value field=value ...", read in the order in which it is written. For src/ir/text.cpp.
#pragma once

#include "ir/command.hpp"

#include <heddle/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace heddle::ir::text {

std::string hex(std::uint64_t number);                   // "0x2a"
std::string hex_bytes(std::span<const std::byte> bytes); // "002aff", "-" for none

// Decimal, or hexadecimal after 0x. Nothing else may stand in the text.
std::optional<std::uint64_t> parse_number(std::string_view text);
bool parse_signed(std::string_view text, std::int64_t& number);
// Count of bytes read; none when the text is no hex_bytes or holds more than `into`.
std::optional<std::size_t> parse_hex_bytes(std::string_view text, std::span<std::byte> into);

// Each call takes the next field of the line. The first thing that is wrong is kept, and later calls do nothing.
class FieldReader {
 public:
  explicit FieldReader(std::string_view line);

  [[nodiscard]] std::string_view first_word() const { return first_word_; }
  void number(std::string_view name, std::uint64_t& value);
  void peer(std::string_view name, Peer& peer);
  // `parse` gets the value's text and says whether it is right.
  void other(std::string_view name, std::predicate<std::string_view> auto parse) {
    const auto value = take(name);
    if (value && !parse(*value)) complain(std::string(name) + "=" + std::string(*value), "cannot be read");
  }
  // Nothing was wrong, and nothing is left.
  Result<void> end();

  [[nodiscard]] Error complaint(std::string_view what, std::string_view about) const;

 private:
  std::optional<std::string_view> take(std::string_view name);
  void complain(std::string_view about, std::string_view what);

  std::string_view line_;
  std::string_view rest_;
  std::string_view first_word_;
  std::optional<Error> error_;
};

} // namespace heddle::ir::text
