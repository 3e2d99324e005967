#include "sim/rhinet.hpp"

#include <algorithm>
#include <cmath>

#include "sim/rhinet/channels.hpp"
#include "sim/rhinet/timing.hpp"

namespace heddle::sim {
namespace {

// The interface for the general models, which know no lines and no cycles: what a packet costs is what rhinet/timing.hpp says of
// its first line and of each further one.
Interface interface_of(const RhinetParameters& given) {
  const RhinetTiming timing(given);
  const RhinetBandwidth bandwidth = sustained_bandwidth(given);
  const auto per_line = [](double rate) {
    return Picoseconds{static_cast<std::int64_t>(std::llround(kLineBytes * 1e12 / rate))};
  };
  const Picoseconds first_fill = timing.overlap ? Picoseconds{0} : timing.read_line();
  Interface interface;
  interface.startup = timing.primitive_write() + timing.decode() + timing.dma_request() + first_fill;
  interface.send_latency = timing.local(true, 1) + timing.through();
  interface.send.block_bytes = kLineBytes;
  interface.send.per_block = per_line(bandwidth.sender);
  // The flag follows the last word on the local bus; the stage has counted a refill after it that does not take place.
  interface.completion_latency = timing.local(true, kLineWords) + timing.to_flag_request() + timing.flag_to_pci() +
                                 timing.pci_write(1) - interface.send.per_block;
  interface.receive.fixed = timing.receive_decode() + timing.dma_request_to_local() + timing.local(true, 0);
  interface.receive.block_bytes = kLineBytes;
  interface.receive.per_block = timing.overlap ? std::max(timing.local(false, kLineWords), timing.pci_write(kLineWords))
                                               : timing.local(false, kLineWords) + timing.pci * given.into_pci +
                                                     timing.pci_write(kLineWords - given.almost_empty_words);
  interface.one_bus = true;
  interface.read_bus.block_bytes = kLineBytes;
  interface.read_bus.per_block = timing.read_line();
  interface.write_bus.block_bytes = kLineBytes;
  interface.write_bus.per_block = timing.pci_write(kLineWords);
  return interface;
}

} // namespace

Result<Fabric> rhinet(const RhinetParameters& given, const Topology& topology) {
  Fabric fabric;
  fabric.name = "rhinet";
  fabric.nodes = static_cast<std::uint32_t>(topology.nodes.size());
  fabric.node_names = topology.nodes;
  fabric.switch_names = topology.switches;
  for (const std::uint32_t ports : topology.ports) {
    fabric.switches.push_back({ports, given.switch_delay});
  }
  for (const Topology::Cable& cable : topology.cables) {
    const std::uint32_t metres = cable.metres == kNone ? given.cable_metres : cable.metres;
    const Rate rate = cable.rate.bytes_per_second == 0 ? given.rate : cable.rate;
    fabric.connect(cable.a, cable.b, rate, given.metre_delay * metres);
  }
  fabric.rhinet = std::make_shared<RhinetParameters>(given);
  fabric.interface = interface_of(given);
  fabric.packets = {.mtu = given.mtu,
                    .header_bytes = given.header_bytes,
                    .lanes = given.lanes,
                    .buffer_bytes = given.buffer_bytes,
                    .gaps = Gaps::fill};
  // The tables index ports, so the cables must be sound before.
  auto wiring = wire(fabric);
  if (!wiring) return std::unexpected(std::move(wiring).error());
  fabric.tables = rhinet_tables(fabric, given.routing, given.channels).tables;
  if (auto good = check_tables(fabric, *wiring); !good) return std::unexpected(std::move(good).error());
  return fabric;
}

} // namespace heddle::sim
