// The sending half of an interface, step by step as the report tells it: the host writes a primitive, the controller translates
// addresses and asks for DMA, header and data go out line by line, and a flag in the host's memory says so. While data moves
// the controller prepares the next packet, over the path that starts DMA beside the local bus.
#include <algorithm>
#include <utility>

#include "sim/rhinet/network.hpp"

namespace heddle::sim {

void RhinetNetwork::start_primitive(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  SendUnit& unit = node.send;
  if (unit.decoding != kNone || unit.primitives.empty()) return;
  unit.decoding = unit.primitives.front();
  unit.primitives.pop_front();
  unit.left = flows_[unit.decoding].flow.bytes;
  const Picoseconds begin = node.pci.begin(now_);
  const Picoseconds written = begin + timing_.primitive_write();
  node.pci.free = written;
  note(PushMoment::pci_primitive_write, begin, unit.decoding);
  note(PushMoment::local_primitive_write, written, unit.decoding);
  push(written + timing_.decode(), {.what = What::decoded, .a = number});
}

// The next packet of the primitive in the registers.
void RhinetNetwork::prepare(std::uint32_t number) {
  SendUnit& unit = nodes_[number].send;
  unit.short_of_room = unit.prepared.size() == fabric_.rhinet->prepared;
  if (unit.short_of_room) return;
  const auto payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(unit.left, fabric_.packets.mtu));
  const bool first = unit.left == flows_[unit.decoding].flow.bytes;
  unit.left -= payload;
  unit.prepared.push_back(
      {.flow = unit.decoding, .payload = payload, .dma_ready = now_ + timing_.dma_request(), .last = unit.left == 0});
  if (first) note(PushMoment::data_dma_request, now_, unit.decoding);
  push(now_ + timing_.header_out(), {.what = What::prepared, .a = number});
  if (unit.left > 0) return push(now_ + timing_.next_packet(), {.what = What::decoded, .a = number});
  unit.decoding = kNone;
  start_primitive(number);
}

// What is to be sent once more goes first, so that every target sees the order of the serials.
void RhinetNetwork::send_next(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  SendUnit& unit = node.send;
  while (unit.current == 0 && node.map != nullptr) {
    if (!unit.again.empty()) {
      const std::uint64_t serial = unit.again.front();
      unit.again.pop_front();
      if (!unit.unacknowledged.contains(serial)) continue;
      const bool read = unit.unacknowledged[serial].read;
      if (begin_packet(number, serial, read ? now_ : now_ + timing_.dma_request())) ++resent_;
      continue;
    }
    if (unit.headers == 0) return;
    const Prepared next = unit.prepared.front();
    unit.prepared.pop_front();
    --unit.headers;
    const Flow& flow = flows_[next.flow].flow;
    const bool group = flow.group != kNone;
    unit.unacknowledged[++unit.serial] = {
        .flow = next.flow,
        .payload = next.payload,
        .lane = flow.lane,
        .last = next.last,
        .read = flow.payload == Payload::immediate || next.payload == 0,
        .told = false,
        .group = group,
        .targets = group ? groups_[flow.group] : std::vector<std::uint32_t>{flow.target}};
    begin_packet(number, unit.serial, next.dma_ready);
    if (unit.short_of_room) prepare(number);
  }
}

// Puts the header out. False: no target can be reached now, and the packet waits among the unacknowledged.
bool RhinetNetwork::begin_packet(std::uint32_t number, std::uint64_t serial, Picoseconds dma_ready) {
  RhinetNode& node = nodes_[number];
  SendUnit& unit = node.send;
  const Unacknowledged& what = unit.unacknowledged[serial];
  std::vector<std::uint32_t> targets;
  for (const std::uint32_t target : what.targets) {
    if (std::ranges::binary_search(node.map->nodes, PhysicalId{target + 1})) targets.push_back(target);
  }
  if (targets.empty()) return false;
  const std::uint32_t index = packets_.take();
  const std::uint32_t map_bytes = what.group ? (fabric_.nodes + 31) / 32 * kWordBytes : 0;
  packets_[index] = {.users = 1,
                     .source = number,
                     .serial = serial,
                     .flow = what.flow,
                     .payload = what.payload,
                     .lines = (what.payload + kLineBytes - 1) / kLineBytes,
                     .header_bytes = fabric_.packets.header_bytes + map_bytes,
                     .lane = what.lane,
                     .acknowledged_lane = 0,
                     .acknowledgement = false,
                     .last = what.last,
                     .epoch = node.epoch,
                     .targets = std::move(targets)};
  unit.current = serial;
  unit.lines = packets_[index].lines;
  unit.line = 0;
  unit.dma_ready = dma_ready;
  unit.began = now_;
  unit.left_fifo.fill(Picoseconds{0});
  note(PushMoment::header_to_network, now_, what.flow);
  const Picoseconds header = wires_[node.inject].rate.time(packets_[index].header_bytes);
  SlackBuffer& way_out = buffers_[data_way_out(number)];
  way_out.held.push_back({.packet = index, .cells = {{now_, now_ + header}}, .branches = {}});
  if (way_out.held.size() == 1) request_ways_out(data_way_out(number));
  return true;
}

// The header is on its way: data may follow. Not before, as the sending FIFO holds no more than a few words.
void RhinetNetwork::way_is_free(std::uint32_t number) {
  const SendUnit& unit = nodes_[number].send;
  const Picoseconds ready = std::max(now_, unit.dma_ready);
  if (unit.lines == 0) return push(now_, {.what = What::data_done, .a = number, .b = unit.round});
  const bool read = unit.unacknowledged.at(unit.current).read;
  push(ready, {.what = read ? What::drain : What::fill, .a = number, .b = unit.round});
}

