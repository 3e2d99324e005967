#include "sim/rhinet/map.hpp"

#include <algorithm>
#include <functional>

#include "sim/rhinet/channels.hpp"

namespace heddle::sim {
namespace {

template <typename Range, typename Projection>
std::optional<std::uint32_t> place_of(const Range& range, PhysicalId id, Projection projection) {
  const auto found = std::ranges::lower_bound(range, id, {}, projection);
  if (found == range.end() || std::invoke(projection, *found) != id) return std::nullopt;
  return static_cast<std::uint32_t>(found - range.begin());
}

std::optional<std::uint32_t> switch_at(const Map& map, PhysicalId id) {
  return place_of(map.switches, id, &SwitchDescription::id);
}
std::optional<std::uint32_t> node_at(const Map& map, PhysicalId id) {
  return place_of(map.nodes, id, std::identity{});
}

// A cable between switches counts only if both ends have seen it.
bool seen_by_both(const Map& map, const SwitchDescription& here, std::uint32_t port, const Neighbour& there) {
  const auto other = switch_at(map, there.id);
  if (!other) return false;
  const auto& back = map.switches[*other].ports[there.port];
  return back && *back == Neighbour{End::Kind::switch_, here.id, port};
}

} // namespace

std::uint16_t Map::port(PhysicalId at, PhysicalId node) const {
  const auto from = switch_at(*this, at);
  const auto to = node_at(*this, node);
  return from && to ? tables.port(*from, *to + 1) : kNoPort;
}

bool Map::leads_up(PhysicalId at, std::uint32_t port) const {
  return std::ranges::binary_search(up, std::pair(at, port));
}

std::shared_ptr<const Map> make_map(const Epoch& epoch, std::vector<SwitchDescription> switches,
                                    const TableRule& rule) {
  auto map = std::make_shared<Map>();
  map->epoch = epoch;
  map->switches = std::move(switches);
  std::ranges::sort(map->switches, {}, &SwitchDescription::id);
  for (const SwitchDescription& each : map->switches) {
    for (const auto& neighbour : each.ports) {
      if (neighbour && neighbour->kind == End::Kind::node) map->nodes.push_back(neighbour->id);
    }
  }
  std::ranges::sort(map->nodes);

  Fabric seen;
  seen.nodes = static_cast<std::uint32_t>(map->nodes.size());
  for (std::uint32_t at = 0; at < map->switches.size(); ++at) {
    const SwitchDescription& here = map->switches[at];
    seen.switches.push_back({static_cast<std::uint32_t>(here.ports.size()), Picoseconds{0}});
    for (std::uint32_t port = 0; port < here.ports.size(); ++port) {
      const auto& there = here.ports[port];
      if (!there) continue;
      if (there->kind == End::Kind::node) {
        seen.connect(switch_end(at, port), node_end(*node_at(*map, there->id)), {}, Picoseconds{0});
      } else if (seen_by_both(*map, here, port, *there)) {
        seen.links.push_back(
            {switch_end(at, port), switch_end(*switch_at(*map, there->id), there->port), {}, Picoseconds{0}});
      }
    }
  }
  RhinetTables drawn = rhinet_tables(seen, rule.routing, rule.channels);
  map->tables = std::move(drawn.tables);
  map->routing = drawn.routing;
  map->channels_needed = drawn.needed;
  const std::vector<bool> up = ways_up(seen);
  for (std::size_t link = 0; link < seen.links.size(); ++link)
    if (up[link]) map->up.emplace_back(map->switches[seen.links[link].from.index].id, seen.links[link].from.port);
  std::ranges::sort(map->up);
  return map;
}

} // namespace heddle::sim
