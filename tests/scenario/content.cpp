#include "tests/scenario/content.hpp"

#include "tests/scenario/lot.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace heddle::tests {

namespace {

constexpr std::uint64_t kStarts = 1U << 16U; // different parts

std::vector<std::byte> make_table(std::uint64_t bytes) {
  std::vector<std::byte> table((bytes + 7) / 8 * 8);
  Lot lot(1);
  for (std::size_t at = 0; at < table.size(); at += 8) {
    const std::uint64_t word = lot.next();
    std::memcpy(table.data() + at, &word, sizeof word);
  }
  return table;
}

} // namespace

const std::byte* pattern_bytes(std::uint64_t key, std::uint64_t bytes) {
  constexpr std::uint64_t kUsual = 1U << 18U;
  static const std::vector<std::byte> usual = make_table(kStarts + kUsual);
  if (bytes <= kUsual) return usual.data() + Lot::mix(key) % kStarts;
  static std::vector<std::vector<std::byte>> larger; // each stays where it is
  const auto found = std::ranges::find_if(larger, [&](const auto& table) { return table.size() >= kStarts + bytes; });
  const std::vector<std::byte>& table =
      found != larger.end() ? *found : larger.emplace_back(make_table(kStarts + 2 * bytes));
  return table.data() + Lot::mix(key) % kStarts;
}

} // namespace heddle::tests
