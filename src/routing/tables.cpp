#include "routing/tables.hpp"

#include "base/refusal.hpp"

namespace heddle::routing {
namespace {

// How the switches stand to one leaf.
struct Bearing {
  std::vector<bool> over;                // going down alone reaches the leaf
  std::vector<bool> under;               // going up reaches a switch that is over it
  std::vector<std::vector<Port>> onward; // ports down for those over, ports up (to open switches) for those under
};

Bearing bearing_to(const Fabric& fabric, SwitchIndex leaf) {
  const std::size_t count = fabric.switches.size();
  Bearing bearing{std::vector<bool>(count), std::vector<bool>(count), std::vector<std::vector<Port>>(count)};
  bearing.over[leaf] = fabric.switches[leaf].present;
  // Upwards: switches are ordered by level.
  for (SwitchIndex at = 0; at < count; ++at) {
    const Switch& one = fabric.switches[at];
    for (std::size_t port = 1; port < one.ports.size(); ++port)
      if (fabric.is_down(one.level, one.ports[port]) && bearing.over[one.ports[port].index])
        bearing.onward[at].push_back(static_cast<Port>(port));
    if (!bearing.onward[at].empty()) bearing.over[at] = true;
  }
  for (SwitchIndex at = static_cast<SwitchIndex>(count); at-- > 0;) {
    if (bearing.over[at]) continue;
    const Switch& one = fabric.switches[at];
    for (std::size_t port = 1; port < one.ports.size(); ++port) {
      const Peer& peer = one.ports[port];
      if (fabric.is_up(one.level, peer) && (bearing.over[peer.index] || bearing.under[peer.index]))
        bearing.onward[at].push_back(static_cast<Port>(port));
    }
    bearing.under[at] = !bearing.onward[at].empty();
  }
  return bearing;
}

// Down by the cable that packets on this up-path come up by, so that an up-path which nobody shares upwards is not shared downwards.
Port mirrored_port(const Fabric& fabric, const UpPaths& up_paths, const std::vector<Port>& onward, SwitchIndex at,
                   UpPath up_path) {
  for (const Port port : onward) {
    const Peer& child = fabric.switches[at].ports[port];
    if (up_paths.up_port(child.index, up_path) == child.port) return port;
  }
  return onward[up_paths.cable(fabric.switches[at].level - 1, up_path) % onward.size()];
}

// The port by which a packet on `way` leaves `at`, on its way to `leaf` (another switch than `at`).
Port next_port(const Fabric& fabric, const UpPaths& up_paths, const Bearing& bearing, SwitchIndex at, UpPath up_path) {
  const std::vector<Port>& onward = bearing.onward[at];
  if (onward.empty()) return kUnset;
  if (bearing.over[at]) return mirrored_port(fabric, up_paths, onward, at, up_path);
  const Port wanted = bearing.over[up_paths.root(up_path)] ? up_paths.up_port(at, up_path) : Port{0};
  return wanted != 0 ? wanted : onward[up_path % onward.size()];
}

Result<void> check_entries(const Fabric& fabric, std::uint64_t lids) {
  constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 28U; // a byte each; all unicast LIDs at 5,000 switches
  if (lids * fabric.switches.size() <= kMostEntries) return {};
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "tables of " + std::to_string(fabric.switches.size()) + " switches for " +
                                       std::to_string(lids) + " LIDs have more than " + std::to_string(kMostEntries) +
                                       " entries",
                               .remedy = "use fewer switches, or a smaller lmc"});
}

} // namespace

Tables::Tables(const Fabric& fabric, const UpPaths& up_paths, const LidPlan& lids)
    : width_(std::size_t{lids.largest()} + 1), ports_(fabric.switches.size() * width_, kUnset) {
  for (SwitchIndex leaf = 0; leaf < fabric.leaves(); ++leaf) route_to_leaf(fabric, up_paths, lids, leaf);
  for (SwitchIndex target = 0; target < fabric.switches.size(); ++target) route_to_switch(fabric, lids, target);
}

