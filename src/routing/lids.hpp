// The LIDs of a fabric: those of hosts by a rule (lid_rule.hpp), then those of switches. Offsets past the number of up-paths stay
// unused; with fewer LIDs than up-paths, the hosts of a leaf offer different windows of them.
#pragma once

#include <algorithm>
#include <optional>

#include "routing/lid_rule.hpp"
#include "routing/up_paths.hpp"

namespace heddle::routing {

using Lid = std::uint16_t;

struct LidPlan {
  std::uint32_t hosts = 0;
  std::uint32_t switches = 0;
  std::uint32_t up_paths = 0;
  std::uint32_t lmc = 0;
  LidRule rule = kConventionalLids;
  std::string limit; // in words, where a limit of InfiniBand keeps some up-paths from having a LID; else empty

  [[nodiscard]] std::uint32_t per_host() const { return 1U << lmc; }
  [[nodiscard]] std::uint32_t offsets() const { return std::min(up_paths, per_host()); } // in use, of each host
  [[nodiscard]] bool complete() const { return per_host() >= up_paths; }
  [[nodiscard]] Lid lid(HostIndex host, std::uint32_t offset) const {
    return static_cast<Lid>(base_lid(host, lmc) + offset);
  }
  [[nodiscard]] Lid switch_lid(SwitchIndex one) const { return static_cast<Lid>(base_lid(hosts, lmc) + one); }
  [[nodiscard]] Lid largest() const { return switch_lid(switches - 1); }
  [[nodiscard]] UpPath up_path(HostIndex host, std::uint32_t offset) const {
    return rule.up_path(host, offset, up_paths);
  }
  // The offset under which the host is reached by that up-path, if it has one.
  [[nodiscard]] std::optional<std::uint32_t> offset(HostIndex host, UpPath up_path) const {
    const std::uint32_t wanted = rule.offset(host, up_path, up_paths);
    if (wanted >= offsets()) return {};
    return wanted;
  }
};

// With no lmc given: the smallest with a LID for every up-path, or the largest that InfiniBand's limits allow.
// bad_argument: lmc past 7, more LIDs than there are, or too few for the report's rule.
Result<LidPlan> plan_lids(const Fabric& fabric, const UpPaths& up_paths, std::optional<std::uint32_t> lmc,
                          const LidRule& rule = kConventionalLids);

} // namespace heddle::routing
