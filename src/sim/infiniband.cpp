#include "sim/infiniband.hpp"

#include <algorithm>

#include "base/refusal.hpp"

namespace heddle::sim {
namespace {

constexpr std::uint64_t kMostEntries = 1 << 25; // of all tables: 64 MiB, a second or two to check

std::uint64_t entries_of(const routing::Fabric& fabric, std::uint32_t lmc) {
  const std::uint64_t lids = routing::base_lid(static_cast<std::uint32_t>(fabric.hosts.size()), lmc);
  return (lids + fabric.switches.size()) * fabric.switches.size();
}

Result<void> check_entries(const routing::Fabric& fabric, std::uint32_t lmc) {
  if (entries_of(fabric, lmc) <= kMostEntries) return {};
  return refuse("tables of " + std::to_string(fabric.switches.size()) + " switches for " +
                    std::to_string(fabric.hosts.size()) + " hosts with lmc " + std::to_string(lmc) +
                    " have more than " + std::to_string(kMostEntries) + " entries",
                "fewer levels or nodes, or a smaller lmc");
}

Tables tables_of(const routing::Subnet& subnet) {
  Tables tables;
  const auto switches = static_cast<std::uint32_t>(subnet.fabric.switches.size());
  tables.lids = subnet.tables.largest() + 1U;
  tables.owner.assign(tables.lids, kNone);
  for (std::uint32_t host = 0; host < subnet.lids.hosts; ++host) {
    tables.base.push_back(subnet.lids.lid(host, 0));
    if (subnet.fabric.hosts[host].present)
      std::fill_n(tables.owner.begin() + tables.base.back(), subnet.lids.offsets(), host);
  }
  tables.ports.reserve(std::size_t{switches} * tables.lids);
  for (std::uint32_t at = 0; at < switches; ++at)
    for (std::uint32_t lid = 0; lid < tables.lids; ++lid) {
      const routing::Port port = subnet.tables.port(at, static_cast<routing::Lid>(lid));
      tables.ports.push_back(port == routing::kUnset ? kNoPort : port);
    }
  return tables;
}

// Hosts' cables in the order of hosts, then those between switches, which both ends know, from the lower ones.
void add_cables(const routing::Fabric& subnet, const InfinibandParameters& given, Fabric& fabric) {
  const Picoseconds delay = given.metre_delay * given.cable_metres;
  for (std::uint32_t host = 0; host < subnet.hosts.size(); ++host)
    if (subnet.hosts[host].present)
      fabric.connect(node_end(host), switch_end(subnet.hosts[host].leaf, subnet.hosts[host].leaf_port), given.rate,
                     delay);
  for (std::uint32_t at = 0; at < subnet.switches.size(); ++at) {
    const routing::Switch& here = subnet.switches[at];
    for (std::uint32_t port = 1; port < here.ports.size(); ++port)
      if (const routing::Peer& peer = here.ports[port]; subnet.is_up(here.level, peer))
        fabric.connect(switch_end(at, port), switch_end(peer.index, peer.port), given.rate, delay);
  }
}

} // namespace

Result<Fabric> infiniband(const routing::Subnet& subnet, const InfinibandParameters& given) {
  if (auto good = check_entries(subnet.fabric, subnet.lids.lmc); !good) return std::unexpected(good.error());
  Fabric fabric;
  fabric.nodes = subnet.lids.hosts;
  for (const routing::Host& host : subnet.fabric.hosts) {
    fabric.node_names.push_back(host.name);
    if (host.present) continue;
    fabric.absent.resize(fabric.nodes);
    fabric.absent[fabric.node_names.size() - 1] = true;
  }
  for (const routing::Switch& each : subnet.fabric.switches) {
    fabric.switch_names.push_back(each.name);
    fabric.switches.push_back({static_cast<std::uint32_t>(each.ports.size()), given.switch_delay});
  }
  add_cables(subnet.fabric, given, fabric);
  fabric.interface.send_engines = given.send_engines;
  fabric.interface.queue_packets = given.queue_packets;
  fabric.interface.startup = given.startup;
  fabric.interface.send_latency = given.send_latency;
  fabric.interface.receive_latency = given.receive_latency;
  fabric.interface.send.rate = given.rate;
  fabric.interface.read_bus.rate = given.bus;
  fabric.interface.write_bus.rate = given.bus;
  fabric.packets = {.mtu = given.mtu,
                    .header_bytes = given.header_bytes,
                    .lanes = given.lanes,
                    .buffer_bytes = given.buffer_bytes,
                    .switching = given.switching};
  fabric.tables = tables_of(subnet);
  return fabric;
}

Result<Fabric> infiniband(const routing::SubnetText& text, const InfinibandParameters& given, routing::ReadText read) {
  auto cabling = routing::open_fabric(text, read);
  if (!cabling) return std::unexpected(std::move(cabling).error());
  std::optional<std::uint32_t> lmc = text.lmc.value_or(0);
  if (text.every_lid) {
    lmc = routing::kLargestLmc;
    while (*lmc > 0 && entries_of(*cabling, *lmc) > kMostEntries) --*lmc;
    const auto planned = routing::plan_lids(*cabling, routing::UpPaths(*cabling), {}, text.rule);
    if (!planned) return std::unexpected(planned.error());
    lmc = std::min(*lmc, planned->lmc);
  }
  // Too many LIDs at all are for routing to refuse; too many entries, before they are worked out.
  if (routing::base_lid(static_cast<std::uint32_t>(cabling->hosts.size()), *lmc) <= routing::kLargestUnicastLid)
    if (auto good = check_entries(*cabling, *lmc); !good) return std::unexpected(good.error());
  const auto subnet = routing::make_subnet(std::move(*cabling), lmc, text.rule);
  if (!subnet) return std::unexpected(subnet.error());
  auto fabric = infiniband(*subnet, given);
  if (fabric) fabric->name = "infiniband:" + text.shape;
  return fabric;
}

} // namespace heddle::sim
