// The model's control path: making it, checking what is submitted, the loop over events.
#include "sim/rhinet/network.hpp"

#include <algorithm>
#include <bit>

#include "base/refusal.hpp"

namespace heddle::sim {
namespace {

constexpr PhysicalId kManager{1}; // of node 0

// One bit for each node that there is.
std::uint32_t group_bytes(const Fabric& fabric) {
  return (fabric.nodes + 31) / 32 * kWordBytes;
}

std::uint32_t largest_packet(const Fabric& fabric) {
  const std::uint32_t lines = (fabric.packets.mtu + kLineBytes - 1) / kLineBytes;
  return fabric.packets.header_bytes + group_bytes(fabric) + lines * kLineBytes;
}

// What can still come into a buffer when its other end is told to stop: all that starts until the news is there, and the whole
// of the packet that starts last.
std::uint32_t slack(const Fabric& fabric) {
  std::int64_t in_flight = 0;
  for (const Link& link : fabric.links) {
    Picoseconds there_and_back = 2 * link.delay;
    if (link.to.kind == End::Kind::switch_) there_and_back += fabric.switches[link.to.index].delay;
    const std::int64_t bytes = there_and_back.count() / std::max<std::int64_t>(link.rate.time(1).count(), 1) + 1;
    in_flight = std::max(in_flight, bytes);
  }
  return largest_packet(fabric) + static_cast<std::uint32_t>(std::min<std::int64_t>(in_flight, 1 << 30));
}

Result<void> check(const Fabric& fabric) {
  if (fabric.rhinet == nullptr) return refuse("the fabric " + fabric.name + " is not RHiNET");
  if ((fabric.packets.lanes + 1) * fabric.rhinet->channels > kMostLanes) {
    return refuse("too many lanes: " + std::to_string(fabric.packets.lanes) +
                  " and one for acknowledgements, each of " + std::to_string(fabric.rhinet->channels) +
                  " channels; there can be " + std::to_string(kMostLanes));
  }
  for (std::size_t link = 0; link < fabric.links.size(); link += 2) {
    const Link& there = fabric.links[link];
    if (link + 1 == fabric.links.size() || fabric.links[link + 1].from != there.to ||
        fabric.links[link + 1].to != there.from) {
      return refuse("the links of a cable do not follow each other at " + fabric.name_of(there.from));
    }
    if (there.from.kind == End::Kind::node && there.to.kind == End::Kind::node) {
      return refuse(fabric.name_of(there.from) + " has no switch", "put a switch between two nodes");
    }
  }
  if (fabric.packets.buffer_bytes < slack(fabric)) {
    return refuse("a buffer of " + std::to_string(fabric.packets.buffer_bytes) +
                      " bytes has no room for what comes after its stop: " + std::to_string(slack(fabric)),
                  "a larger buffer, a smaller mtu or shorter cables");
  }
  return {};
}

} // namespace

Result<std::unique_ptr<RhinetNetwork>> RhinetNetwork::make(Fabric fabric, const std::vector<std::uint32_t>& unplugged) {
  auto wiring = wire(fabric);
  if (!wiring) return std::unexpected(std::move(wiring).error());
  if (auto good = check(fabric); !good) return std::unexpected(std::move(good).error());
  for (const std::uint32_t cable : unplugged) {
    if (cable >= fabric.links.size() / 2) return refuse("there is no cable " + std::to_string(cable));
  }
  std::unique_ptr<RhinetNetwork> network(new RhinetNetwork(std::move(fabric), std::move(*wiring)));
  network->boot(unplugged);
  return network;
}

Result<std::unique_ptr<RhinetNetwork>> RhinetNetwork::make_changing(Fabric fabric, std::vector<CableChange> changes) {
  std::ranges::stable_sort(changes, {}, &CableChange::at);
  std::vector<std::uint32_t> unplugged;
  for (const CableChange& change : changes) {
    if (change.cable >= fabric.links.size() / 2) {
      return refuse("there is no cable " + std::to_string(change.cable) + ": " + fabric.name + " has 0 to " +
                    std::to_string(fabric.links.size() / 2 - 1));
    }
    if (std::ranges::find(changes, change.cable, &CableChange::cable)->plugged) unplugged.push_back(change.cable);
  }
  auto network = make(std::move(fabric), unplugged);
  if (!network) return network;
  for (const CableChange& change : changes) {
    (*network)->push(std::max(change.at, Picoseconds{0}),
                     {.what = What::change, .a = change.cable, .b = change.plugged ? 1U : 0U});
  }
  return network;
}

RhinetNetwork::RhinetNetwork(Fabric fabric, Wiring wiring)
    : fabric_(std::move(fabric)), wiring_(std::move(wiring)), timing_(*fabric_.rhinet) {
  lay_out();
}

void RhinetNetwork::lay_out() {
  channels_ = fabric_.rhinet->channels;
  lanes_ = (fabric_.packets.lanes + 1) * channels_;
  stop_above_ = fabric_.packets.buffer_bytes - slack(fabric_);
  go_below_ = stop_above_ / 2;
  counters_.resize(fabric_.links.size());
  cables_.resize(fabric_.links.size() / 2);
  nodes_.resize(fabric_.nodes);
  for (std::uint32_t index = 0; index < fabric_.links.size(); ++index) {
    const Link& link = fabric_.links[index];
    Wire& wire = wires_.emplace_back();
    wire.rate = link.rate;
    wire.delay = link.delay;
    wire.latency = link.delay;
    wire.waiting.resize(lanes_);
    if (link.to.kind == End::Kind::switch_) {
      wire.to_switch = link.to.index;
      wire.latency += fabric_.switches[link.to.index].delay;
    } else {
      wire.to_node = link.to.index;
      nodes_[link.to.index].eject = index;
    }
    if (link.from.kind == End::Kind::node) nodes_[link.from.index].inject = index;
    ahead_ = std::max(ahead_, wire.latency + link.rate.time(largest_packet(fabric_)));
  }
  queue_.expect(ahead_);
  first_way_out_ = static_cast<std::uint32_t>(wires_.size()) * lanes_;
  buffers_.resize(first_way_out_ + std::size_t{2} * fabric_.nodes);
  switches_.resize(fabric_.switches.size());
  for (std::uint32_t at = 0; at < fabric_.switches.size(); ++at) {
    switches_[at].ports.assign(fabric_.nodes, kNoPort);
    maintainers_.emplace_back(PhysicalId{at + 1}, fabric_.switches[at].ports,
                              TableRule{fabric_.rhinet->routing, channels_}, kManager);
  }
}

Result<std::uint32_t> RhinetNetwork::add_group(std::vector<std::uint32_t> nodes) {
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  if (nodes.empty()) return refuse("an empty group of nodes");
  if (nodes.back() >= fabric_.nodes) {
    return refuse("there is no node " + std::to_string(nodes.back()) + " of " + std::to_string(fabric_.nodes));
  }
  // Programs send to the same few groups again and again.
  const auto known = std::ranges::find(groups_, nodes);
  if (known != groups_.end()) return static_cast<std::uint32_t>(known - groups_.begin());
  groups_.push_back(std::move(nodes));
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

Result<void> RhinetNetwork::submit(const Flow& flow) {
  Flow one = flow;
  if (flow.group != kNone) {
    if (flow.group >= groups_.size()) return refuse("there is no group " + std::to_string(flow.group));
    one.group = kNone;
    one.target = groups_[flow.group].front();
  }
  if (flow.route != kNone) return refuse("RHiNET forwards by its switches' tables: a sender cannot give a route");
  if (auto good = check_flow(fabric_, wiring_, one); !good) return good;
  const std::uint32_t index = flows_.take();
  const auto targets = flow.group == kNone ? 1 : static_cast<std::uint32_t>(groups_[flow.group].size());
  flows_[index] = {.flow = flow, .notices = targets + 1};
  nodes_[flow.source].send.primitives.push_back(index);
  start_primitive(flow.source);
  return {};
}

void RhinetNetwork::at(Picoseconds time, std::uint64_t cookie) {
  push(std::max(time, now_), {.what = What::timer, .c = cookie});
}

void RhinetNetwork::push(Picoseconds time, const Happening& what) {
  const std::uint32_t index = happenings_.take();
  happenings_[index] = what;
  queue_.push(time, index);
}

bool RhinetNetwork::step() {
  if (queue_.empty()) return false;
  const Event event = queue_.pop();
  const Happening what = happenings_[event.subject];
  happenings_.give_back(event.subject);
  now_ = event.time;
  ++events_;
  const auto seen = static_cast<std::uint64_t>(event.time.count()) ^ std::uint64_t{what.a} << 40 ^
                    std::uint64_t{static_cast<std::uint8_t>(what.what)} << 56;
  history_ = std::rotl((history_ ^ seen) * 0x9e37'79b9'7f4a'7c15U, 29);
  handle(what);
  return true;
}

// What was set going before a cut or a round of set-up is over, and its events with it.
void RhinetNetwork::handle(const Happening& event) {
  const auto sends = [&] { return nodes_[event.a].send.round == event.b; };
  const auto receives = [&] { return nodes_[event.a].receive.round == event.b; };
  switch (event.what) {
    case What::cell:
      if (wires_[event.a].cut == event.b) cell_came(event.a);
      return;
    case What::sent:
      if (wires_[event.a].round == event.b) sent(event.a);
      return;
    case What::signal:
      if (wires_[event.a].cut == event.b) signal(event.a, static_cast<std::uint32_t>(event.c >> 1), (event.c & 1) != 0);
      return;
    case What::decoded: return prepare(event.a);
    case What::prepared: ++nodes_[event.a].send.headers; return send_next(event.a);
    case What::fill:
      if (sends()) fill(event.a);
      return;
    case What::drain:
      if (sends()) drain_line(event.a);
      return;
    case What::data_done:
      if (sends()) data_done(event.a);
      return;
    case What::flag: return write_flag(event.a, event.b);
    case What::departed: return depart(event.a);
    case What::requested:
      if (receives()) dma_requested(event.a);
      return;
    case What::take:
      if (receives()) take_line(event.a);
      return;
    case What::write:
      if (receives()) write_line(event.a);
      return;
    case What::taken:
      if (receives()) taken(event.a);
      return;
    case What::timer:
      if (listener_ != nullptr) listener_->timer(event.c);
      return;
    case What::change: return event.b != 0 ? plug(event.a) : cut(event.a);
    case What::lost:
      --rounds_under_way_;
      if (cables_[event.a / 2].plugging == event.b) handshakes_lost(fabric_.links[event.a].from);
      return;
    case What::found:
      --rounds_under_way_;
      if (cables_[event.a].plugging == event.b) handshakes_found(event.a);
      return;
    case What::message: return deliver(event.a);
    case What::go: return go(event.a, event.c);
    case What::fetched:
      if (buffers_[event.a].round == event.b) request_ways_out(event.a);
      return;
  }
}

void RhinetNetwork::run_until(Picoseconds time) {
  while (!queue_.empty() && queue_.next_time() <= time) step();
  now_ = std::max(now_, time);
}

Result<void> RhinetNetwork::run() {
  while (step()) {
  }
  if (flows_.live() == 0) return {};
  const std::string cycle = find_deadlock();
  if (!cycle.empty()) {
    return refuse("the fabric is deadlocked: " + cycle, "more virtual lanes, or routes without a cycle");
  }
  for (std::uint32_t node = 0; node < fabric_.nodes; ++node) {
    const auto& left = nodes_[node].send.unacknowledged;
    if (left.empty()) continue;
    return refuse(std::to_string(flows_.live()) + " flows wait for nodes that cannot be reached: " +
                      fabric_.name_of_node(left.begin()->second.targets.front()) + " from " +
                      fabric_.name_of_node(node),
                  "plug the cables that were cut");
  }
  return refuse(std::to_string(flows_.live()) + " flows wait for nodes without a cable");
}

void RhinetNetwork::note(PushMoment moment, Picoseconds time, std::uint32_t flow) {
  if (probe_ != nullptr) probe_->moment(moment, time, flows_[flow].flow.cookie);
}

Flow RhinetNetwork::notice_given(std::uint32_t index) {
  const Flow flow = flows_[index].flow;
  if (--flows_[index].notices == 0) flows_.give_back(index);
  return flow;
}

std::uint64_t RhinetNetwork::packet_hops() const {
  std::uint64_t hops = 0;
  for (const LinkCounters& each : counters_) hops += each.packets;
  return hops;
}

std::string RhinetNetwork::name_of(Span::Part part, std::uint32_t index) const {
  switch (part) {
    case Span::Part::send_engine: return fabric_.name_of_node(index) + " sends";
    case Span::Part::receive_engine: return fabric_.name_of_node(index) + " receives";
    case Span::Part::link: break;
  }
  return fabric_.name_of(fabric_.links[index].from) + " -> " + fabric_.name_of(fabric_.links[index].to);
}

} // namespace heddle::sim
