// The moving parts of the packet model as small plain records in contiguous arrays; network.cpp moves them.
// They name each other by index.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fabric.hpp"
#include "sim/flow.hpp"
#include "sim/units.hpp"

namespace heddle::sim {

// Records that come and go, in one array; freed ones are used again, the last first.
template <typename Record>
class Pool {
 public:
  std::uint32_t take() {
    ++live_;
    if (free_.empty()) {
      records_.emplace_back();
      return static_cast<std::uint32_t>(records_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint32_t index) {
    --live_;
    free_.push_back(index);
  }
  Record& operator[](std::uint32_t index) { return records_[index]; }
  const Record& operator[](std::uint32_t index) const { return records_[index]; }
  [[nodiscard]] std::uint64_t live() const { return live_; }

 private:
  std::vector<Record> records_;
  std::vector<std::uint32_t> free_;
  std::uint64_t live_ = 0;
};

// A flow under way.
struct Sending {
  Flow flow;
  std::uint32_t next = kNone; // behind it at the same engine
};

struct Packet {
  Picoseconds tail{0};        // when its last byte is through the part it is in now
  std::uint32_t next = kNone; // in its buffer
  std::uint32_t flow = 0;
  Heading heading;
  std::uint32_t bytes = 0; // on the wire
  std::uint32_t payload = 0;
  std::uint32_t buffer = 0;  // where it is
  std::uint32_t channel = 0; // where it wants to go: link * lanes + lane
  std::uint16_t hops = 0;    // switches passed, to follow a route
  bool last = false;         // of its flow
  bool routed = false;       // its flow brought a route
};

// A first-in first-out queue of packets. Its head asks for the next link; one packet at a time is read out of it.
struct Buffer {
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t next_waiting = kNone; // buffer behind this one in a channel's line
  std::uint32_t bytes = 0;
  std::uint32_t reader = kNone; // the link that sends from it
};

// One lane of one link, as seen by the side that sends on it.
struct Channel {
  std::uint32_t credit = 0;            // bytes that the buffer at the end surely has room for
  std::uint32_t first_waiting = kNone; // line of buffers whose head wants to go here
  std::uint32_t last_waiting = kNone;
  std::uint32_t first_return = kNone; // credit on its way back
  std::uint32_t last_return = kNone;
  bool wake = false; // an event will look again when enough of it has come
};

struct CreditReturn {
  Picoseconds time{0};
  std::uint32_t bytes = 0;
  std::uint32_t next = kNone;
};

struct LinkState {
  Rate rate;
  Picoseconds delay{0};
  Picoseconds full_time{0}; // of a packet of full size, which most are
  std::uint64_t waiting_lanes = 0;
  std::uint32_t full_bytes = 0;
  std::uint32_t to_switch = kNone; // or, at a node, kNone
  std::uint32_t to_port = 0;       // at a node: node * ports + port
  std::uint32_t reading = kNone;   // the buffer it sends from
  std::uint32_t next_lane = 0;
  Picoseconds end{0};     // of what it sends
  bool busy = false;      // or it was, until `end`, and nobody has looked since
  bool announced = false; // an event will come at `end`, because somebody waits for it

  [[nodiscard]] Picoseconds time(std::uint32_t bytes) const {
    return bytes == full_bytes ? full_time : rate.time(bytes);
  }
};

struct Engine {
  std::uint32_t node = 0;
  std::uint32_t link = 0;
  std::uint32_t first = kNone; // line of flows; the first is the one at work
  std::uint32_t last = kNone;
  std::uint64_t left = 0;   // bytes of it still to be sent
  Picoseconds free_at{0};   // when it has read its last packet
  std::uint32_t queued = 0; // packets read but not yet on the link
  bool started = false;     // the first flow's start-up is paid
  bool awake = false;       // an event or a freed place in the queue will bring it on
  bool blocked = false;     // waits for a place in the queue
};

// The buses of a node.
struct Memory {
  Picoseconds read_free{0};
  Picoseconds write_free{0};
};

struct Timer {
  std::uint64_t cookie = 0;
};

} // namespace heddle::sim
