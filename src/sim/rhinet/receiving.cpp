// The receiving half of an interface: the first word behind a header starts the controller, which finds the address and asks for
// DMA; lines go over the local bus into the PCI controller's FIFO and from there to memory. One packet at a time, in the
// order of their headers. A packet that was there before, sent again after a cut, is passed over.
#include <algorithm>

#include "sim/rhinet/network.hpp"

namespace heddle::sim {
namespace {

std::uint64_t stream_of(const RhinetPacket& packet) {
  return std::uint64_t{packet.source} << 16 | packet.lane;
}

} // namespace

void RhinetNetwork::receive_next(std::uint32_t number) {
  ReceiveUnit& unit = nodes_[number].receive;
  if (unit.buffer != kNone || unit.arrivals.empty()) return;
  unit.buffer = unit.arrivals.front();
  unit.arrivals.pop_front();
  unit.line = 0;
  unit.decoding = false;
  unit.wants_cell = true;
  unit.began = now_;
  unit.left_fifo.fill(Picoseconds{0});
  go_on_receiving(number);
}

// More of a packet has come. Decoding waits for data behind the header; each line for its cell.
void RhinetNetwork::go_on_receiving(std::uint32_t number) {
  ReceiveUnit& unit = nodes_[number].receive;
  if (unit.buffer == kNone || !unit.wants_cell) return;
  const Held& held = buffers_[unit.buffer].held.front();
  const RhinetPacket& packet = packets_[held.packet];
  if (packet.serial <= unit.taken[stream_of(packet)]) {
    if (held.cells.size() <= packet.lines) return;
    unit.wants_cell = false;
    return push(std::max(now_, held.cells.back().end), {.what = What::taken, .a = number, .b = unit.round});
  }
  if (unit.decoding) {
    if (held.cells.size() > unit.line + 1) take_line(number);
    return;
  }
  if (packet.lines > 0 && held.cells.size() < 2) return;
  unit.decoding = true;
  unit.wants_cell = false;
  const Picoseconds there = packet.lines > 0 ? held.cells[1].begin : held.cells[0].end;
  push(std::max(now_, there) + timing_.receive_decode(), {.what = What::requested, .a = number, .b = unit.round});
}

void RhinetNetwork::dma_requested(std::uint32_t number) {
  const ReceiveUnit& unit = nodes_[number].receive;
  const RhinetPacket& packet = packets_[buffers_[unit.buffer].held.front().packet];
  note(PushMoment::receiver_dma_request, now_, packet.flow);
  const bool data = packet.lines > 0;
  push(data ? now_ + timing_.dma_request_to_local() : now_,
       {.what = data ? What::take : What::taken, .a = number, .b = unit.round});
}

// The next line over the local bus, word by word as it has come from the network.
void RhinetNetwork::take_line(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  ReceiveUnit& unit = node.receive;
  const Held& held = buffers_[unit.buffer].held.front();
  unit.wants_cell = held.cells.size() <= unit.line + 1;
  if (unit.wants_cell) return;
  const Cell& cell = held.cells[unit.line + 1];
  const RhinetPacket& packet = packets_[held.packet];
  const bool first = unit.line == 0;
  const bool last = unit.line + 1 == packet.lines;
  const std::uint32_t bytes = std::min(kLineBytes, packet.payload - unit.line * kLineBytes);
  const std::int64_t words = (bytes + kWordBytes - 1) / kWordBytes;

  LineTimes there;
  for (std::size_t word = 0; word < kLineWords; ++word) {
    const Picoseconds come = cell.begin + (cell.end - cell.begin) * static_cast<std::int64_t>(word + 1) / kLineWords;
    there[word] = std::max(come + timing_.controller * timing_.given.into_controller, unit.left_fifo[word]);
  }
  const Picoseconds begin = node.local.begin(now_);
  const LineTimes moved = drain(begin + timing_.local(first, 0), timing_.controller, there);
  node.local.free = moved.back();
  if (first) note(PushMoment::receiver_data_on_local_bus, begin, packet.flow);
  if (!timing_.overlap) {
    return push(moved.back() + timing_.pci * timing_.given.into_pci,
                {.what = What::write, .a = number, .b = unit.round});
  }
  const Picoseconds bus = node.pci.begin(begin);
  if (first) note(PushMoment::receiver_pci_data_dma, bus, packet.flow);
  unit.left_fifo = drain(bus + timing_.pci_write(0), timing_.pci, moved);
  const Picoseconds written = unit.left_fifo[static_cast<std::size_t>(words - 1)];
  node.pci.free = written;
  ++unit.line;
  push(last ? written : moved.back(), {.what = last ? What::taken : What::take, .a = number, .b = unit.round});
}

// The FIFO is full, or holds the end: to memory. The next line may follow when little is left of this one.
void RhinetNetwork::write_line(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  ReceiveUnit& unit = node.receive;
  const RhinetPacket& packet = packets_[buffers_[unit.buffer].held.front().packet];
  const std::uint32_t bytes = std::min(kLineBytes, packet.payload - unit.line * kLineBytes);
  const Picoseconds begin = node.pci.begin(now_);
  const Picoseconds end = begin + timing_.pci_write((bytes + kWordBytes - 1) / kWordBytes);
  node.pci.free = end;
  if (unit.line == 0) note(PushMoment::receiver_pci_data_dma, begin, packet.flow);
  if (++unit.line == packet.lines) return push(end, {.what = What::taken, .a = number, .b = unit.round});
  push(end - timing_.pci * timing_.given.almost_empty_words, {.what = What::take, .a = number, .b = unit.round});
}

void RhinetNetwork::taken(std::uint32_t number) {
  ReceiveUnit& unit = nodes_[number].receive;
  const RhinetPacket packet = packets_[buffers_[unit.buffer].held.front().packet];
  std::uint64_t& last = unit.taken[stream_of(packet)];
  const bool is_new = packet.serial > last;
  last = std::max(last, packet.serial);
  unit.owed[stream_of(packet)] = last;
  const std::uint32_t buffer = unit.buffer;
  unit.buffer = kNone;
  if (is_new && recorder_ != nullptr) {
    recorder_->span({Span::Part::receive_engine, number, unit.began, now_, flows_[packet.flow].flow, packet.payload});
  }
  take_out_first(buffer);
  acknowledge(number);
  receive_next(number);
  if (!is_new || !packet.last) return;
  Flow flow = notice_given(packet.flow);
  flow.target = number;
  if (listener_ != nullptr) listener_->arrived(flow);
}

// Acknowledgements have a way out and a lane of their own; while one waits, later ones of its stream replace it.
void RhinetNetwork::acknowledge(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  SlackBuffer& way_out = buffers_[answer_way_out(number)];
  if (node.receive.owed.empty() || !way_out.held.empty() || node.map == nullptr) return;
  const auto [stream, serial] = *node.receive.owed.begin();
  node.receive.owed.erase(node.receive.owed.begin());
  const auto source = static_cast<std::uint32_t>(stream >> 16);
  if (!std::ranges::binary_search(node.map->nodes, PhysicalId{source + 1})) return acknowledge(number);
  const std::uint32_t index = packets_.take();
  packets_[index] = {.users = 1,
                     .source = number,
                     .serial = serial,
                     .flow = kNone,
                     .payload = 0,
                     .lines = 0,
                     .header_bytes = fabric_.packets.header_bytes,
                     .lane = static_cast<std::uint16_t>(fabric_.packets.lanes),
                     .acknowledged_lane = static_cast<std::uint16_t>(stream & 0xffff),
                     .acknowledgement = true,
                     .last = false,
                     .epoch = node.epoch,
                     .targets = {source}};
  const Picoseconds header = wires_[node.inject].rate.time(fabric_.packets.header_bytes);
  way_out.held.push_back({.packet = index, .cells = {{now_, now_ + header}}, .branches = {}});
  request_ways_out(answer_way_out(number));
}

void RhinetNetwork::give_up_receiving(std::uint32_t number) {
  RhinetNode& node = nodes_[number];
  ReceiveUnit& unit = node.receive;
  ++unit.round;
  unit.buffer = kNone;
  unit.arrivals.clear();
  unit.owed.clear(); // what is sent again will be acknowledged again
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) clear_buffer(node.eject * lanes_ + lane);
  wires_[node.eject].incoming = kNone;
}

} // namespace heddle::sim
