#include "routing/fabric.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/nearest.hpp"
#include "base/refusal.hpp"

namespace heddle::routing {
namespace {

void set_port(Switch& one, Port port, Peer peer) {
  if (one.ports.size() <= port) one.ports.resize(std::size_t{port} + 1);
  one.ports[port] = peer;
}

void unplug(Fabric& fabric, SwitchIndex one, Port port) {
  const Peer peer = fabric.switches[one].ports[port];
  fabric.switches[one].ports[port] = {};
  if (peer.kind == Peer::Kind::a_switch) fabric.switches[peer.index].ports[peer.port] = {};
  if (peer.kind == Peer::Kind::host) fabric.hosts[peer.index].present = false;
}

template <typename Things>
std::optional<std::uint32_t> find(const Things& things, std::string_view name) {
  const auto found = std::ranges::find_if(things, [&](const auto& thing) { return thing.name == name; });
  if (found == things.end()) return {};
  return static_cast<std::uint32_t>(found - things.begin());
}

Error unknown(const Fabric& fabric, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Switch& one : fabric.switches) known.push_back(one.name);
  for (const Host& host : fabric.hosts) known.push_back(host.name);
  return bad_argument("the fabric has no '" + std::string(name.substr(0, 80)) + "', did you mean " +
                      std::string(base::nearest(name, known)) + "?");
}

// The ports of `one` towards `other`, in order.
std::vector<Port> cables(const Fabric& fabric, SwitchIndex one, SwitchIndex other) {
  std::vector<Port> found;
  const auto& ports = fabric.switches[one].ports;
  for (std::size_t port = 1; port < ports.size(); ++port)
    if (ports[port].kind == Peer::Kind::a_switch && ports[port].index == other)
      found.push_back(static_cast<Port>(port));
  return found;
}

void fail_switch(Fabric& fabric, SwitchIndex index) {
  Switch& one = fabric.switches[index];
  for (std::size_t port = 1; port < one.ports.size(); ++port) unplug(fabric, index, static_cast<Port>(port));
  one.present = false;
}

// `text` is NAME-NAME[:P]; a name may hold dashes itself, so every dash is tried.
Result<void> fail_cable(Fabric& fabric, std::string_view text) {
  std::uint32_t which = 0;
  std::string_view pair = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), which);
    if (status != std::errc{} || end != digits.data() + digits.size() || which == 0)
      return refuse("'" + std::string(text.substr(0, 80)) + "' has no cable number from 1 after its colon");
    pair = text.substr(0, colon);
  }
  for (std::size_t dash = pair.find('-'); dash != std::string_view::npos; dash = pair.find('-', dash + 1)) {
    const auto one = find(fabric.switches, pair.substr(0, dash));
    const auto other = find(fabric.switches, pair.substr(dash + 1));
    if (!one || !other) continue;
    const std::vector<Port> ports = cables(fabric, *one, *other);
    if (ports.empty() || which > ports.size())
      return refuse("'" + std::string(pair) + "' has " + std::to_string(ports.size()) + " cables, not one called '" +
                    std::string(text) + "'");
    unplug(fabric, *one, ports[which == 0 ? 0 : which - 1]);
    return {};
  }
  return std::unexpected(unknown(fabric, text));
}

// Distance from the nearest host, in switches, for every switch; nullopt where none is reachable.
std::vector<std::optional<std::uint32_t>> distances(const Fabric& graph) {
  std::vector<std::optional<std::uint32_t>> level(graph.switches.size());
  std::vector<SwitchIndex> queue;
  for (const Host& host : graph.hosts) {
    if (level[host.leaf]) continue;
    level[host.leaf] = 0;
    queue.push_back(host.leaf);
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const SwitchIndex here = queue[next];
    for (const Peer& peer : graph.switches[here].ports) {
      if (peer.kind != Peer::Kind::a_switch || level[peer.index]) continue;
      level[peer.index] = *level[here] + 1;
      queue.push_back(peer.index);
    }
  }
  return level;
}

Result<void> check_one_part(const Fabric& graph) {
  std::vector<bool> seen(graph.switches.size());
  std::vector<SwitchIndex> queue{graph.hosts.front().leaf};
  seen[queue.front()] = true;
  for (std::size_t next = 0; next < queue.size(); ++next)
    for (const Peer& peer : graph.switches[queue[next]].ports) {
      if (peer.kind != Peer::Kind::a_switch || seen[peer.index]) continue;
      seen[peer.index] = true;
      queue.push_back(peer.index);
    }
  const auto missing = std::ranges::find(seen, false);
  if (missing == seen.end()) return {};
  return refuse("the fabric is in several parts: nothing links switch '" +
                graph.switches[graph.hosts.front().leaf].name + "' to switch '" +
                graph.switches[static_cast<std::size_t>(missing - seen.begin())].name + "'");
}

Result<void> set_levels(Fabric& graph) {
  const auto level = distances(graph);
  for (std::size_t i = 0; i < graph.switches.size(); ++i) {
    if (!level[i]) return refuse("no host is connected to switch '" + graph.switches[i].name + "'");
    graph.switches[i].level = *level[i];
    graph.levels = std::max(graph.levels, *level[i] + 1);
  }
  for (const Switch& one : graph.switches) {
    bool up = false;
    for (const Peer& peer : one.ports) {
      if (peer.kind != Peer::Kind::a_switch) continue;
      const Switch& other = graph.switches[peer.index];
      up = up || other.level > one.level;
      if (other.level == one.level)
        return refuse("not a fat tree: switches '" + one.name + "' and '" + other.name + "' are both " +
                      std::to_string(one.level) + " above the leaves and linked");
    }
    if (!up && one.level + 1 < graph.levels)
      return refuse("not a fat tree: switch '" + one.name + "' has no link to a higher level, others " +
                    std::to_string(one.level) + " above the leaves have");
  }
  return {};
}

