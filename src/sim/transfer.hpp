// What is handed to the simulated network: so many bytes from one node's memory to another's.
#pragma once

#include <cstdint>

#include "sim/fabric.hpp"

namespace heddle::sim {

inline constexpr std::uint16_t kAnyEngine = 0xffff;

enum class Payload : std::uint8_t {
  memory,    // read from the source's memory through its bus, packet by packet
  immediate, // came with the command: control packets, acknowledgements
};

struct Transfer {
  std::uint32_t source = 0;    // node
  std::uint32_t target = 0;    // node
  std::uint64_t bytes = 0;     // 0 is a packet with nothing but its header
  std::uint64_t cookie = 0;    // comes back in notices
  std::uint32_t lid = 0;       // the path, where tables forward: one of the target's LIDs; 0 = its first
  std::uint32_t route = kNone; // or a route from add_route, which wins over tables and function
  std::uint16_t send_engine = 0;
  std::uint16_t receive_engine = kAnyEngine; // where the fabric lets senders choose; any = the send engine's number
  std::uint16_t lane = 0;
  Payload payload = Payload::memory;
};

} // namespace heddle::sim
