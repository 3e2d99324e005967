// The packet model at work. A packet costs an event at its engine, one per link (it stands where it can be sent from) and one at its
// target. That it has been sent, that its engine is free and that credit is back are events only where somebody waits for them;
// else the next who looks finds that the time has passed.
#include "sim/packet_network.hpp"

#include <algorithm>
#include <bit>

namespace heddle::sim {

bool PacketNetwork::step() {
  if (queue_.empty()) return false;
  const Event event = queue_.pop();
  now_ = event.time;
  ++events_;
  const auto seen = static_cast<std::uint64_t>(event.time.count()) ^ std::uint64_t{event.subject} << 32;
  history_ = std::rotl((history_ ^ seen) * 0x9e37'79b9'7f4a'7c15U, 29);
  handle(static_cast<What>(event.subject >> kIndexBits), event.subject & ((1U << kIndexBits) - 1));
  return true;
}

void PacketNetwork::handle(What what, std::uint32_t index) {
  switch (what) {
    case What::buffered: return buffered(index);
    case What::sent: return sent(index);
    case What::received: return received(index);
    case What::credit:
      channels_[index].wake = false;
      if (!still_busy(index / lanes_)) arbitrate(index / lanes_);
      return;
    case What::engine: return run_engine(index);
    case What::departed: return depart(index);
    case What::arrived: return arrive(index);
    case What::timer: return fire(index);
  }
}

Result<void> PacketNetwork::run_until(Picoseconds time) {
  while (!queue_.empty() && queue_.next_time() <= time) step();
  if (queue_.empty() && packets_.live() > 0) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the fabric is deadlocked with " + std::to_string(packets_.live()) +
                                         " packets in flight: " + find_deadlock(),
                                 .remedy = "more virtual lanes, or routes without a cycle"});
  }
  now_ = std::max(now_, time);
  return {};
}

Result<void> PacketNetwork::run() {
  while (step()) {
  }
  return run_until(now_);
}

// --- engines -------------------------------------------------------------------------------------------------------------

// Brings a send engine on by one step: pays the start-up of its next flow, or reads one packet.
void PacketNetwork::run_engine(std::uint32_t number) {
  Engine& engine = engines_[number];
  engine.awake = false;
  engine.blocked = false;
  if (engine.first == kNone) return;
  if (!engine.started) {
    engine.started = true;
    engine.left = flows_[engine.first].flow.bytes;
    if (fabric_.interface.startup.count() > 0) return wake_engine(number, now_ + fabric_.interface.startup);
  }
  if (engine.queued == fabric_.interface.queue_packets) {
    if (still_busy(engine.link)) announce(engine.link);
    engine.blocked = engine.queued == fabric_.interface.queue_packets;
    if (engine.blocked) return;
  }
  emit_packet(number);
}

void PacketNetwork::wake_engine(std::uint32_t number, Picoseconds time) {
  engines_[number].awake = true;
  push(time, What::engine, number);
}