// For each leaf the smallest GUID among its ancestors of every level, topmost first, then its own: leaves of one subtree sort
// together, whatever order the subnet was discovered in.
std::vector<std::vector<std::uint64_t>> leaf_keys(const Fabric& graph) {
  std::vector<std::vector<std::uint64_t>> keys(graph.switches.size());
  for (std::size_t leaf = 0; leaf < graph.switches.size(); ++leaf) {
    if (graph.switches[leaf].level != 0) continue;
    std::vector<SwitchIndex> here{static_cast<SwitchIndex>(leaf)};
    while (!here.empty()) {
      std::uint64_t smallest = UINT64_MAX;
      std::vector<SwitchIndex> above;
      for (const SwitchIndex one : here) {
        smallest = std::min(smallest, graph.switches[one].guid);
        for (const Peer& peer : graph.switches[one].ports)
          if (graph.is_up(graph.switches[one].level, peer)) above.push_back(peer.index);
      }
      std::ranges::sort(above);
      above.erase(std::ranges::unique(above).begin(), above.end());
      keys[leaf].insert(keys[leaf].begin(), smallest);
      here = std::move(above);
    }
  }
  return keys;
}

// position[old index] = new index
std::vector<std::uint32_t> positions(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> position(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  return position;
}

Fabric reorder(const Fabric& graph, const std::vector<std::uint32_t>& hosts,
               const std::vector<std::uint32_t>& switches) {
  const auto host_at = positions(hosts);
  const auto switch_at = positions(switches);
  Fabric result;
  result.levels = graph.levels;
  for (const std::uint32_t old : hosts) {
    result.hosts.push_back(graph.hosts[old]);
    result.hosts.back().leaf = switch_at[graph.hosts[old].leaf];
  }
  for (const std::uint32_t old : switches) {
    result.switches.push_back(graph.switches[old]);
    for (Peer& peer : result.switches.back().ports) {
      if (peer.kind == Peer::Kind::host) peer.index = host_at[peer.index];
      if (peer.kind == Peer::Kind::a_switch) peer.index = switch_at[peer.index];
    }
  }
  return result;
}

} // namespace

SwitchIndex Fabric::first_of_level(std::uint32_t level) const {
  const auto first = std::ranges::partition_point(switches, [&](const Switch& one) { return one.level < level; });
  return static_cast<SwitchIndex>(first - switches.begin());
}

void connect(Fabric& fabric, SwitchIndex one, Port one_port, SwitchIndex other, Port other_port) {
  set_port(fabric.switches[one], one_port, {Peer::Kind::a_switch, other_port, other});
  set_port(fabric.switches[other], other_port, {Peer::Kind::a_switch, one_port, one});
}

void connect_host(Fabric& fabric, HostIndex host, SwitchIndex leaf, Port leaf_port) {
  fabric.hosts[host].leaf = leaf;
  fabric.hosts[host].leaf_port = leaf_port;
  set_port(fabric.switches[leaf], leaf_port, {Peer::Kind::host, fabric.hosts[host].port, host});
}

Result<Fabric> arrange(Fabric graph) {
  if (graph.hosts.empty()) return refuse("the fabric has no hosts");
  if (auto done = check_one_part(graph); !done) return std::unexpected(std::move(done).error());
  if (auto done = set_levels(graph); !done) return std::unexpected(std::move(done).error());
  const auto keys = leaf_keys(graph);
  std::vector<std::uint32_t> switches(graph.switches.size());
  std::iota(switches.begin(), switches.end(), 0U);
  std::ranges::sort(switches, [&](std::uint32_t a, std::uint32_t b) {
    const Switch& x = graph.switches[a];
    const Switch& y = graph.switches[b];
    if (x.level != y.level) return x.level < y.level;
    if (keys[a] != keys[b]) return keys[a] < keys[b];
    return x.guid < y.guid;
  });
  const auto position = positions(switches);
  std::vector<std::uint32_t> hosts(graph.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0U);
  std::ranges::sort(hosts, {}, [&](std::uint32_t host) {
    return std::pair(position[graph.hosts[host].leaf], graph.hosts[host].leaf_port);
  });
  return reorder(graph, hosts, switches);
}

Result<void> fail(Fabric& fabric, std::string_view list) {
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view name = list.substr(0, comma);
    if (const auto host = find(fabric.hosts, name)) {
      const Host& one = fabric.hosts[*host];
      if (one.present) unplug(fabric, one.leaf, one.leaf_port);
    } else if (const auto one = find(fabric.switches, name)) {
      fail_switch(fabric, *one);
    } else if (auto cut = fail_cable(fabric, name); !cut) {
      return cut;
    }
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
}

Links::Links(const Fabric& fabric) : first_{0} {
  for (const Switch& one : fabric.switches) first_.push_back(first_.back() + static_cast<LinkIndex>(one.ports.size()));
}

std::string Links::name(const Fabric& fabric, LinkIndex link) const {
  const auto after = std::ranges::upper_bound(first_, link);
  const auto from = static_cast<SwitchIndex>(after - first_.begin() - 1);
  const Switch& one = fabric.switches[from];
  const std::size_t port = link - first_[from];
  const Peer& peer = one.ports[port];
  if (peer.kind == Peer::Kind::host) return one.name + "->" + fabric.hosts[peer.index].name;
  if (peer.kind == Peer::Kind::nothing) return one.name + " port " + std::to_string(port);
  std::string text = one.name + "->" + fabric.switches[peer.index].name;
  if (cables(fabric, from, peer.index).size() > 1) text += " (port " + std::to_string(port) + ")";
  return text;
}

} // namespace heddle::routing
