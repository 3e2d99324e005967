#include "sim/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>

namespace heddle::sim {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array<Unit, 4> kRates{{{"GB/s", 1'000'000'000}, {"MB/s", 1'000'000}, {"KB/s", 1'000}, {"B/s", 1}}};
constexpr std::array<Unit, 4> kTimes{{{"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1'000}, {"ps", 1}}};

std::unexpected<Error> not_a(std::string_view text, std::string_view expected) {
  return std::unexpected(
      Error{.code = ErrorCode::bad_argument, .fact = "'" + std::string(text) + "' is not " + std::string(expected)});
}

// Digits, a point and digits, times a power of ten that makes it whole; kNone-like -1 where it does not.
std::int64_t scaled(std::string_view number, std::int64_t factor) {
  const Halves halves = cut_at(number, '.');
  std::int64_t total = 0;
  const auto all_digits = [](std::string_view digits) {
    return !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!all_digits(halves.before) || (halves.cut && !all_digits(halves.after))) return -1;
  const auto [end, status] = std::from_chars(halves.before.data(), halves.before.data() + halves.before.size(), total);
  if (status != std::errc{} || total > std::numeric_limits<std::int64_t>::max() / 2 / factor) return -1;
  total *= factor;
  for (const char digit : halves.after) {
    if (factor % 10 != 0) {
      if (digit != '0') return -1;
      continue;
    }
    factor /= 10;
    total += (digit - '0') * factor;
  }
  return total;
}

std::int64_t with_unit(std::string_view text, const std::array<Unit, 4>& units) {
  for (const Unit& unit : units) {
    if (text.ends_with(unit.name)) return scaled(text.substr(0, text.size() - unit.name.size()), unit.factor);
  }
  return -1;
}

} // namespace

Halves cut_at(std::string_view text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, {}, false};
  return {text.substr(0, at), text.substr(at + 1), true};
}

Result<Rate> parse_rate(std::string_view text) {
  const std::int64_t rate = with_unit(text, kRates);
  if (rate < 0) return not_a(text, "a rate such as 2GB/s or 80MB/s");
  return Rate{rate};
}

Result<Picoseconds> parse_time(std::string_view text) {
  const std::int64_t time = with_unit(text, kTimes);
  if (time < 0) return not_a(text, "a time such as 80ns or 1.5us");
  return Picoseconds{time};
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return not_a(text, "a whole number");
  return number;
}

namespace {

template <std::size_t count>
std::string in_whole_units(std::int64_t value, const std::array<Unit, count>& units) {
  const Unit* best = nullptr;
  for (const Unit& unit : units)
    if (value % unit.factor == 0 && (best == nullptr || (value != 0 && unit.factor > best->factor))) best = &unit;
  return std::to_string(value / best->factor) + std::string(best->name); // the smallest unit is 1
}

} // namespace

std::string print_rate(Rate rate) {
  return in_whole_units(rate.bytes_per_second, kRates);
}

std::string print_time(Picoseconds time) {
  return in_whole_units(time.count(), kTimes);
}

} // namespace heddle::sim