void Tables::route_to_leaf(const Fabric& fabric, const UpPaths& up_paths, const LidPlan& lids, SwitchIndex leaf) {
  std::vector<HostIndex> hosts;
  for (const Peer& peer : fabric.switches[leaf].ports)
    if (peer.kind == Peer::Kind::host) hosts.push_back(peer.index);
  if (hosts.empty()) return;
  const Bearing bearing = bearing_to(fabric, leaf);
  std::vector<UpPath> up_path_of; // [host of the leaf][offset]
  for (const HostIndex host : hosts)
    for (std::uint32_t offset = 0; offset < lids.offsets(); ++offset) up_path_of.push_back(lids.up_path(host, offset));
  std::vector<Port> by_up_path(up_paths.count());
  for (SwitchIndex at = 0; at < fabric.switches.size(); ++at) {
    if (!fabric.switches[at].present) continue;
    if (at != leaf)
      for (UpPath up_path = 0; up_path < up_paths.count(); ++up_path)
        by_up_path[up_path] = next_port(fabric, up_paths, bearing, at, up_path);
    const UpPath* up_path = up_path_of.data();
    for (const HostIndex host : hosts)
      for (std::uint32_t offset = 0; offset < lids.offsets(); ++offset, ++up_path)
        set(at, lids.lid(host, offset), at == leaf ? fabric.hosts[host].leaf_port : by_up_path[*up_path]);
  }
}

// Breadth first from the target.
void Tables::route_to_switch(const Fabric& fabric, const LidPlan& lids, SwitchIndex target) {
  if (!fabric.switches[target].present) return;
  const Lid lid = lids.switch_lid(target);
  set(target, lid, 0);
  std::vector<SwitchIndex> queue{target};
  for (std::size_t next = 0; next < queue.size(); ++next)
    for (const Peer& peer : fabric.switches[queue[next]].ports) {
      if (peer.kind != Peer::Kind::a_switch || port(peer.index, lid) != kUnset) continue;
      set(peer.index, lid, peer.port);
      queue.push_back(peer.index);
    }
}

Result<Subnet> make_subnet(Fabric fabric, std::optional<std::uint32_t> lmc, const LidRule& rule) {
  const std::uint64_t lids_needed = std::uint64_t{fabric.hosts.size()} + fabric.switches.size();
  if (auto good = check_entries(fabric, lids_needed); !good) return std::unexpected(std::move(good).error());
  UpPaths up_paths(fabric);
  auto lids = plan_lids(fabric, up_paths, lmc, rule);
  if (!lids) return std::unexpected(std::move(lids).error());
  if (auto good = check_entries(fabric, lids->largest()); !good) return std::unexpected(std::move(good).error());
  Tables tables(fabric, up_paths, *lids);
  return Subnet{std::move(fabric), std::move(up_paths), std::move(*lids), std::move(tables)};
}

// Where one host of a leaf arrives, all do, at every offset: who can go up at all is sent up by an up-path that comes down again.
Result<void> check_reachable(const Subnet& subnet) {
  const Fabric& fabric = subnet.fabric;
  std::vector<HostIndex> one_of_leaf;
  for (HostIndex host = 0; host < fabric.hosts.size(); ++host)
    if (fabric.hosts[host].present &&
        (one_of_leaf.empty() || fabric.hosts[one_of_leaf.back()].leaf != fabric.hosts[host].leaf))
      one_of_leaf.push_back(host);
  if (one_of_leaf.empty()) return refuse("no host is left");
  for (const HostIndex from : one_of_leaf)
    for (const HostIndex to : one_of_leaf)
      if (!follow(subnet, from, to, subnet.lids.lid(to, 0), [](SwitchIndex, Port) {}))
        return std::unexpected(Error{.code = ErrorCode::unreachable,
                                     .fact = "packets from " + fabric.hosts[from].name + " to " +
                                             fabric.hosts[to].name +
                                             " do not arrive: no path up and down the tree is left"});
  return {};
}

} // namespace heddle::routing
