#include "store/pinboard.hpp"

#include "base/number_text.hpp"

#include <algorithm>

namespace heddle::store {

namespace {

constexpr std::size_t kLongestKey = 32;
constexpr std::size_t kCount = 5; // characters before a first piece: how many digits follow in all, and a colon

bool is_key(std::string_view key) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  return !key.empty() && key.size() <= kLongestKey && std::ranges::all_of(key, fits);
}

std::string piece_key(std::string_view key, std::size_t number) {
  return "heddle." + std::string(key) + "." + std::to_string(number);
}

std::string in_digits(std::span<const std::byte> value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : value) {
    text += kDigits[static_cast<std::size_t>(byte) >> 4];
    text += kDigits[static_cast<std::size_t>(byte) & 15];
  }
  return text;
}

std::optional<Bytes> from_digits(std::string_view text) {
  Bytes value;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto byte = base::number_in(text.substr(i, 2), 16);
    if (!byte) return std::nullopt;
    value.push_back(static_cast<std::byte>(*byte));
  }
  return value;
}

std::unexpected<Error> wrong(ErrorCode code, std::string fact) {
  return std::unexpected(Error{.code = code, .fact = std::move(fact)});
}

} // namespace

Result<void> Pinboard::put(std::string_view key, std::span<const std::byte> value, Deadline deadline) {
  if (!is_key(key) || value.size() > kLargestNote)
    return wrong(ErrorCode::bad_argument, "a note has a key of more than 32 letters, digits, dots and dashes, or 4KiB");
  const std::string digits = in_digits(value);
  std::string count = std::to_string(digits.size());
  std::string piece = std::string(kCount - 1 - count.size(), '0') + count + ":";
  std::size_t used = 0;
  for (std::size_t number = 0; number == 0 || used < digits.size(); ++number, piece.clear()) {
    const std::string_view some = std::string_view(digits).substr(used, longest() - piece.size());
    used += some.size();
    if (auto done = put_text(piece_key(key, number), piece.append(some), deadline); !done) return done;
  }
  return {};
}

Result<Bytes> Pinboard::get(std::string_view key, Deadline deadline) {
  if (!is_key(key)) return wrong(ErrorCode::bad_argument, "a key is of 32 letters, digits, dots and dashes at most");
  const std::string name(key);
  std::string digits;
  std::size_t wanted = 0;
  for (std::size_t number = 0; number == 0 || digits.size() < wanted; ++number) {
    auto piece = get_text(piece_key(key, number), deadline);
    if (!piece) return std::unexpected(std::move(piece.error()));
    if (!*piece) return wrong(ErrorCode::bad_argument, "nobody has left a note '" + name + "'");
    std::string_view text = **piece;
    if (number == 0) {
      const auto count =
          text.size() < kCount || text[kCount - 1] != ':' ? std::nullopt : base::number_in(text.substr(0, kCount - 1));
      if (!count || *count > 2 * kLargestNote)
        return wrong(ErrorCode::store_failed, "the note '" + name + "' is spoilt");
      wanted = *count;
      text.remove_prefix(kCount);
    } else if (text.empty()) {
      return wrong(ErrorCode::store_failed, "the note '" + name + "' is spoilt");
    }
    digits += text;
  }
  auto value = from_digits(digits);
  if (!value || digits.size() != wanted || wanted % 2 != 0)
    return wrong(ErrorCode::store_failed, "the note '" + name + "' is spoilt");
  return std::move(*value);
}

} // namespace heddle::store
