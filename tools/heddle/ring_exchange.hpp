// An all-to-all of processes in rounds, straight on a simulated network: what the order of partners and the choice of paths do to
// switches, with nothing of the library in between. As with large messages over MPI, a process goes on to its next partner when it has
// sent and received, and a message begins when both its ends have come to it. What stays within a node takes no time.
#pragma once

#include "sim/network_model.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace heddle::tool {

// Whom a process meets, one after the other; ranks go node by node.
enum class RingOrder : std::uint8_t {
  plain,     // rank r sends to r + 1, r + 2, ...: the processes of a node send to two nodes at once
  two_level, // node distance by node distance, and within each by the distance within a node: to one node at a time
};

struct RingExchange {
  std::vector<std::uint32_t> nodes; // of the fabric
  std::uint32_t processes = 1;      // on each
  std::uint64_t bytes = 0;          // from each process to each
  RingOrder order = RingOrder::two_level;
  // The LIDs that a message goes by, from the i-th node to the j-th: one, or parts of equal size by several at once.
  std::function<std::vector<std::uint32_t>(std::uint32_t from, std::uint32_t to)> lids;
  bool lane_for_each_target = false; // so that no packet waits behind one that goes elsewhere
};

// Microseconds until all have sent and received everything. The fabric has a send engine for each process and part. Error as
// NetworkModel::submit and run.
Result<double> run_ring_exchange(sim::NetworkModel& network, const RingExchange& exchange);

} // namespace heddle::tool
