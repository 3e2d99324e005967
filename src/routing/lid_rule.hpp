// Which LIDs a host owns, and which up-path a packet to each of them takes: what tables, paths and the simulator share.
// With LMC a host has 2^lmc LIDs in a row. Its base LID, offset 0, goes by the host's first up-path, offset o by the o-th from
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
  bool spread; // host i begins with up-path i mod up-paths; else every host with up-path 0

  [[nodiscard]] constexpr std::uint32_t up_path(std::uint32_t host, std::uint32_t offset,
                                                std::uint32_t up_paths) const {
    return (first(host, up_paths) + offset) % up_paths;
  }
  // The offset that goes by this up-path. With fewer LIDs than up-paths the host may not have it.
  [[nodiscard]] constexpr std::uint32_t offset(std::uint32_t host, std::uint32_t up_path,
                                               std::uint32_t up_paths) const {
    const std::uint32_t start = first(host, up_paths);
    return up_path >= start ? up_path - start : up_path + up_paths - start;
  }

 private:
  [[nodiscard]] constexpr std::uint32_t first(std::uint32_t host, std::uint32_t up_paths) const {
    return spread ? host % up_paths : 0;
  }
};

// Whoever knows only base LIDs is routed as with one LID per host: such tables slow nobody. For any number of LIDs.
inline constexpr LidRule kConventionalLids{"conventional", true};
// The report's: LID j by root j mod 2^lmc, so that all base LIDs share root 0. Defined only where every up-path has a LID.
inline constexpr LidRule kReportLids{"report", false};
inline constexpr std::array kLidRules{kConventionalLids, kReportLids};

// bad_argument names the rules there are.
Result<LidRule> parse_lid_rule(std::string_view text);

} // namespace heddle::routing
