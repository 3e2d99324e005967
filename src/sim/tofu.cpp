#include "sim/tofu.hpp"

#include <memory>

#include "base/refusal.hpp"

namespace heddle::sim {
namespace {

enum Axis : std::size_t { kX, kY, kZ, kA, kB, kC };
constexpr std::array<Axis, 6> kOrder{kX, kY, kZ, kA, kC, kB};
constexpr std::uint64_t kMostNodes = 1 << 20;

// Router ports: two per axis, up then down; then one per engine.
constexpr std::uint32_t up_port(std::size_t axis) {
  return static_cast<std::uint32_t>(2 * axis);
}
constexpr std::uint32_t kFirstEnginePort = 12;

// A and C have two places and no way round.
constexpr bool is_ring(std::size_t axis) {
  return axis != kA && axis != kC;
}

Hop next_hop(const void* data, std::uint32_t at, const Heading& heading) {
  const auto& shape = *static_cast<const TofuShape*>(data);
  const TofuShape::Place here = shape.place(at);
  const TofuShape::Place there = shape.place(heading.node);
  const std::uint32_t even = heading.lane & ~1U;
  for (const Axis axis : kOrder) {
    const std::uint32_t size = shape.size[axis];
    const std::uint32_t from = here[axis];
    const std::uint32_t to = there[axis];
    if (from == to) continue;
    if (!is_ring(axis)) return {up_port(axis) + (to < from ? 1 : 0), even};
    const std::uint32_t ahead = to > from ? to - from : to + size - from;
    const bool up = ahead <= size - ahead;
    const bool will_pass_the_end = up ? from > to : from < to;
    return {up_port(axis) + (up ? 0 : 1), even + (will_pass_the_end ? 0 : 1)};
  }
  return {kFirstEnginePort + heading.port, even};
}

void connect_axis(const TofuShape& shape, std::size_t axis, std::uint32_t node, Fabric& fabric,
                  const TofuParameters& given) {
  const std::uint32_t size = shape.size[axis];
  TofuShape::Place place = shape.place(node);
  if (size == 1 || (!is_ring(axis) && place[axis] + 1 == size)) return;
  place[axis] = (place[axis] + 1) % size;
  fabric.connect(switch_end(node, up_port(axis)), switch_end(shape.node(place), up_port(axis) + 1), given.rate,
                 Picoseconds{0});
}

} // namespace

std::uint64_t TofuShape::nodes() const {
  std::uint64_t count = 1;
  for (const std::uint32_t each : size) count *= each;
  return count;
}

TofuShape::Place TofuShape::place(std::uint32_t node) const {
  Place place{};
  for (std::size_t axis = size.size(); axis-- > 0;) {
    place[axis] = node % size[axis];
    node /= size[axis];
  }
  return place;
}

std::uint32_t TofuShape::node(const Place& place) const {
  std::uint32_t node = 0;
  for (std::size_t axis = 0; axis < size.size(); ++axis) node = node * size[axis] + place[axis];
  return node;
}

TofuParameters tofu_d() {
  return {.engines = 6,
          .rate = {6'800'000'000},
          .engine_rate = {6'360'000'000},
          .node_rate = {38'100'000'000},
          .mtu = 1920,
          .hop = std::chrono::nanoseconds(80),
          .startup = std::chrono::nanoseconds(150),
          .queue_access = std::chrono::nanoseconds(200),
          .send_latency = std::chrono::nanoseconds(130),
          .receive_latency = std::chrono::nanoseconds(50)};
}

Result<Fabric> tofu(const TofuParameters& given) {
  auto shape = std::make_shared<TofuShape>();
  shape->size = {given.x, given.y, given.z, 2, 3, 2};
  for (std::size_t axis = kX; axis <= kZ; ++axis) {
    if (shape->size[axis] == 0) return refuse("a torus of size 0");
    if (shape->size[axis] > kMostNodes) return refuse("a torus of size " + std::to_string(shape->size[axis]));
  }
  if (shape->nodes() > kMostNodes) return refuse("more than " + std::to_string(kMostNodes) + " nodes");

  Fabric fabric;
  fabric.name = "tofu:" + std::to_string(given.x) + "x" + std::to_string(given.y) + "x" + std::to_string(given.z);
  fabric.nodes = static_cast<std::uint32_t>(shape->nodes());
  fabric.switches.assign(fabric.nodes, {kFirstEnginePort + given.engines, given.hop});
  for (std::uint32_t node = 0; node < fabric.nodes; ++node) {
    for (std::uint32_t engine = 0; engine < given.engines; ++engine) {
      fabric.connect(node_end(node, engine), switch_end(node, kFirstEnginePort + engine), given.rate, Picoseconds{0});
    }
    for (std::size_t axis = kX; axis <= kC; ++axis) connect_axis(*shape, axis, node, fabric, given);
  }
  Interface& interface = fabric.interface;
  interface.ports = given.engines;
  interface.send_engines = given.engines;
  interface.queue_packets = given.queue_packets;
  interface.startup = given.startup;
  interface.queue_access = given.queue_access;
  interface.send_latency = given.send_latency;
  interface.receive_latency = given.receive_latency;
  interface.send.rate = given.engine_rate;
  interface.receive.rate = given.engine_rate;
  interface.read_bus.rate = given.node_rate;
  interface.write_bus.rate = given.node_rate;
  fabric.packets = {.mtu = given.mtu,
                    .header_bytes = given.header_bytes,
                    .lanes = 2 * given.classes,
                    .buffer_bytes = given.buffer_bytes};
  fabric.function = {next_hop, std::move(shape)};
  return fabric;
}

} // namespace heddle::sim
