// Simulated InfiniBand: K-ary N-trees of 2K-port switches, forwarding by destination LID from tables.
// Not here: methods that choose tables or LIDs; tables may be replaced by any others before the network is made.
#pragma once

#include <cstdint>

#include "heddle/error.hpp"
#include "routing/lid_rule.hpp"
#include "sim/fabric.hpp"

namespace heddle::sim {

// The tree with 2 * arity^levels places for nodes. Node i is on leaf i / arity. Level 0 are the leaves; a switch's ports
// 0..arity-1 lead down, the others up; the roots' all lead down. A root's number is the choice of uplinks that leads there in
// digits of base arity, the leaf's uplink the lowest, as in src/routing.
struct Tree {
  std::uint32_t arity = 0;
  std::uint32_t levels = 0;

  [[nodiscard]] std::uint64_t places() const;
  [[nodiscard]] std::uint32_t switches_at(std::uint32_t level) const;
  [[nodiscard]] std::uint32_t first_switch(std::uint32_t level) const; // index of the level's first
};

struct InfinibandParameters {
  Tree tree;
  std::uint32_t nodes = 0; // 0 = as many as there are places
  std::uint32_t lmc = 0;   // every node has 2^lmc LIDs
  routing::LidRule lids = routing::kConventionalLids;
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
};

using routing::base_lid;
using routing::kLargestLmc;
using routing::kLargestUnicastLid;

// Going up, a packet takes a digit of its root's number at each level, and `rule` says which root belongs to which LID. LIDs
// past the number of roots stay unknown.
Tables lid_tables(const Tree& tree, std::uint32_t nodes, std::uint32_t lmc, const routing::LidRule& rule);

// Error bad_argument names the parameter.
Result<Fabric> infiniband(const InfinibandParameters& parameters);

} // namespace heddle::sim