void PacketNetwork::emit_packet(std::uint32_t number) {
  Engine& engine = engines_[number];
  const Interface& interface = fabric_.interface;
  const Flow& flow = flows_[engine.first].flow;
  const auto payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(engine.left, fabric_.packets.mtu));

  Picoseconds begin = now_;
  Picoseconds read{0};
  if (flow.payload == Payload::memory) {
    Picoseconds& bus = memories_[engine.node].read_free;
    begin = std::max(now_, bus);
    read = begin + interface.read_bus.time(payload);
    bus = read;
  }
  const Picoseconds ready = begin + interface.send.time(payload);
  const Picoseconds tail = std::max(ready, read);

  const LinkState& link = links_[engine.link];
  const std::uint32_t index = packets_.take();
  Packet& packet = packets_[index];
  packet = {};
  packet.tail = tail + interface.send_latency;
  packet.flow = engine.first;
  packet.heading = {.node = flow.target, .lid = flow.lid, .port = flow.receive_engine, .lane = flow.lane};
  packet.payload = payload;
  packet.bytes = payload + fabric_.packets.header_bytes;
  packet.buffer = static_cast<std::uint32_t>(channels_.size()) + number;
  packet.channel = engine.link * lanes_ + flow.lane;
  engine.left -= payload;
  packet.last = engine.left == 0;
  packet.routed = flow.route != kNone;
  ++engine.queued;

  // The engine stands for a buffer of its own: what leaves it can go out without a gap.
  Picoseconds head = begin + interface.send_latency;
  if (fabric_.packets.gaps == Gaps::wait) head = std::max(head, packet.tail - link.time(packet.bytes));
  push(head, What::buffered, index);
  if (recorder_ != nullptr) {
    recorder_->span({Span::Part::send_engine, number, begin, tail, flow, payload});
  }

  if (packet.last) {
    if (tells_departures_) push(tail + interface.completion_latency, What::departed, engine.first);
    engine.first = flows_[engine.first].next;
    engine.started = false;
  }
  engine.free_at = std::max(ready, begin); // with nothing left to do, submit looks at it
  if (engine.first != kNone) wake_engine(number, engine.free_at);
}

// --- links and switches --------------------------------------------------------------------------------------------------

// A packet stands where it can be sent from; it counts as bytes of its buffer from here on.
void PacketNetwork::buffered(std::uint32_t index) {
  Packet& packet = packets_[index];
  Buffer& buffer = buffers_[packet.buffer];
  packet.next = kNone;
  buffer.bytes += packet.bytes;
  if (packet.buffer < channels_.size()) {
    LinkCounters& counters = counters_[packet.buffer / lanes_];
    counters.largest_queue = std::max(counters.largest_queue, buffer.bytes);
  }
  if (buffer.first != kNone) {
    packets_[buffer.last].next = index;
    buffer.last = index;
    return;
  }
  buffer.first = index;
  buffer.last = index;
  if (buffer.reader == kNone || !still_busy(buffer.reader)) return request(packet.buffer);
  announce(buffer.reader);
}

// A new head joins the line of the channel it wants. Each buffer has one head and rejoins at the end, so service goes round
// among the inputs that want the same output.
void PacketNetwork::request(std::uint32_t number) {
  const std::uint32_t wanted = packets_[buffers_[number].first].channel;
  Channel& channel = channels_[wanted];
  buffers_[number].next_waiting = kNone;
  if (channel.first_waiting == kNone) {
    channel.first_waiting = number;
  } else {
    buffers_[channel.last_waiting].next_waiting = number;
  }
  channel.last_waiting = number;
  const std::uint32_t link = wanted / lanes_;
  links_[link].waiting_lanes |= 1ULL << (wanted % lanes_);
  if (!still_busy(link)) return arbitrate(link);
  announce(link);
}

// Frees a link and its buffer whose time has passed unnoticed. Nobody can wait there, or it would have been announced.
bool PacketNetwork::still_busy(std::uint32_t index) {
  LinkState& link = links_[index];
  if (!link.busy || is_busy(link)) return link.busy;
  leave_link(link);
  return false;
}

// The last byte of what a link sends has left its buffer.
void PacketNetwork::leave_link(LinkState& link) {
  link.busy = false;
  buffers_[link.reading].reader = kNone;
  if (is_engine(link.reading)) --engine_of(link.reading).queued;
}

void PacketNetwork::announce(std::uint32_t index) {
  LinkState& link = links_[index];
  if (link.announced) return;
  link.announced = true;
  push(link.end, What::sent, index);
}

