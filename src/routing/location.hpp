// Where a process is on a subnet: its port has the LIDs base_lid .. base_lid + 2^lmc - 1, and each leads to it by a path of its own.
#pragma once

#include <cstdint>

namespace heddle::routing {

struct Location {
  std::uint32_t base_lid = 0; // 0: it is on no subnet
  std::uint32_t lmc = 0;

  friend bool operator==(const Location&, const Location&) = default;
  [[nodiscard]] bool known() const { return base_lid != 0; }

  // As ir::Paths::location: the position is the LID, and what stands above it says that it is one.
  [[nodiscard]] std::uint64_t number() const { return (std::uint64_t{lmc} + 1) << 32U | base_lid; }
  [[nodiscard]] static Location of_number(std::uint64_t number) {
    if (number >> 32U == 0) return {};
    return {.base_lid = static_cast<std::uint32_t>(number), .lmc = static_cast<std::uint32_t>(number >> 32U) - 1};
  }
};

} // namespace heddle::routing
