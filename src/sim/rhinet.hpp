// RHiNET-1 as a fabric: PCs on PCI interfaces whose primitive controller is slow programmable logic, joined by 8 x 8 switches
// with virtual channels in any topology. The finer model of its interfaces and switches is rhinet/network.hpp; what is
// here also gives the general models their figures.
#pragma once

#include <cstdint>

#include "heddle/error.hpp"
#include "sim/fabric.hpp"
#include "sim/topology.hpp"

namespace heddle::sim {

enum class RhinetRouting : std::uint8_t {
  up_down,  // never down and up again, as seen from switch 0: free of deadlock on any topology
  shortest, // may deadlock where the switches form a cycle
};

struct RhinetParameters {
  Picoseconds pci_cycle{30'000};        // 33 MHz, 32 bits
  Picoseconds controller_cycle{62'500}; // 16 MHz, 32 bits; 25 MHz = 40'000 is the report's third remedy
  Rate rate{80'000'000};                // network: 80 MHz, 8 bits; its link can do 133 MHz
  bool overlap = false;                 // remedy 1: start either bus as soon as the other starts
  bool read_multiple = false;           // remedy 2: reads of memory are not broken off every 32 bytes
  std::uint32_t mtu = 4096;
  std::uint32_t header_bytes = 16;
  std::uint32_t lanes = 2;
  std::uint32_t buffer_bytes = 16384;
  Picoseconds switch_delay = std::chrono::nanoseconds(150); // 6 steps of the switch's 40 MHz, 18-bit inside
  std::uint32_t cable_metres = 20;                          // unless a topology says otherwise
  RhinetRouting routing = RhinetRouting::up_down;
};

// Switches with nodes as the topology says; ports, cables and rates that it leaves open come from the parameters.
Result<Fabric> rhinet(const RhinetParameters& parameters, const Topology& topology);

} // namespace heddle::sim
