// A fabric as plain data: nodes with interfaces, switches, links, and how packets find their way. Builders make it
// (infiniband.hpp, tofu.hpp, rhinet.hpp), the packet model (network.hpp) and the fluid model (fluid.hpp) run on it.
// Not here: anything that changes during a simulation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/error.hpp"
#include "sim/units.hpp"

namespace heddle::sim {

inline constexpr std::uint32_t kNone = 0xffff'ffff;
inline constexpr std::uint16_t kNoPort = 0xffff;
inline constexpr std::uint32_t kMostLanes = 64; // a link keeps the set of its waiting lanes in one word

// One side of a link. A node's port p carries both its p-th way out and its p-th way in.
struct End {
  enum class Kind : std::uint8_t { node, switch_ };
  Kind kind = Kind::node;
  std::uint32_t index = 0;
  std::uint32_t port = 0;

  bool operator==(const End&) const = default;
};
[[nodiscard]] constexpr End node_end(std::uint32_t node, std::uint32_t port = 0) {
  return {End::Kind::node, node, port};
}
[[nodiscard]] constexpr End switch_end(std::uint32_t index, std::uint32_t port) {
  return {End::Kind::switch_, index, port};
}

// One direction of a cable.
struct Link {
  End from;
  End to;
  Rate rate;
  Picoseconds delay{0}; // of the first bit; credits take as long on their way back
};

struct Switch {
  std::uint32_t ports = 0;
  Picoseconds delay{0}; // from the first bit in to the first bit out, when nothing is in the way
};

// How long a part of an interface works on one piece of data; what is zero costs nothing.
struct Stage {
  Picoseconds fixed{0};
  Rate rate;
  std::uint32_t block_bytes = 0; // a bus that moves whole blocks: ceil(bytes / block_bytes) * per_block
  Picoseconds per_block{0};

  [[nodiscard]] Picoseconds time(std::uint32_t bytes) const;
  // Bytes per second over pieces of this size; 0 where there is no limit.
  [[nodiscard]] double rate_at(std::uint32_t bytes) const;
};

// What every node of a fabric has between its memory and its links.
// Send: command -> startup -> per packet: read_bus and send engine at once -> send_latency -> queue -> link.
// Receive: link -> engine and write_bus at once -> receive_latency -> memory, and the notice of arrival.
struct Interface {
  std::uint32_t ports = 1;         // each has one link out, one link in and one receive engine
  std::uint32_t send_engines = 1;  // engine e feeds port e mod ports
  std::uint32_t queue_packets = 2; // that an engine may have read ahead of its link
  Picoseconds startup{0};
  Picoseconds queue_access{
      0}; // that the processor takes to turn from one engine's queue to another's; the network itself does not know it
  Picoseconds send_latency{0};
  Picoseconds completion_latency{0}; // from the last byte read to the notice of departure
  Picoseconds receive_latency{0};
  Stage send;
  Stage receive;
  Stage read_bus;       // shared by all send engines
  Stage write_bus;      // shared by all receive engines
  bool one_bus = false; // reads and writes share read_bus's time, as on PCI
};

enum class Switching : std::uint8_t { cut_through, store_and_forward };

// What a link does when a packet comes in more slowly than it could go out.
enum class Gaps : std::uint8_t {
  wait, // it starts late enough to send without a gap, and serves others until then
  fill, // it starts at once and sends idle symbols in between
};

struct PacketRules {
  std::uint32_t mtu = 2048; // largest payload
  std::uint32_t header_bytes = 0;
  std::uint32_t lanes = 1;
  std::uint32_t buffer_bytes = 16384; // at the end of each link, for each lane
  Switching switching = Switching::cut_through;
  Gaps gaps = Gaps::wait;
};

// Where a packet goes.
struct Heading {
  std::uint32_t node = 0; // target
  std::uint32_t lid = 0;  // the table entry to follow
  std::uint16_t port = 0; // of the target node, where the fabric lets senders choose
  std::uint16_t lane = 0; // it is on now
};

// Where it goes next.
struct Hop {
  std::uint32_t port = 0;
  std::uint32_t lane = 0;
};

// Destination LID -> output port, for every switch.
struct Tables {
  std::uint32_t lids = 0;           // rows per switch; LID 0 is never used
  std::vector<std::uint16_t> ports; // [switch * lids + lid]; kNoPort where that LID is unknown
  std::vector<std::uint32_t> owner; // [lid] -> node, kNone where nobody has it
  std::vector<std::uint32_t> base;  // [node] -> its first LID

  [[nodiscard]] std::uint16_t port(std::uint32_t at, std::uint32_t lid) const {
    return ports[std::size_t{at} * lids + lid];
  }
};

// For fabrics that compute the way: a pure function of the switch and the heading, over data that the fabric owns.
struct RouteFunction {
  using Call = Hop (*)(const void* data, std::uint32_t at, const Heading& heading);
  Call call = nullptr;
  std::shared_ptr<const void> data;
};

struct RhinetParameters;

struct Fabric {
  std::string name;   // as it would be written on a command line
  std::string subnet; // of InfiniBand: what routing calls it, to plan paths on
  std::uint32_t nodes = 0;
  std::vector<Switch> switches;
  std::vector<Link> links;
  Interface interface;
  PacketRules packets;
  Tables tables; // used when `function` is empty
  RouteFunction function;
  std::shared_ptr<const RhinetParameters> rhinet; // where RHiNET's own, finer model can be used instead of all this
  std::vector<std::string> node_names;            // empty, or one per node
  std::vector<std::string> switch_names;          // empty, or one per switch
  std::vector<bool> absent;                       // empty, or by node: out of order, without a link

  // Both directions of a cable.
  void connect(End a, End b, Rate rate, Picoseconds delay);

  [[nodiscard]] bool is_absent(std::uint32_t node) const { return node < absent.size() && absent[node]; }

  [[nodiscard]] std::string name_of(const End& end) const; // "switch 3 port 1"
  [[nodiscard]] std::string name_of_node(std::uint32_t node) const;
  [[nodiscard]] std::string name_of_switch(std::uint32_t at) const;
};

// The links of a fabric by where they start and end.
struct Wiring {
  std::vector<std::uint32_t> first_port; // [switch] -> where its ports begin in `out`
  std::vector<std::uint32_t> out;        // [first_port[s] + p] -> link that leaves there, or kNone
  std::vector<std::uint32_t> inject;     // [node * ports + p] -> link from the node
  std::vector<std::uint32_t> eject;      // [node * ports + p] -> link to the node

  [[nodiscard]] std::uint32_t link_at(std::uint32_t at, std::uint32_t port) const { return out[first_port[at] + port]; }
  [[nodiscard]] std::uint32_t ports_of(std::uint32_t at) const { return first_port[at + 1] - first_port[at]; }
};

// Refuses a link that starts or ends nowhere or where another does, a port of a present node without a link, a rate of zero, rules that
// cannot work (a buffer smaller than a packet, no lanes).
Result<Wiring> wire(const Fabric& fabric);

// Refuses tables in which a LID goes round in a loop, ends at another node, or cannot be reached from some node.
Result<void> check_tables(const Fabric& fabric, const Wiring& wiring);

// The links from a node to the heading's node, by tables or function. Error where there is no way.
Result<std::vector<std::uint32_t>> path(const Fabric& fabric, const Wiring& wiring, End from, Heading heading);

// The ports to take at each switch, from what the sender chose; Error as above.
Result<std::vector<std::uint32_t>> path_by_ports(const Fabric& fabric, const Wiring& wiring, End from,
                                                 const std::vector<std::uint16_t>& ports, std::uint32_t target);

} // namespace heddle::sim
