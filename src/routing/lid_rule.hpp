// Which LIDs a host owns, and which way a packet to each of them takes: what tables, paths and the simulator share.
// With LMC a host has 2^lmc LIDs in a row. Its base LID, offset 0, goes by the host's first way, offset o by the o-th from
// there, counted round.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/error.hpp"

namespace heddle::routing {

inline constexpr std::uint32_t kLargestLmc = 7;
inline constexpr std::uint32_t kLargestUnicastLid = 0xBFFF; // 49,151

constexpr std::uint32_t base_lid(std::uint32_t host, std::uint32_t lmc) {
  return (host + 1) << lmc;
}

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

// Whoever knows only base LIDs is routed as with one LID per host: such tables slow nobody. For any number of LIDs.
inline constexpr LidRule kConventionalLids{"conventional", true};
// The report's: LID j by root j mod 2^lmc, so that all base LIDs share root 0. Defined only where every way has a LID.
inline constexpr LidRule kReportLids{"report", false};
inline constexpr std::array kLidRules{kConventionalLids, kReportLids};

// bad_argument names the rules there are.
Result<LidRule> parse_lid_rule(std::string_view text);

} // namespace heddle::routing
