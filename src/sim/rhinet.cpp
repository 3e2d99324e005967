#include "sim/rhinet.hpp"

#include <algorithm>

namespace heddle::sim {
namespace {

constexpr std::int64_t kPicosecondsPerMetre = 5000;

// Cycle counts between the moments of the report's timeline. Where two clocks share a step, the split is ours; the sums are
// within 0.02 us of what a logic analyser saw.
constexpr std::int64_t kPciPrimitiveWrite = 10; // PCI, through the bus controller to the local bus
constexpr std::int64_t kPrimitiveDecode = 28;   // controller: registers, address translation
constexpr std::int64_t kHeaderController = 2;   // controller, then
constexpr std::int64_t kNetworkCycles = 4;      // network, into the sending FIFO
constexpr std::int64_t kDmaStart = 20;          // PCI: request, grant, address
constexpr std::int64_t kReadLatency = 7;        // PCI: first word of a burst
constexpr std::int64_t kDataController = 6;     // controller: local bus to sending FIFO
constexpr std::int64_t kFlagRequest = 7;        // controller, after the last word
constexpr std::int64_t kFlagWrite = 32;         // PCI
constexpr std::int64_t kReceiveDecode = 28;     // controller: header, address translation
constexpr std::int64_t kReceiveDma = 12;        // controller: request to first word on the local bus
constexpr std::int64_t kWriteStart = 5;         // PCI
constexpr std::uint32_t kFifoBytes = 64;        // between the buses: full before the other side starts
constexpr std::int64_t kFifoWords = kFifoBytes / 4;
constexpr std::int64_t kBurstsPerFifo = kFifoBytes / 32; // a plain read of memory is broken off at a cache line

// The pipeline in picoseconds.
struct Pipeline {
  Picoseconds pci;
  Picoseconds controller;
  Picoseconds network_clock;
  bool overlap;
  bool read_multiple;

  explicit Pipeline(const RhinetParameters& given)
      : pci(given.pci_cycle),
        controller(given.controller_cycle),
        network_clock(given.rate.time(1)),
        overlap(given.overlap),
        read_multiple(given.read_multiple) {}

  [[nodiscard]] Picoseconds to_data_dma() const {
    return pci * (kPciPrimitiveWrite + kDmaStart) + controller * kPrimitiveDecode;
  }
  // All bursts that fill the FIFO once.
  [[nodiscard]] Picoseconds fill() const {
    return pci * (kFifoWords + kReadLatency * (read_multiple ? 1 : kBurstsPerFifo));
  }
  // The same while the other side empties it: the first burst's latency passes meanwhile.
  [[nodiscard]] Picoseconds refill() const { return fill() - pci * kReadLatency; }
  [[nodiscard]] Picoseconds local_bus() const { return controller * kFifoWords; }
  [[nodiscard]] Picoseconds to_local_bus() const { return overlap ? Picoseconds{0} : fill(); }
  [[nodiscard]] Picoseconds to_network() const { return controller * kDataController + network_clock * kNetworkCycles; }
  [[nodiscard]] Picoseconds send_block() const {
    return overlap ? std::max(fill(), local_bus()) : local_bus() + refill();
  }
  [[nodiscard]] Picoseconds to_flag() const { return controller * kFlagRequest + pci * kFlagWrite; }
  [[nodiscard]] Picoseconds to_receive() const { return controller * (kReceiveDecode + kReceiveDma); }
  [[nodiscard]] Picoseconds write() const { return pci * kFifoWords; }
  [[nodiscard]] Picoseconds to_write() const { return overlap ? Picoseconds{0} : local_bus() + pci * kWriteStart; }
  [[nodiscard]] Picoseconds receive_block() const {
    return overlap ? std::max(local_bus(), write()) : to_write() + write();
  }
};

Interface interface_of(const RhinetParameters& given) {
  const Pipeline pipeline(given);
  Interface interface;
  interface.startup = pipeline.to_data_dma() + pipeline.to_local_bus();
  interface.send_latency = pipeline.to_network();
  interface.send.block_bytes = kFifoBytes;
  interface.send.per_block = pipeline.send_block();
  // The flag follows the last word on the local bus; the stage has counted a refill after it that does not take place.
  interface.completion_latency = pipeline.to_flag() + pipeline.local_bus() - pipeline.send_block();
  interface.receive.fixed = pipeline.to_receive();
  interface.receive.block_bytes = kFifoBytes;
  interface.receive.per_block = pipeline.receive_block();
  interface.one_bus = true;
  interface.read_bus.block_bytes = kFifoBytes;
  interface.read_bus.per_block = pipeline.fill();
  interface.write_bus.block_bytes = kFifoBytes;
  interface.write_bus.per_block = pipeline.write();
  return interface;
}

} // namespace

std::array<Picoseconds, kPushMoments> push_timeline(const RhinetParameters& given, Picoseconds network) {
  const Pipeline pipeline(given);
  const Picoseconds local_write = pipeline.pci * kPciPrimitiveWrite;
  const Picoseconds request = local_write + pipeline.controller * kPrimitiveDecode;
  const Picoseconds header =
      request + pipeline.controller * kHeaderController + pipeline.network_clock * kNetworkCycles;
  const Picoseconds dma = request + pipeline.pci * kDmaStart;
  const Picoseconds on_local_bus = dma + pipeline.to_local_bus();
  const Picoseconds out = on_local_bus + pipeline.to_network();
  const Picoseconds flag = on_local_bus + pipeline.local_bus() + pipeline.controller * kFlagRequest;
  const Picoseconds receive = out + network + pipeline.controller * kReceiveDecode;
  const Picoseconds received = receive + pipeline.controller * kReceiveDma;
  return {Picoseconds{0},
          local_write,
          request,
          header,
          dma,
          on_local_bus,
          out,
          flag,
          flag + pipeline.pci * kFlagWrite,
          receive,
          received,
          received + pipeline.to_write()};
}

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
    fabric.connect(cable.a, cable.b, rate, Picoseconds{metres * kPicosecondsPerMetre});
  }
  fabric.interface = interface_of(given);
  fabric.packets = {.mtu = given.mtu,
                    .header_bytes = given.header_bytes,
                    .lanes = given.lanes,
                    .buffer_bytes = given.buffer_bytes,
                    .gaps = Gaps::fill};
  // The tables index ports, so the cables must be sound before.
  auto wiring = wire(fabric);
  if (!wiring) return std::unexpected(std::move(wiring).error());
  fabric.tables = shortest_ways(fabric, given.routing == RhinetRouting::up_down);
  if (auto good = check_tables(fabric, *wiring); !good) return std::unexpected(std::move(good).error());
  return fabric;
}

} // namespace heddle::sim