// Goes round the lanes of an idle link for one whose line has a head that fits into the buffer at the end.
void PacketNetwork::arbitrate(std::uint32_t index) {
  LinkState& link = links_[index];
  std::uint64_t lanes = std::rotr(link.waiting_lanes, static_cast<int>(link.next_lane));
  while (lanes != 0) {
    const auto lane = (static_cast<std::uint32_t>(std::countr_zero(lanes)) + link.next_lane) % 64;
    lanes &= lanes - 1;
    const std::uint32_t number = index * lanes_ + lane;
    Channel& channel = channels_[number];
    const std::uint32_t bytes = packets_[buffers_[channel.first_waiting].first].bytes;
    if (has_credit(channel, bytes)) {
      link.next_lane = (lane + 1) % 64;
      return start(index, number);
    }
    await_credit(number, bytes);
  }
}

// Puts the head of the channel's line on the link.
void PacketNetwork::start(std::uint32_t index, std::uint32_t number) {
  LinkState& link = links_[index];
  Channel& channel = channels_[number];
  const std::uint32_t from = channel.first_waiting;
  Buffer& buffer = buffers_[from];
  channel.first_waiting = buffer.next_waiting;
  if (channel.first_waiting == kNone) link.waiting_lanes &= ~(1ULL << (number - index * lanes_));

  const std::uint32_t taken = buffer.first;
  Packet& packet = packets_[taken];
  buffer.first = packet.next;
  buffer.bytes -= packet.bytes;
  buffer.reader = index;
  channel.credit -= packet.bytes;

  Picoseconds end = now_ + link.time(packet.bytes);
  if (fabric_.packets.gaps == Gaps::fill) end = std::max(end, packet.tail);
  link.busy = true;
  link.reading = from;
  link.end = end;
  const bool from_engine = is_engine(from);
  if (!from_engine) give_credit(from, end + links_[from / lanes_].delay, packet.bytes);
  const bool engine_waits = from_engine && engine_of(from).blocked;
  if (engine_waits || buffer.first != kNone || link.waiting_lanes != 0) announce(index);

  LinkCounters& counters = counters_[index];
  counters.bytes += packet.bytes;
  ++counters.packets;
  counters.busy += end - now_;
  if (recorder_ != nullptr) {
    recorder_->span({Span::Part::link, index, now_, end, flows_[packet.flow].flow, packet.bytes});
  }
  forward(index, number, taken, end);
}

// Where a packet that has just started on a link will be, and when. The way out of the next switch is looked up here, a little
// early, because tables do not change and it saves an event per hop.
void PacketNetwork::forward(std::uint32_t index, std::uint32_t number, std::uint32_t moved, Picoseconds end) {
  const LinkState& link = links_[index];
  Packet& packet = packets_[moved];
  packet.buffer = number;
  packet.heading.lane = static_cast<std::uint16_t>(number - index * lanes_);
  Picoseconds head = now_ + link.delay;
  packet.tail = end + link.delay;
  if (link.to_switch == kNone) return push(head, What::received, moved);

  const Hop hop = next_hop(link.to_switch, packet);
  const std::uint32_t out = wiring_.link_at(link.to_switch, hop.port);
  packet.channel = out * lanes_ + hop.lane;
  ++packet.hops;
  const Picoseconds crossing = fabric_.switches[link.to_switch].delay;
  packet.tail += crossing;
  if (fabric_.packets.switching == Switching::store_and_forward) {
    head = packet.tail;
  } else if (fabric_.packets.gaps == Gaps::fill) {
    head += crossing;
  } else {
    head = std::max(head + crossing, packet.tail - links_[out].time(packet.bytes));
  }
  push(head, What::buffered, moved);
}

Hop PacketNetwork::next_hop(std::uint32_t at, const Packet& packet) const {
  if (packet.routed) {
    const Route& route = routes_[flows_[packet.flow].flow.route];
    return {route.ports[packet.hops], packet.heading.lane};
  }
  if (fabric_.function.call != nullptr) return fabric_.function.call(fabric_.function.data.get(), at, packet.heading);
  return {fabric_.tables.port(at, packet.heading.lid), packet.heading.lane};
}

