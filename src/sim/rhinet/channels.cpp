#include "sim/rhinet/channels.hpp"

#include <algorithm>

namespace heddle::sim {
namespace {

// Cables between switches by where they start.
std::vector<std::vector<std::uint32_t>> links_by_port(const Fabric& fabric) {
  std::vector<std::vector<std::uint32_t>> links(fabric.switches.size());
  for (std::size_t at = 0; at < links.size(); ++at) links[at].assign(fabric.switches[at].ports, kNone);
  for (std::uint32_t link = 0; link < fabric.links.size(); ++link)
    if (fabric.links[link].from.kind == End::Kind::switch_)
      links[fabric.links[link].from.index][fabric.links[link].from.port] = link;
  return links;
}

} // namespace

std::uint32_t channels_needed(const Fabric& fabric, const Tables& tables, RhinetRouting routing) {
  if (routing != RhinetRouting::structured && routing != RhinetRouting::reduced) return 1;
  const auto links = links_by_port(fabric);
  const std::vector<bool> up = ways_up(fabric);
  std::uint32_t most = 0;
  for (std::uint32_t start = 0; start < fabric.switches.size(); ++start)
    for (std::uint32_t node = 0; node < fabric.nodes; ++node) {
      std::uint32_t at = start;
      std::uint32_t climbed = 0;
      bool fell = false; // the last step led down
      bool first = true;
      for (std::size_t steps = 0; steps < fabric.switches.size(); ++steps) {
        const std::uint16_t port = tables.port(at, tables.base[node]);
        const std::uint32_t link = port == kNoPort ? kNone : links[at][port];
        if (link == kNone || fabric.links[link].to.kind == End::Kind::node) break;
        if (routing == RhinetRouting::structured ? !first : fell && up[link]) ++climbed;
        fell = !up[link];
        first = false;
        at = fabric.links[link].to.index;
      }
      most = std::max(most, climbed);
    }
  return most + 1;
}

RhinetTables rhinet_tables(const Fabric& fabric, RhinetRouting routing, std::uint32_t channels) {
  RhinetTables result{.tables = shortest_ways(fabric, routing == RhinetRouting::up_down), .routing = routing};
  result.needed = channels_needed(fabric, result.tables, routing);
  if (result.needed > channels) {
    result.routing = RhinetRouting::up_down;
    result.tables = shortest_ways(fabric, true);
  }
  return result;
}

} // namespace heddle::sim
