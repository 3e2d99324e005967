// Forwarding tables (LFTs): at every switch the port for every LID. Packets go up towards the root of the LID's up-path until the
// destination is below, then down; where failures have closed that up-path, up by another that is open. Never down and up again, so
// without deadlock. LIDs of switches (management only) take a shortest path.
#pragma once

#include "routing/lids.hpp"

namespace heddle::routing {

inline constexpr Port kUnset = 255; // no entry: packets to this LID are dropped

class Tables {
 public:
  Tables(const Fabric& fabric, const UpPaths& up_paths, const LidPlan& lids);

  [[nodiscard]] Port port(SwitchIndex at, Lid lid) const { return ports_[std::size_t{at} * width_ + lid]; }
  void set(SwitchIndex at, Lid lid, Port port) { ports_[std::size_t{at} * width_ + lid] = port; }
  [[nodiscard]] Lid largest() const { return static_cast<Lid>(width_ - 1); }

 private:
  void route_to_leaf(const Fabric& fabric, const UpPaths& up_paths, const LidPlan& lids, SwitchIndex leaf);
  void route_to_switch(const Fabric& fabric, const LidPlan& lids, SwitchIndex target);

  std::size_t width_;
  std::vector<Port> ports_; // [switch][lid]
};

// All that is needed to send: the fabric, its up-paths, LIDs and tables.
struct Subnet {
  Fabric fabric;
  UpPaths up_paths;
  LidPlan lids;
  Tables tables;
};

Result<Subnet> make_subnet(Fabric fabric, std::optional<std::uint32_t> lmc = {},
                           const LidRule& rule = kConventionalLids);

// unreachable: hosts between which no path up and down the tree is left; bad_argument: no host at all.
Result<void> check_reachable(const Subnet& subnet);

// Follows the tables from the host, switch by switch. Calls `visit(SwitchIndex, Port)` for every port that the packet leaves a
// switch by; false where it is dropped, loops, or ends at another host than the LID's owner.
template <typename Visit>
bool follow(const Subnet& subnet, HostIndex from, HostIndex to, Lid lid, Visit&& visit) {
  SwitchIndex at = subnet.fabric.hosts[from].leaf;
  const std::uint32_t longest = 2 * subnet.fabric.levels; // up and down again
  for (std::uint32_t hop = 0; hop < longest; ++hop) {
    const Port port = subnet.tables.port(at, lid);
    const auto& ports = subnet.fabric.switches[at].ports;
    if (port == 0 || port >= ports.size()) return false;
    visit(at, port);
    const Peer& peer = ports[port];
    if (peer.kind == Peer::Kind::nothing) return false;
    if (peer.kind == Peer::Kind::host) return peer.index == to;
    at = peer.index;
  }
  return false;
}

} // namespace heddle::routing
