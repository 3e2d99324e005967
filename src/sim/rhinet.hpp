// Simulated RHiNET-1: PCs on PCI interfaces whose primitive controller is slow programmable logic, joined by 8 x 8 switches with
// virtual channels in any topology. The interface is a pipeline of three clocks: PCI bus, controller (which is also the
// local bus) and network.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/error.hpp"
#include "sim/fabric.hpp"
#include "sim/topology.hpp"

namespace heddle::sim {

enum class RhinetRouting : std::uint8_t {
  up_down,  // never down and up again, as seen from switch 0: free of deadlock on any topology
  shortest, // may deadlock where the switches form a circle
};

struct RhinetParameters {
  Picoseconds pci_cycle{30'000};        // 33 MHz, 32 bits
  Picoseconds controller_cycle{62'500}; // 16 MHz, 32 bits; 25 MHz = 40'000 is the report's third remedy
  Rate rate{80'000'000};                // network: 80 MHz, 8 bits
  bool overlap = false;                 // remedy 1: start either bus as soon as the other starts
  bool read_multiple = false;           // remedy 2: reads of memory are not broken off every 32 bytes
  std::uint32_t mtu = 4096;
  std::uint32_t header_bytes = 16;
  std::uint32_t lanes = 2;
  std::uint32_t buffer_bytes = 16384;
  Picoseconds switch_delay = std::chrono::nanoseconds(310);
  std::uint32_t cable_metres = 20; // unless a topology says otherwise
  RhinetRouting routing = RhinetRouting::up_down;
};

// The report's timeline of a push: when each part starts, in its order.
enum class PushMoment : std::uint8_t {
  pci_primitive_write,
  local_primitive_write,
  data_dma_request,
  header_to_network,
  pci_data_dma,
  data_on_local_bus,
  data_to_network,
  flag_dma_request,
  pci_flag_write,
  receiver_dma_request,
  receiver_data_on_local_bus,
  receiver_pci_data_dma,
};
inline constexpr std::size_t kPushMoments = 12;

// Of a push of up to 64 bytes through `network` (from the first byte out of the sender to the first into the receiver). The
// interface's figures come from the same cycle counts, so the simulated push passes through these moments.
std::array<Picoseconds, kPushMoments> push_timeline(const RhinetParameters& parameters, Picoseconds network);

// Switches with nodes as the topology says; ports, cables and rates that it leaves open come from the parameters.
Result<Fabric> rhinet(const RhinetParameters& parameters, const Topology& topology);

} // namespace heddle::sim
