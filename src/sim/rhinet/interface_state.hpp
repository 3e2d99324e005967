// The moving parts of RHiNET's model as plain records; network.hpp owns them, and moves them in switching.cpp, sending.cpp,
// receiving.cpp and set_up.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "sim/flow.hpp"
#include "sim/rhinet/map.hpp"
#include "sim/rhinet/timing.hpp"

namespace heddle::sim {

// The stretch of time in which a piece of a packet passes one place: its header, or one line of data. Where words come more
// slowly than the network could take them, idle symbols are in between.
struct Cell {
  Picoseconds begin{0};
  Picoseconds end{0};
};

struct RhinetPacket {
  std::uint32_t users = 0;  // places that hold it
  std::uint32_t source = 0; // node
  std::uint64_t serial = 0; // of the source's packets; of an acknowledgement: the last that it acknowledges
  std::uint32_t flow = 0;
  std::uint32_t payload = 0;
  std::uint32_t lines = 0; // payload on the wire
  std::uint32_t header_bytes = 0;
  std::uint16_t lane = 0; // that its flow asked for; those of wires are channels of it
  std::uint16_t acknowledged_lane = 0;
  bool acknowledgement = false;
  bool last = false; // of its flow
  Epoch epoch;
  std::vector<std::uint32_t> targets; // nodes; more than one: switches copy it

  [[nodiscard]] std::uint32_t bytes() const { return header_bytes + lines * kLineBytes; }
};

// A way out for the first packet of a buffer.
struct Branch {
  enum class State : std::uint8_t { waiting, sending, done };
  std::uint32_t wire = 0;
  std::uint32_t packet = 0; // the packet itself, or its copy for some of the targets
  std::uint32_t lane = 0;   // of the wire: which the packet has there
  std::uint32_t sent = 0;   // cells
  State state = State::waiting;
};

// A packet in a buffer, or on its way into one: what has come so far.
struct Held {
  std::uint32_t packet = 0;
  std::vector<Cell> cells; // header, then lines
  std::vector<Branch> branches;
};

// The buffer at the end of a wire, for one lane; or one of a node's two ways out, for data and for acknowledgements.
struct SlackBuffer {
  std::deque<Held> held;
  std::uint32_t bytes = 0; // of all packets that have begun to come in
  bool stopped = false;    // the other end has been told to stop
  bool spilled = false;    // until it is empty: none of the chip's buffers was free
  std::uint32_t round = 0; // counts what was cleared
};

// A piece of a packet on a wire; the first piece brings the packet.
struct Moving {
  Cell cell; // at the end of the wire, behind the pipeline of the switch there
  std::uint32_t packet = kNone;
  std::uint32_t lane = 0;
};

// One direction of a cable. One packet at a time; what comes behind its header belongs to it.
struct Wire {
  Rate rate;
  Picoseconds latency{0};          // to where packets are buffered, the switch's pipeline included
  Picoseconds delay{0};            // of the cable
  std::uint32_t to_switch = kNone; // or
  std::uint32_t to_node = kNone;
  bool carries = false; // it is plugged, and the tables in force know it

  std::deque<Moving> moving;
  std::uint32_t on_chip = 0;      // buffers at its end that hold packets, and a place on the chip
  std::uint32_t cut = 0;          // so often; what was on it before is gone
  std::uint32_t incoming = kNone; // buffer that the packet goes into whose header has come; kNone: it is dropped
  // At the end that sends.
  std::vector<std::deque<std::uint32_t>> waiting; // [lane] buffers whose first packet wants to go here
  std::uint64_t stopped = 0;                      // lanes
  std::uint32_t next_lane = 0;
  std::uint32_t from = kNone; // buffer that it sends from
  std::uint32_t round = 0;    // of set-up; what was under way in earlier ones is gone
  Picoseconds free{0};
  Picoseconds began{0};
};

// A bus that serves one transaction after the other, first come first served.
struct Bus {
  Picoseconds free{0};
  // When a transaction asked for now can begin.
  [[nodiscard]] Picoseconds begin(Picoseconds now) const { return std::max(now, free); }
};

struct RhinetSwitch {
  std::shared_ptr<const Map> map;
  std::vector<std::uint16_t> ports; // [node] -> port
  std::vector<bool> up;             // [port]: leads up
};

// A packet that some target has not acknowledged. The interface's own memory keeps its data once that has been read.
struct Unacknowledged {
  std::uint32_t flow = 0;
  std::uint32_t payload = 0;
  std::uint16_t lane = 0;
  bool last = false;
  bool read = false;  // from the host's memory
  bool told = false;  // the host, that it has been
  bool group = false; // goes to many
  std::vector<std::uint32_t> targets;
};

// A packet whose address is translated and whose DMA has been asked for.
struct Prepared {
  std::uint32_t flow = 0;
  std::uint32_t payload = 0;
  Picoseconds dma_ready{0};
  bool last = false;
};

// What the sending half of an interface works on.
struct SendUnit {
  std::deque<std::uint32_t> primitives; // flows that wait for the registers
  std::uint32_t decoding = kNone;       // flow in the registers
  std::uint64_t left = 0;               // bytes of it without a packet
  bool short_of_room = false;           // it waits for a place in `prepared`
  std::deque<Prepared> prepared;        // at most RhinetParameters::prepared
  std::uint32_t headers = 0;            // of these, how many have their header ready
  std::deque<std::uint64_t> again;      // serials to be sent once more, before anything new
  std::map<std::uint64_t, Unacknowledged> unacknowledged;
  std::uint64_t serial = 0;

  std::uint64_t current = 0; // serial of the packet that is going out; 0 = none
  std::uint32_t lines = 0;
  std::uint32_t line = 0;
  Picoseconds dma_ready{0};
  Picoseconds began{0};
  LineTimes left_fifo{};
  std::uint32_t round = 0; // counts what was given up
};

struct ReceiveUnit {
  std::deque<std::uint32_t> arrivals;           // buffers with a packet, in the order of their headers
  std::map<std::uint64_t, std::uint64_t> taken; // source and lane -> serial of the last packet written
  std::map<std::uint64_t, std::uint64_t> owed;  // source and lane -> serial to acknowledge
  std::uint32_t buffer = kNone;                 // that it takes a packet from
  std::uint32_t line = 0;
  bool decoding = false;
  bool wants_cell = false; // it will go on when more of the packet has come
  Picoseconds began{0};
  LineTimes left_fifo{};
  std::uint32_t round = 0;
};

struct RhinetNode {
  Bus pci;
  Bus local;
  SendUnit send;
  ReceiveUnit receive;
  std::uint32_t inject = kNone; // wires
  std::uint32_t eject = kNone;
  Epoch epoch;
  std::shared_ptr<const Map> map; // whom it can reach; null until its switch says go
};

// A flow under way.
struct UnderWay {
  Flow flow;
  std::uint32_t notices = 0; // still to be given: one of departure, one of arrival for each target
};

} // namespace heddle::sim
