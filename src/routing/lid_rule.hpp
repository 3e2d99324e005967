// Which way a packet takes to each LID of a host: the one rule that tables, paths and the simulator share.
// A host's offset 0, its base LID, goes by the host's first way, offset o by the o-th from there, counted round.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/error.hpp"

namespace heddle::routing {

struct LidRule {
  std::string_view name;
  bool spread; // host i begins with way i mod ways; else every host with way 0

  [[nodiscard]] constexpr std::uint32_t way(std::uint32_t host, std::uint32_t offset, std::uint32_t ways) const {
    return (first(host, ways) + offset) % ways;
  }
  // The offset that goes by this way. With fewer LIDs than ways the host may not have it.
  [[nodiscard]] constexpr std::uint32_t offset(std::uint32_t host, std::uint32_t way, std::uint32_t ways) const {
    const std::uint32_t start = first(host, ways);
    return way >= start ? way - start : way + ways - start;
  }

 private:
  [[nodiscard]] constexpr std::uint32_t first(std::uint32_t host, std::uint32_t ways) const {
    return spread ? host % ways : 0;
  }
};

// Whoever knows only base LIDs is routed as with one LID per host: installing the tables slows nobody. Right for any number of LIDs.
inline constexpr LidRule kConventionalLids{"conventional", true};
// The report's: LID j by root j mod 2^lmc, so that all base LIDs share root 0. Defined only where every way has a LID.
inline constexpr LidRule kReportLids{"report", false};
inline constexpr std::array kLidRules{kConventionalLids, kReportLids};

// bad_argument names the rules there are.
Result<LidRule> parse_lid_rule(std::string_view text);

} // namespace heddle::routing
