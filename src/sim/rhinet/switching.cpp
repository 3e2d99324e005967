// Wires and switches: packets as cells through slack buffers and crossbars. A packet leaves when its header is there and the way
// is free (cut-through); stop holds back packets, not cells, so one that has begun goes on. Only the first packet of a
// buffer may leave; to many targets it leaves once per port, each copy when its port is free.
#include <algorithm>
#include <bit>
#include <map>

#include "sim/rhinet/network.hpp"

namespace heddle::sim {

void RhinetNetwork::release(std::uint32_t packet) {
  if (--packets_[packet].users == 0) packets_.give_back(packet);
}

void RhinetNetwork::cell_came(std::uint32_t index) {
  Wire& wire = wires_[index];
  const Moving moving = wire.moving.front();
  wire.moving.pop_front();
  if (moving.packet != kNone) return header_came(index, moving);
  if (wire.incoming == kNone) return; // of a packet that was dropped
  const std::uint32_t buffer = wire.incoming;
  Held& held = buffers_[buffer].held.back();
  held.cells.push_back(moving.cell);
  if (wire.to_node != kNone) return go_on_receiving(wire.to_node);
  for (Branch& branch : held.branches) {
    if (branch.state == Branch::State::sending) pump(held, branch);
  }
}

void RhinetNetwork::header_came(std::uint32_t index, const Moving& moving) {
  Wire& wire = wires_[index];
  const RhinetPacket& packet = packets_[moving.packet];
  wire.incoming = kNone;
  const Epoch epoch = wire.to_node != kNone                      ? nodes_[wire.to_node].epoch
                      : switches_[wire.to_switch].map != nullptr ? switches_[wire.to_switch].map->epoch
                                                                 : Epoch{};
  if (packet.epoch != epoch) {
    ++dropped_;
    return release(moving.packet);
  }
  if (packet.acknowledgement && wire.to_node != kNone) {
    acknowledged(wire.to_node, packet);
    return release(moving.packet);
  }
  const std::uint32_t number = index * lanes_ + moving.lane;
  SlackBuffer& buffer = buffers_[number];
  if (buffer.held.empty()) claim_place(number);
  if (wire.to_switch != kNone) ++(buffer.spilled ? cache_.misses : cache_.hits);
  buffer.held.push_back({.packet = moving.packet, .cells = {moving.cell}, .branches = {}});
  buffer.bytes += packet.bytes();
  wire.incoming = number;
  counters_[index].largest_queue = std::max(counters_[index].largest_queue, buffer.bytes);
  if (buffer.bytes > stop_above_ && !buffer.stopped) tell(number, true);
  if (wire.to_node != kNone) {
    nodes_[wire.to_node].receive.arrivals.push_back(number);
    return receive_next(wire.to_node);
  }
  if (buffer.held.size() == 1) offer_first(number);
}

// A buffer that is no longer empty takes one of the chip's places, if one is free.
void RhinetNetwork::claim_place(std::uint32_t number) {
  Wire& wire = wires_[number / lanes_];
  const std::uint32_t places = fabric_.rhinet->cached;
  buffers_[number].spilled = places != 0 && wire.to_switch != kNone && wire.on_chip == places;
  if (!buffers_[number].spilled) ++wire.on_chip;
}

void RhinetNetwork::free_place(std::uint32_t number) {
  if (!buffers_[number].spilled) --wires_[number / lanes_].on_chip;
  buffers_[number].spilled = false;
}

// At once, or when it has been fetched from the memory beside the chip.
void RhinetNetwork::offer_first(std::uint32_t number) {
  const SlackBuffer& buffer = buffers_[number];
  if (!buffer.spilled) return request_ways_out(number);
  push(now_ + fabric_.rhinet->spill, {.what = What::fetched, .a = number, .b = buffer.round});
}

// The lane of `wire` that the first packet of a buffer takes: its channel, or the next (channels.hpp).
std::uint32_t RhinetNetwork::lane_on(std::uint32_t number, std::uint32_t wire) const {
  if (number >= first_way_out_) return packets_[buffers_[number].held.front().packet].lane * channels_;
  const std::uint32_t lane = number % lanes_;
  const Link& in = fabric_.links[number / lanes_];
  const Link& out = fabric_.links[wire];
  if (in.from.kind == End::Kind::node || out.to.kind == End::Kind::node) return lane;
  const RhinetSwitch& at = switches_[in.to.index];
  const RhinetRouting routing = at.map->routing;
  const bool climbs = routing == RhinetRouting::structured ||
                      (routing == RhinetRouting::reduced && at.up[in.to.port] && at.up[out.from.port]);
  return climbs ? lane + 1 : lane;
}

// Looks up where the first packet of a buffer goes and puts it in line there; one for many targets is copied for each port.
void RhinetNetwork::request_ways_out(std::uint32_t number) {
  const std::uint32_t taken = buffers_[number].held.front().packet;
  if (number >= first_way_out_) {
    hold(taken);
    return add_branch(number, nodes_[(number - first_way_out_) / 2].inject, taken);
  }
  const std::uint32_t at = wires_[number / lanes_].to_switch;
  const auto port_to = [&](std::uint32_t target) { return switches_[at].ports[target]; };
  const std::vector<std::uint32_t>& all = packets_[taken].targets;
  const std::uint16_t first = port_to(all.front());
  if (std::ranges::all_of(all, [&](std::uint32_t target) { return port_to(target) == first; })) {
    hold(taken);
    return add_branch(number, wire_out_of(at, first), taken);
  }
  std::map<std::uint16_t, std::vector<std::uint32_t>> by_port;
  for (const std::uint32_t target : all) by_port[port_to(target)].push_back(target);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> copies; // wire, packet
  for (auto& [port, targets] : by_port) {
    const std::uint32_t copy = packets_.take();
    packets_[copy] = packets_[taken];
    packets_[copy].users = 1;
    packets_[copy].targets = std::move(targets);
    copies.emplace_back(wire_out_of(at, port), copy);
  }
  for (const auto& [wire, copy] : copies) {
    const std::uint32_t lane = lane_on(number, wire);
    buffers_[number].held.front().branches.push_back({.wire = wire, .packet = copy, .lane = lane});
    wires_[wire].waiting[lane].push_back(number);
  }
  for (const auto& [wire, copy] : copies) grant(wire);
}

void RhinetNetwork::add_branch(std::uint32_t number, std::uint32_t wire, std::uint32_t packet) {
  const std::uint32_t lane = lane_on(number, wire);
  buffers_[number].held.front().branches.push_back({.wire = wire, .packet = packet, .lane = lane});
  wires_[wire].waiting[lane].push_back(number);
  grant(wire);
}

// Goes round the lanes of a free wire for one that somebody waits for and that has not been stopped.
void RhinetNetwork::grant(std::uint32_t index) {
  Wire& wire = wires_[index];
  if (wire.from != kNone) return;
  for (std::uint32_t turn = 0; turn < lanes_; ++turn) {
    const std::uint32_t lane = (wire.next_lane + turn) % lanes_;
    if (wire.waiting[lane].empty() || (wire.stopped >> lane & 1) != 0) continue;
    wire.next_lane = (lane + 1) % lanes_;
    wire.from = wire.waiting[lane].front();
    wire.waiting[lane].pop_front();
    wire.began = now_;
    wire.free = std::max(wire.free, now_);
    ++counters_[index].packets;
    const std::uint32_t from = wire.from;
    Held& held = buffers_[from].held.front();
    for (Branch& branch : held.branches) {
      if (branch.wire != index) continue;
      branch.state = Branch::State::sending;
      pump(held, branch);
    }
    if (from >= first_way_out_ && (from - first_way_out_) % 2 == 0) way_is_free((from - first_way_out_) / 2);
    return;
  }
}

// Sends what has come of a packet; what comes in slowly goes out with gaps. A wire that is cut swallows it.
void RhinetNetwork::pump(Held& held, Branch& branch) {
  Wire& wire = wires_[branch.wire];
  const RhinetPacket& packet = packets_[branch.packet];
  for (; branch.sent < held.cells.size(); ++branch.sent) {
    const Cell& in = held.cells[branch.sent];
    const std::uint32_t bytes = branch.sent == 0 ? packet.header_bytes : kLineBytes;
    const Picoseconds begin = std::max(in.begin, wire.free);
    const Picoseconds end = std::max(begin + wire.rate.time(bytes), in.end);
    wire.free = end;
    counters_[branch.wire].bytes += bytes;
    if (!wire.carries) continue;
    Moving moving{.cell = {begin + wire.latency, end + wire.latency}};
    if (branch.sent == 0) {
      moving.packet = branch.packet;
      moving.lane = branch.lane;
      hold(branch.packet);
    }
    wire.moving.push_back(moving);
    push(begin + wire.latency, {.what = What::cell, .a = branch.wire, .b = wire.cut});
  }
  if (branch.sent == packet.lines + 1) push(wire.free, {.what = What::sent, .a = branch.wire, .b = wire.round});
}

void RhinetNetwork::sent(std::uint32_t index) {
  Wire& wire = wires_[index];
  const std::uint32_t from = wire.from;
  wire.from = kNone;
  counters_[index].busy += now_ - wire.began;
  Held& held = buffers_[from].held.front();
  bool over = true;
  for (Branch& branch : held.branches) {
    if (branch.wire == index) branch.state = Branch::State::done;
    over = over && branch.state == Branch::State::done;
  }
  if (recorder_ != nullptr && !packets_[held.packet].acknowledgement) {
    const RhinetPacket& packet = packets_[held.packet];
    recorder_->span({Span::Part::link, index, wire.began, now_, flows_[packet.flow].flow, packet.bytes()});
  }
  if (over) take_out_first(from);
  grant(index);
}

// Also of what a node has received.
void RhinetNetwork::take_out_first(std::uint32_t number) {
  SlackBuffer& buffer = buffers_[number];
  const Held held = std::move(buffer.held.front());
  buffer.held.pop_front();
  const std::uint32_t bytes = packets_[held.packet].bytes();
  for (const Branch& branch : held.branches) release(branch.packet);
  release(held.packet);
  if (number < first_way_out_) {
    buffer.bytes -= bytes;
    if (buffer.stopped && buffer.bytes <= go_below_) tell(number, false);
    if (buffer.held.empty()) free_place(number);
    if (!buffer.held.empty() && wires_[number / lanes_].to_switch != kNone) offer_first(number);
    return;
  }
  if (!buffer.held.empty()) return request_ways_out(number);
  if ((number - first_way_out_) % 2 == 1) acknowledge((number - first_way_out_) / 2);
}

// Stop or go, to the other end of the wire that leads to the buffer; it travels back over the same cable.
void RhinetNetwork::tell(std::uint32_t number, bool stop) {
  buffers_[number].stopped = stop;
  const std::uint32_t index = number / lanes_;
  const std::uint64_t what = std::uint64_t{number % lanes_} << 1 | (stop ? 1 : 0);
  if (cables_[index / 2].plugged) {
    push(now_ + wires_[index].delay, {.what = What::signal, .a = index, .b = wires_[index].cut, .c = what});
  }
}

void RhinetNetwork::signal(std::uint32_t index, std::uint32_t lane, bool stop) {
  Wire& wire = wires_[index];
  const std::uint64_t bit = std::uint64_t{1} << lane;
  wire.stopped = stop ? wire.stopped | bit : wire.stopped & ~bit;
  if (!stop) grant(index);
}

void RhinetNetwork::clear_buffer(std::uint32_t number) {
  SlackBuffer& buffer = buffers_[number];
  for (const Held& held : buffer.held) {
    for (const Branch& branch : held.branches) release(branch.packet);
    release(held.packet);
    ++dropped_;
  }
  if (number < first_way_out_ && !buffer.held.empty()) free_place(number);
  buffer.held.clear();
  buffer.bytes = 0;
  ++buffer.round;
  if (buffer.stopped) tell(number, false);
}

void RhinetNetwork::clear_moving(Wire& wire) {
  for (const Moving& moving : wire.moving) {
    if (moving.packet == kNone) continue;
    release(moving.packet);
    ++dropped_;
  }
  wire.moving.clear();
  wire.incoming = kNone;
}

// A buffer's first packet that has been stopped waits for room in one buffer; following these comes round or ends.
std::string RhinetNetwork::find_deadlock() const {
  const auto waits_for = [this](std::uint32_t number) {
    const auto& held = buffers_[number].held;
    if (held.empty()) return kNone;
    for (const Branch& branch : held.front().branches) {
      const bool stopped = (wires_[branch.wire].stopped >> branch.lane & 1) != 0;
      if (branch.state == Branch::State::waiting && stopped) return branch.wire * lanes_ + branch.lane;
    }
    return kNone;
  };
  const auto name = [this](std::uint32_t number) {
    return fabric_.name_of(fabric_.links[number / lanes_].to) + " lane " + std::to_string(number % lanes_);
  };
  std::vector<std::uint32_t> met(buffers_.size(), 0);
  for (std::uint32_t start = 0; start < first_way_out_; ++start) {
    std::uint32_t at = start;
    while (at != kNone && met[at] == 0) {
      met[at] = start + 1;
      at = waits_for(at);
    }
    if (at == kNone || met[at] != start + 1) continue;
    std::string text = name(at);
    for (std::uint32_t next = waits_for(at); next != at; next = waits_for(next)) text += " waits for " + name(next);
    return text + " waits for the first";
  }
  return "";
}

} // namespace heddle::sim
