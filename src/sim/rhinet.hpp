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
  // Shortest ways, over channels that a packet climbs one by one so that none waits for a lower one; where a way needs more than there
  // are, up_down.
  structured, // structured channels: with every cable between switches
  reduced,    // reduced structured channels: only where it turns from down to up
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
  std::uint32_t channels = 1; // of each lane, to climb through
  // The virtual-channel cache: buffers on the chip for each input, which its channels share; what finds none goes through memory beside
  // the chip. 0: one for every channel.
  std::uint32_t cached = 0;
  Picoseconds spill = std::chrono::nanoseconds(500); // a packet into that memory and out of it
  // Cycles of the PCI bus. Where a count comes from: [R] the report says it; [T] it follows from a difference of two of the twelve
  // times the report measured, split into the steps that it describes; [C] chosen so that 4 KiB move at the 37 MB/s that it
  // measured. Without a mark: as such a bus works.
  std::uint32_t pci_start = 2;       // address, and the target's answer
  std::uint32_t primitive_words = 8; // [R] the arguments of push, and the word that starts it
  std::uint32_t dma_set_up = 10;     // [T] address and count into the engine, request, grant
  std::uint32_t read_latency = 7;    // [T] of each burst from memory, its address included
  std::uint32_t burst_words = 8;     // [R] a plain read is broken off every 32 bytes
  std::uint32_t write_start = 1;     // address
  std::uint32_t into_pci = 2;        // [T] flip-flops between two clocks
  // Of the primitive controller and its local bus.
  std::uint32_t local_start = 2;        // [T] of a transaction
  std::uint32_t decode = 4;             // [T] which primitive, may this process
  std::uint32_t area = 8;               // [T] area id and offset to address, at the receiver
  std::uint32_t translate = 8;          // [T] TLB
  std::uint32_t prepare = 6;            // [T] route, header, DMA address
  std::uint32_t header_words = 4;       // header over the local bus, at the receiver
  std::uint32_t header_out = 2;         // [T] header into the sending FIFO
  std::uint32_t dma_request = 4;        // [T] over the path beside the local bus that starts DMA [R]
  std::uint32_t through = 3;            // [T] a word from local bus to sending FIFO
  std::uint32_t notice_end = 5;         // [T] from the last word to the request for the flag
  std::uint32_t into_controller = 2;    // [T] flip-flops between two clocks
  std::uint32_t almost_empty_words = 4; // [C] left in the FIFO when the next line is fetched
  // Of the network.
  std::uint32_t into_network = 4; // [T] flip-flops, and 32 bits into 8
  Picoseconds metre_delay{kPicosecondsPerMetre};
  std::uint32_t prepared = 2; // packets: the one that moves next, and one whose DMA has been asked for
  // Of the maintenance processors (an H8 beside each switch). The report does not say; milliseconds are what its users accept.
  Picoseconds handshake_period = std::chrono::microseconds(100);
  std::uint32_t missed_handshakes = 3; // until a cable counts as cut
  Picoseconds message_processing = std::chrono::microseconds(20);
};

// Switches with nodes as the topology says; ports, cables and rates that it leaves open come from the parameters.
Result<Fabric> rhinet(const RhinetParameters& parameters, const Topology& topology);

} // namespace heddle::sim
