// The LIDs of a fabric: those of hosts by a rule (lid_rule.hpp), then those of switches. Offsets past the number of ways stay
// unused; with fewer LIDs than ways, the hosts of a leaf offer different windows of them.
#pragma once

#include <algorithm>
#include <optional>

#include "routing/lid_rule.hpp"
#include "routing/ways.hpp"

namespace heddle::routing {

using Lid = std::uint16_t;

struct LidPlan {
  std::uint32_t hosts = 0;
  std::uint32_t switches = 0;
  std::uint32_t ways = 0;
  std::uint32_t lmc = 0;
  LidRule rule = kConventionalLids;
  std::string limit; // in words, where a limit of InfiniBand keeps some ways from having a LID; else empty

  [[nodiscard]] std::uint32_t per_host() const { return 1U << lmc; }
  [[nodiscard]] std::uint32_t offsets() const { return std::min(ways, per_host()); } // in use, of each host
  [[nodiscard]] bool complete() const { return per_host() >= ways; }
  [[nodiscard]] Lid lid(HostIndex host, std::uint32_t offset) const {
    return static_cast<Lid>(base_lid(host, lmc) + offset);
  }
  [[nodiscard]] Lid switch_lid(SwitchIndex one) const { return static_cast<Lid>(base_lid(hosts, lmc) + one); }
  [[nodiscard]] Lid largest() const { return switch_lid(switches - 1); }
  [[nodiscard]] Way way(HostIndex host, std::uint32_t offset) const { return rule.way(host, offset, ways); }
  // The offset under which the host is reached by that way, if it has one.
  [[nodiscard]] std::optional<std::uint32_t> offset(HostIndex host, Way way) const {
    const std::uint32_t wanted = rule.offset(host, way, ways);
    if (wanted >= offsets()) return {};
    return wanted;
  }
};

// With no lmc given: the smallest with a LID for every way, or the largest that InfiniBand's limits allow.
// bad_argument: lmc past 7, more LIDs than there are, or too few for the report's rule.
Result<LidPlan> plan_lids(const Fabric& fabric, const Ways& ways, std::optional<std::uint32_t> lmc,
                          const LidRule& rule = kConventionalLids);

} // namespace heddle::routing
