// The packet model's control path: making a network, checking what is submitted, names.
#include "sim/packet_network.hpp"

#include <algorithm>

#include "base/refusal.hpp"

namespace heddle::sim {
namespace {

std::string of(std::uint64_t value, std::uint64_t count) {
  return std::to_string(value) + " of " + std::to_string(count);
}

} // namespace

PacketNetwork::PacketNetwork(Fabric fabric, Wiring wiring) : fabric_(std::move(fabric)), wiring_(std::move(wiring)) {
  lay_out();
}

Result<PacketNetwork> PacketNetwork::make(Fabric fabric) {
  auto wiring = wire(fabric);
  if (!wiring) return std::unexpected(std::move(wiring).error());
  if (fabric.function.call == nullptr) {
    if (auto good = check_tables(fabric, *wiring); !good) return std::unexpected(std::move(good).error());
  }
  const std::uint64_t channels = std::uint64_t{fabric.links.size()} * fabric.packets.lanes;
  const std::uint64_t engines = std::uint64_t{fabric.nodes} * fabric.interface.send_engines;
  if (channels + engines >= 1ULL << kIndexBits) return refuse("the fabric has too many links, lanes or engines");
  return PacketNetwork(std::move(fabric), std::move(*wiring));
}

void PacketNetwork::lay_out() {
  const PacketRules& rules = fabric_.packets;
  const Interface& interface = fabric_.interface;
  lanes_ = rules.lanes;
  counters_.resize(fabric_.links.size());
  for (const Link& link : fabric_.links) {
    LinkState state{.rate = link.rate, .delay = link.delay};
    state.full_bytes = rules.mtu + rules.header_bytes;
    state.full_time = link.rate.time(state.full_bytes);
    if (link.to.kind == End::Kind::switch_) {
      state.to_switch = link.to.index;
    } else {
      state.to_port = link.to.index * interface.ports + link.to.port;
    }
    links_.push_back(state);
  }
  channels_.assign(links_.size() * lanes_, {.credit = rules.buffer_bytes});
  engines_.resize(std::size_t{fabric_.nodes} * interface.send_engines);
  buffers_.resize(channels_.size() + engines_.size());
  for (std::uint32_t index = 0; index < engines_.size(); ++index) {
    const std::uint32_t node = index / interface.send_engines;
    const std::uint32_t port = index % interface.send_engines % interface.ports;
    engines_[index].node = node;
    engines_[index].link = wiring_.inject[node * interface.ports + port];
  }
  Picoseconds ahead{0};
  for (const LinkState& link : links_) ahead = std::max(ahead, link.full_time + link.delay);
  queue_.expect(4 * ahead);
  receiver_free_.resize(wiring_.eject.size());
  memories_.resize(fabric_.nodes);
}

Result<std::uint32_t> PacketNetwork::add_route(std::uint32_t source, std::uint32_t target,
                                               std::vector<std::uint16_t> ports) {
  if (source >= fabric_.nodes || target >= fabric_.nodes) {
    return refuse("a route from node " + of(source, fabric_.nodes) + " to node " + of(target, fabric_.nodes));
  }
  auto links = path_by_ports(fabric_, wiring_, node_end(source), ports, target);
  if (!links) return std::unexpected(std::move(links).error());
  routes_.push_back({source, target, std::move(ports)});
  return static_cast<std::uint32_t>(routes_.size() - 1);
}

Result<void> PacketNetwork::check_route(const Flow& flow) const {
  if (flow.route >= routes_.size()) return refuse("there is no route " + of(flow.route, routes_.size()));
  const Route& route = routes_[flow.route];
  if (route.source == flow.source && route.target == flow.target && flow.send_engine % fabric_.interface.ports == 0) {
    return {};
  }
  return refuse("route " + std::to_string(flow.route) + " is not one from port 0 of this source to this target");
}

Result<void> PacketNetwork::submit(const Flow& flow) {
  if (auto good = check_flow(fabric_, wiring_, flow); !good) return good;
  if (flow.route != kNone) {
    if (auto good = check_route(flow); !good) return good;
  }
  const std::uint32_t index = flows_.take();
  flows_[index] = {with_defaults(fabric_, flow), kNone};
  const std::uint32_t number = flow.source * fabric_.interface.send_engines + flow.send_engine;
  Engine& engine = engines_[number];
  if (engine.first == kNone) {
    engine.first = index;
  } else {
    flows_[engine.last].next = index;
  }
  engine.last = index;
  if (engine.awake || engine.blocked) return {};
  if (now_ < engine.free_at) {
    wake_engine(number, engine.free_at);
  } else {
    run_engine(number);
  }
  return {};
}

void PacketNetwork::at(Picoseconds time, std::uint64_t cookie) {
  const std::uint32_t index = timers_.take();
  timers_[index].cookie = cookie;
  push(time < now_ ? now_ : time, What::timer, index);
}

std::uint64_t PacketNetwork::packet_hops() const {
  std::uint64_t hops = 0;
  for (const LinkCounters& each : counters_) hops += each.packets;
  return hops;
}

} // namespace heddle::sim
