// The channels that keep RHiNET's shortest ways from waiting for each other in a cycle.
//
// Structured channels (after Merlin and Schweitzer's structured buffer pool): a packet that has passed h cables between switches is on
// channel h, so it waits only for channels above its own. It takes as many channels as the longest way has cables. Reduced: all cables are
// directed up or down as in up_down routing, and on one channel a packet goes up first and then only down, which makes no cycle; it
// climbs where it would turn from down to up. That takes as many channels as a way has such turns, and one.
#pragma once

#include <cstdint>

#include "sim/rhinet.hpp"

namespace heddle::sim {

// Over tables of any kind, for the way between any two nodes: 1 where packets never climb.
std::uint32_t channels_needed(const Fabric& fabric, const Tables& tables, RhinetRouting routing);

struct RhinetTables {
  Tables tables;
  RhinetRouting
      routing{}; // which they follow: what was asked for, or up_down where that needs more channels than there are
  std::uint32_t needed = 1; // channels of what was asked for
};
RhinetTables rhinet_tables(const Fabric& fabric, RhinetRouting routing, std::uint32_t channels);

} // namespace heddle::sim