// The last byte has left: the buffer may show its next head, and the link is free.
void PacketNetwork::sent(std::uint32_t index) {
  LinkState& link = links_[index];
  link.announced = false;
  leave_link(link);
  const std::uint32_t from = link.reading;
  if (is_engine(from) && engine_of(from).blocked) run_engine(from - static_cast<std::uint32_t>(channels_.size()));
  if (buffers_[from].first != kNone) request(from);
  if (!link.busy && link.waiting_lanes != 0) arbitrate(index);
}

// --- credits -------------------------------------------------------------------------------------------------------------

bool PacketNetwork::has_credit(Channel& channel, std::uint32_t bytes) {
  while (channel.first_return != kNone && returns_[channel.first_return].time <= now_) {
    const std::uint32_t due = channel.first_return;
    channel.credit += returns_[due].bytes;
    channel.first_return = returns_[due].next;
    returns_.give_back(due);
  }
  return channel.credit >= bytes;
}

// Has the link looked at again when the credit under way will be enough; if that is not enough either, the next return will.
void PacketNetwork::await_credit(std::uint32_t number, std::uint32_t bytes) {
  Channel& channel = channels_[number];
  if (channel.wake) return;
  std::uint32_t credit = channel.credit;
  for (std::uint32_t at = channel.first_return; at != kNone; at = returns_[at].next) {
    credit += returns_[at].bytes;
    if (credit < bytes) continue;
    channel.wake = true;
    return push(returns_[at].time, What::credit, number);
  }
}

// Known when the packet begins to leave the buffer, for the time when it has left. A busy link looks for credit when it is free
// again, so only an idle one with a line must be woken.
void PacketNetwork::give_credit(std::uint32_t number, Picoseconds time, std::uint32_t bytes) {
  const std::uint32_t given = returns_.take();
  returns_[given] = {time, bytes, kNone};
  Channel& channel = channels_[number];
  if (channel.first_return == kNone) {
    channel.first_return = given;
  } else {
    returns_[channel.last_return].next = given;
  }
  channel.last_return = given;
  if (channel.first_waiting == kNone || is_busy(links_[number / lanes_])) return;
  await_credit(number, packets_[buffers_[channel.first_waiting].first].bytes);
}

// --- arrival -------------------------------------------------------------------------------------------------------------

// The first byte is at the target's interface; when the receive engine will be done follows at once, as it serves in order.
void PacketNetwork::received(std::uint32_t index) {
  const Packet packet = packets_[index];
  packets_.give_back(index);
  const Interface& interface = fabric_.interface;
  const LinkState& link = links_[packet.buffer / lanes_];
  Memory& memory = memories_[link.to_port / interface.ports];
  Picoseconds& bus = interface.one_bus ? memory.read_free : memory.write_free;
  Picoseconds& engine = receiver_free_[link.to_port];

  const Picoseconds slot = std::max(now_, bus);
  bus = slot + interface.write_bus.time(packet.payload);
  const Picoseconds begin = std::max(slot, engine);
  const Picoseconds done = std::max({begin + interface.receive.time(packet.payload), bus, packet.tail});
  engine = done;
  if (recorder_ != nullptr) {
    const Flow& flow = flows_[packet.flow].flow;
    recorder_->span({Span::Part::receive_engine, link.to_port, begin, done, flow, packet.payload});
  }
  give_credit(packet.buffer, done + link.delay, packet.bytes);
  if (packet.last) push(done + interface.receive_latency, What::arrived, packet.flow);
}

void PacketNetwork::depart(std::uint32_t flow) {
  const Flow copy = flows_[flow].flow;
  if (listener_ != nullptr) listener_->departed(copy);
}

void PacketNetwork::arrive(std::uint32_t flow) {
  const Flow copy = flows_[flow].flow;
  flows_.give_back(flow);
  if (listener_ != nullptr) listener_->arrived(copy);
}

void PacketNetwork::fire(std::uint32_t timer) {
  const std::uint64_t cookie = timers_[timer].cookie;
  timers_.give_back(timer);
  if (listener_ != nullptr) listener_->timer(cookie);
}

} // namespace heddle::sim
