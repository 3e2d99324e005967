#include "base/size_text.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace heddle::base {
namespace {

struct Unit {
  std::string_view name;
  unsigned shift;
};
constexpr std::array<Unit, 4> kUnits{{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}}};

Error not_a_size(std::string_view text, std::string_view why) {
  return {.code = ErrorCode::bad_argument,
          .fact = "'" + std::string(text) + "' is not a size: " + std::string(why),
          .remedy = "write digits with an optional KiB, MiB, GiB or TiB, such as 64KiB"};
}

} // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status == std::errc::result_out_of_range) return std::unexpected(not_a_size(text, "it exceeds 64 bits"));
  if (status != std::errc{}) return std::unexpected(not_a_size(text, "it does not begin with a digit"));
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.empty()) return number;
  for (const Unit& unit : kUnits) {
    if (suffix != unit.name) continue;
    if (number > std::numeric_limits<std::uint64_t>::max() >> unit.shift) {
      return std::unexpected(not_a_size(text, "it exceeds 64 bits"));
    }
    return number << unit.shift;
  }
  return std::unexpected(not_a_size(text, "unknown unit '" + std::string(suffix) + "'"));
}

Result<std::vector<std::uint64_t>> parse_size_list(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  while (true) {
    const std::size_t comma = text.find(',');
    auto size = parse_size(text.substr(0, comma));
    if (!size) return std::unexpected(std::move(size).error());
    sizes.push_back(*size);
    if (comma == std::string_view::npos) return sizes;
    text.remove_prefix(comma + 1);
  }
}

std::string print_size(std::uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    const std::uint64_t mask = (std::uint64_t{1} << unit.shift) - 1;
    if (bytes != 0 && (bytes & mask) == 0) return std::to_string(bytes >> unit.shift) + std::string(unit.name);
  }
  return std::to_string(bytes);
}

} // namespace heddle::base
