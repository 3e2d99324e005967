#include "ir/text_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace heddle::ir::text {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string_view take_word(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  return word;
}

template <typename Number>
bool parse_whole(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

} // namespace

std::string hex(std::uint64_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

std::string hex_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "-";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4U)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t number = 0;
  if (!parse_whole(text, number, hexadecimal ? 16 : 10)) return std::nullopt;
  return number;
}

bool parse_signed(std::string_view text, std::int64_t& number) {
  return parse_whole(text, number, 10);
}

std::optional<std::size_t> parse_hex_bytes(std::string_view text, std::span<std::byte> into) {
  if (text == "-") return 0;
  if (text.empty() || text.size() % 2 != 0 || text.size() / 2 > into.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size() / 2; ++i) {
    const std::size_t high = kDigits.find(text[2 * i]);
    const std::size_t low = kDigits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    into[i] = static_cast<std::byte>(high * 16 + low);
  }
  return text.size() / 2;
}

FieldReader::FieldReader(std::string_view line) : line_(line), rest_(line), first_word_(take_word(rest_)) {}

std::optional<std::string_view> FieldReader::take(std::string_view name) {
  if (error_) return std::nullopt;
  const std::string_view word = take_word(rest_);
  if (!word.starts_with(name) || word.size() <= name.size() || word[name.size()] != '=') {
    complain(word, "stands where " + std::string(name) + "= belongs");
    return std::nullopt;
  }
  return word.substr(name.size() + 1);
}

void FieldReader::number(std::string_view name, std::uint64_t& value) {
  other(name, [&](std::string_view text) {
    const auto number = parse_number(text);
    value = number.value_or(0);
    return number.has_value();
  });
}

void FieldReader::peer(std::string_view name, Peer& peer) {
  other(name, [&](std::string_view text) {
    const auto number = parse_number(text);
    if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return false;
    peer = Peer{static_cast<std::uint32_t>(*number)};
    return true;
  });
}

Result<void> FieldReader::end() {
  if (!error_ && !rest_.empty()) complain(rest_, "is unexpected");
  if (error_) return std::unexpected(*error_);
  return {};
}

void FieldReader::complain(std::string_view about, std::string_view what) {
  if (!error_) error_ = complaint(what, about);
}

Error FieldReader::complaint(std::string_view what, std::string_view about) const {
  return {.code = ErrorCode::bad_argument,
          .fact = "'" + std::string(about) + "' " + std::string(what) + " in the line '" + std::string(line_) + "'"};
}

} // namespace heddle::ir::text
