// The hosts that one job runs on. Its nodes are numbered in the order of the fabric, whatever order they were given in: that number is
// the *local node*, the `s` and `d` of every table.
#pragma once

#include "routing/fabric.hpp"

namespace heddle::routing {

struct JobHosts {
  std::vector<HostIndex> hosts;    // [local node], ascending
  std::vector<SwitchIndex> leaves; // [local node]

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(hosts.size()); }
  [[nodiscard]] bool same_leaf(std::uint32_t s, std::uint32_t d) const { return leaves[s] == leaves[d]; }
};

// Node lists as `0-5,9,12-14`; bad_argument says which part is wrong.
Result<std::vector<HostIndex>> parse_node_list(std::string_view text);

// bad_argument: a host outside the fabric, named twice, or failed.
Result<JobHosts> make_job(const Fabric& fabric, std::vector<HostIndex> hosts);

// All hosts that are present.
JobHosts whole_job(const Fabric& fabric);

} // namespace heddle::routing
