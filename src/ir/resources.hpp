// What a network has to offer to a whole pattern of puts, as plain numbers: src/schedule plans with them, translators give them.
// Rates are bytes per nanosecond, that is GB/s; 0 stands for no limit of its own.
#pragma once

#include <cstdint>

namespace heddle::ir {

struct Resources {
  std::uint32_t engines = 1;         // of this node, that send at the same time
  std::uint32_t receive_engines = 1; // of every other node
  double engine_rate = 0;            // of one engine alone
  double node_rate = 0;              // of all engines of a node together
  double startup_ns = 0;             // that an engine spends on a put before its first byte moves
  double queue_ns = 0;               // that the processor needs to turn from one engine's queue to another's
  bool balances_itself = false;      // commands that name no engine are given to the one with least to do
};

// One direction of a cable on a put's way. The number names it everywhere in the fabric.
struct PathLink {
  std::uint32_t link = 0;
  double rate = 0;
};

} // namespace heddle::ir
