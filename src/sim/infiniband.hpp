// Simulated InfiniBand: the cables of a routed subnet, with rates and delays; switches forward by the subnet's own tables.
// Not here: trees, LIDs and tables, which are those of src/routing.
#pragma once

#include <cstdint>

#include "heddle/error.hpp"
#include "routing/subnet_text.hpp"
#include "sim/fabric.hpp"

namespace heddle::sim {

struct InfinibandParameters {
  Rate rate{2'000'000'000}; // data rate after coding: 4xDDR
  std::uint32_t mtu = 2048;
  std::uint32_t header_bytes = 30; // LRH 8, BTH 12, ICRC 4, VCRC 2, framing 4
  std::uint32_t lanes = 1;
  std::uint32_t buffer_bytes = 16384;
  std::uint32_t send_engines = 8; // send queues that are served at once, as of several processes
  std::uint32_t cable_metres = 5;
  Picoseconds switch_delay = std::chrono::nanoseconds(200); // 24-port switches of that time
  Picoseconds startup = std::chrono::nanoseconds(300);      // command to first read of memory
  Picoseconds send_latency = std::chrono::nanoseconds(350); // read of memory and adapter
  Picoseconds receive_latency = std::chrono::nanoseconds(250);
  Rate bus; // host bus, each way; 0 = never in the way
  Switching switching = Switching::cut_through;
  std::uint32_t queue_packets = 2; // that a send queue may have read ahead of its link
  Picoseconds metre_delay{kPicosecondsPerMetre};
};

// Node i is host i, switch s and its port p are those of the subnet, under their names; hosts that have failed are absent. Error
// bad_argument: tables of more entries than a simulation should have.
Result<Fabric> infiniband(const routing::Subnet& subnet, const InfinibandParameters& parameters);

// The subnet of a description. Without a word on LIDs each host has one; with lmc=all as many as are of use and as tables can have
// entries for.
Result<Fabric> infiniband(const routing::SubnetText& text, const InfinibandParameters& parameters,
                          routing::ReadText read = routing::read_topology);

} // namespace heddle::sim
