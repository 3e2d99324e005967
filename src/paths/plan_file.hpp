// Plans as a whole: written by `heddle paths plan`, and read by `heddle paths` before it starts anything with one.
#pragma once

#include <heddle/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::paths {

struct Plan {
  std::uint32_t lmc = 0;
  std::vector<std::uint16_t> lids;   // [node]: its first
  std::vector<std::uint8_t> offsets; // [source * nodes + destination]

  bool operator==(const Plan&) const = default;
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(lids.size()); }
  [[nodiscard]] std::uint8_t offset(std::uint32_t source, std::uint32_t destination) const {
    return offsets[std::size_t{source} * lids.size() + destination];
  }
};

std::string to_file(const Plan& plan);

// bad_argument says what is wrong with the bytes of a file, and of which node where it is one's.
Result<Plan> parse_plan(std::string_view file);

} // namespace heddle::paths