// A line from the host's memory into the FIFO; as soon as the bus has started (remedy 1), or when it is full, out of it.
void RhinetNetwork::fill(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  SendUnit& unit = node.send;
  const std::uint32_t flow = unit.unacknowledged[unit.current].flow;
  const Picoseconds begin = node.pci.begin(now_);
  const bool first = unit.line == 0;
  if (first) note(PushMoment::pci_data_dma, begin, flow);
  if (!timing_.overlap) {
    node.pci.free = begin + timing_.read_line();
    return push(node.pci.free, {.what = What::drain, .a = number, .b = unit.round});
  }
  LineTimes due;
  for (std::size_t word = 0; word < kLineWords; ++word) due[word] = timing_.read(static_cast<std::int64_t>(word));
  const LineTimes in = fill_behind(begin, due, unit.left_fifo);
  const Picoseconds local = node.local.begin(begin);
  unit.left_fifo = drain(local + timing_.local(first, 0), timing_.controller, in);
  node.pci.free = in.back();
  node.local.free = unit.left_fifo.back();
  if (first) note(PushMoment::data_on_local_bus, local, flow);
  put_on_network(number, unit.left_fifo.front(), unit.left_fifo.back());
  const bool more = ++unit.line < unit.lines;
  push(more ? in.back() : unit.left_fifo.back(),
       {.what = more ? What::fill : What::data_done, .a = number, .b = unit.round});
}

// A line over the local bus: from the full FIFO, or from the interface's own registers and memory.
void RhinetNetwork::drain_line(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  SendUnit& unit = node.send;
  const Unacknowledged& what = unit.unacknowledged[unit.current];
  const bool first = unit.line == 0;
  const Picoseconds begin = node.local.begin(now_);
  const Picoseconds words = begin + timing_.local(first, 0);
  const Picoseconds end = words + timing_.local(false, kLineWords);
  node.local.free = end;
  if (first) note(PushMoment::data_on_local_bus, begin, what.flow);
  put_on_network(number, words + timing_.local(false, 1), end);
  if (++unit.line == unit.lines) return push(end, {.what = What::data_done, .a = number, .b = unit.round});
  if (what.read) return push(end, {.what = What::drain, .a = number, .b = unit.round});
  push(words + timing_.local(false, kLineWords - timing_.given.almost_empty_words),
       {.what = What::fill, .a = number, .b = unit.round});
}

// A line whose first and last words leave the local bus then.
void RhinetNetwork::put_on_network(std::uint32_t number, Picoseconds first, Picoseconds last) {
  const SendUnit& unit = nodes_[number].send;
  const Cell cell{first + timing_.through(), last + timing_.through() + timing_.network * kBytesOfWord};
  if (unit.line == 0) note(PushMoment::data_to_network, cell.begin, unit.unacknowledged.at(unit.current).flow);
  Held& held = buffers_[data_way_out(number)].held.back();
  held.cells.push_back(cell);
  for (Branch& branch : held.branches) {
    if (branch.state == Branch::State::sending) pump(held, branch);
  }
}

void RhinetNetwork::data_done(std::uint32_t number) {
  SendUnit& unit = nodes_[number].send;
  const auto found = unit.unacknowledged.find(unit.current);
  Unacknowledged& packet = found->second;
  packet.read = true;
  unit.current = 0;
  if (!packet.told && recorder_ != nullptr) {
    recorder_->span({Span::Part::send_engine, number, unit.began, now_, flows_[packet.flow].flow, packet.payload});
  }
  tell_sent(number, packet);
  if (packet.targets.empty()) unit.unacknowledged.erase(found);
  send_next(number);
}

// The host is told once, of the last packet.
void RhinetNetwork::tell_sent(std::uint32_t number, Unacknowledged& packet) {
  if (std::exchange(packet.told, true) || !packet.last) return;
  if (flows_[packet.flow].flow.payload != Payload::memory)
    return push(now_, {.what = What::departed, .a = packet.flow});
  const Picoseconds request = now_ + timing_.to_flag_request();
  note(PushMoment::flag_dma_request, request, packet.flow);
  push(request + timing_.flag_to_pci(), {.what = What::flag, .a = number, .b = packet.flow});
}

void RhinetNetwork::write_flag(std::uint32_t number, std::uint32_t flow) {
  Bus& pci = nodes_[number].pci;
  const Picoseconds begin = pci.begin(now_);
  pci.free = begin + timing_.pci_write(1);
  note(PushMoment::pci_flag_write, begin, flow);
  push(pci.free, {.what = What::departed, .a = flow});
}

void RhinetNetwork::depart(std::uint32_t index) {
  const Flow flow = notice_given(index);
  if (listener_ != nullptr) listener_->departed(flow);
}

// All that the target has taken up to that serial need not be kept for it.
void RhinetNetwork::acknowledged(std::uint32_t number, const RhinetPacket& by) {
  auto& kept = nodes_[number].send.unacknowledged;
  for (auto each = kept.begin(); each != kept.end() && each->first <= by.serial;) {
    Unacknowledged& packet = each->second;
    if (packet.lane == by.acknowledged_lane) std::erase(packet.targets, by.source);
    const bool over = packet.targets.empty() && each->first != nodes_[number].send.current;
    if (over)
      tell_sent(number, packet); // it had left whole when a new round of set-up began, but that was not seen any more
    each = over ? kept.erase(each) : std::next(each);
  }
}

void RhinetNetwork::give_up_sending(std::uint32_t number) {
  SendUnit& unit = nodes_[number].send;
  ++unit.round;
  unit.current = 0;
  unit.again.clear();
  clear_buffer(data_way_out(number));
  clear_buffer(answer_way_out(number));
}

} // namespace heddle::sim
