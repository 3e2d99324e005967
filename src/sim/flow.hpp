// What is handed to a simulated network, of packets or fluid: so many bytes from one node's memory to another's; and what
// comes back.
#pragma once

#include <cstdint>

#include "heddle/error.hpp"
#include "sim/fabric.hpp"

namespace heddle::sim {

inline constexpr std::uint16_t kAnyEngine = 0xffff;

enum class Payload : std::uint8_t {
  memory,    // read from the source's memory through its bus, packet by packet
  immediate, // came with the command: control packets, acknowledgements
};

struct Flow {
  std::uint32_t source = 0;    // node
  std::uint32_t target = 0;    // node
  std::uint64_t bytes = 0;     // 0 is a packet with nothing but its header
  std::uint64_t cookie = 0;    // comes back in notices
  std::uint32_t lid = 0;       // the path, where tables forward: one of the target's LIDs; 0 = its first
  std::uint32_t route = kNone; // or a route from add_route, which wins over tables and function
  std::uint32_t group = kNone; // or many targets at once, from add_group; `target` is not read
  std::uint16_t send_engine = 0;
  std::uint16_t receive_engine = kAnyEngine; // where the fabric lets senders choose; any = the send engine's number
  std::uint16_t lane = 0;
  Payload payload = Payload::memory;
};

// Who is told what happens. Calls come while time moves; they may submit and set timers, and must not run the network.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void departed(const Flow& flow) = 0; // the source's memory may be used again
  virtual void arrived(const Flow& flow) = 0;  // all bytes are in the target's memory
  virtual void timer(std::uint64_t cookie) = 0;

  // False: departed need not be called, which saves the events for it. Asked when the listener is set.
  [[nodiscard]] virtual bool hears_departures() const { return true; }
};

// Refuses what names a node, engine, lane or LID that is not there, or a LID that leads nowhere from the source.
Result<void> check_flow(const Fabric& fabric, const Wiring& wiring, const Flow& flow);

// With the LID and the receive engine that stand for "any".
Flow with_defaults(const Fabric& fabric, Flow flow);

} // namespace heddle::sim
