#include "translators/simulated/simulated.hpp"

#include "translators/execute.hpp"

#include <string>

namespace heddle::translators::simulated {

Simulated::Simulated(Interconnect& interconnect, ir::Peer self, const ir::Capabilities& capabilities)
    : interconnect_(interconnect),
      self_(self),
      capabilities_(capabilities),
      area_keys_(static_cast<std::uint64_t>(self) << 32U),
      attached_(interconnect.size(), false) {
  capabilities_.engines = interconnect.network().fabric().interface.send_engines;
  interconnect_.join(*this);
}

Simulated::~Simulated() {
  interconnect_.leave(*this);
}

Result<ir::ExposedMemory> Simulated::allocate(std::size_t bytes) {
  return memory_.allocate(key_for(++serial_), bytes);
}

Result<ir::RemotePlace> Simulated::expose(std::span<std::byte> memory) {
  return memory_.expose(key_for(++serial_), memory);
}

ir::MemoryKey Simulated::draw_area_key() {
  constexpr std::uint64_t kCounted = std::uint64_t{1} << 20U; // rings stay far below
  for (;;) {
    const std::uint64_t number = area_keys_.draw() & 0xffff'ffffU;
    if (number >= kCounted && !memory_.holds(key_for(number))) return key_for(number);
  }
}

Result<ir::ExposedMemory> Simulated::allocate_area(std::size_t bytes) {
  return memory_.allocate(draw_area_key(), bytes);
}

Result<ir::RemotePlace> Simulated::expose_area(std::span<std::byte> memory) {
  return memory_.expose(draw_area_key(), memory);
}

Result<ir::RemotePlace> Simulated::attach(ir::Peer peer, const ir::Address& address) {
  const auto rank = static_cast<std::uint32_t>(peer);
  if (!interconnect_.has(peer))
    return std::unexpected(Error{.code = ErrorCode::unreachable,
                                 .fact = "peer " + std::to_string(rank) + " is not on this simulated network",
                                 .peer = static_cast<std::int64_t>(rank)});
  auto key = learn(peer, address);
  if (!key) return std::unexpected(std::move(key.error()));
  attached_[rank] = true;
  return ir::RemotePlace{.key = *key, .offset = 0};
}

void Simulated::detach(ir::Peer peer) {
  if (static_cast<std::uint32_t>(peer) < attached_.size()) attached_[static_cast<std::uint32_t>(peer)] = false;
}

std::size_t Simulated::submit(std::span<const ir::Command> commands) {
  std::size_t taken = 0;
  for (const ir::Command& command : commands) {
    const auto rank = static_cast<std::uint32_t>(command.peer);
    const auto* members = group(command.peer);
    if (members != nullptr && interconnect_.has(self_)) {
      if (command.operation != ir::Operation::put || oversized(command)) {
        refuse(command, ir::Status::refused);
      } else if (under_way_ == kQueueDepth) {
        return taken;
      } else {
        ++under_way_;
        interconnect_.carry_to_group(*this, command, *members);
      }
    } else if (rank >= attached_.size() || !attached_[rank] || !interconnect_.has(self_)) {
      refuse(command, ir::Status::peer_lost);
    } else if (oversized(command)) {
      refuse(command, ir::Status::refused);
    } else if (under_way_ == kQueueDepth) {
      return taken;
    } else {
      ++under_way_;
      interconnect_.carry(*this, command);
    }
    ++taken;
  }
  return taken;
}

ir::Resources Simulated::resources() const {
  const sim::Fabric& fabric = interconnect_.network().fabric();
  const sim::Interface& interface = fabric.interface;
  constexpr double kPerNanosecond = 1e-9;
  const auto nanoseconds = [](sim::Picoseconds time) { return static_cast<double>(time.count()) / 1000; };
  return {.engines = capabilities_.engines,
          .receive_engines = interface.ports,
          .engine_rate = interface.send.rate_at(fabric.packets.mtu) * kPerNanosecond,
          .node_rate = interface.read_bus.rate_at(fabric.packets.mtu) * kPerNanosecond,
          // Engines start the acknowledgement of what arrives as they start a put: where all send, one for each.
          .startup_ns = 2 * nanoseconds(interface.startup),
          .queue_ns = nanoseconds(interface.queue_access)};
}

sim::Heading Simulated::heading_to(ir::Peer peer, std::uint32_t) const {
  const std::uint32_t node = interconnect_.node_of(peer);
  const sim::Tables& tables = interconnect_.network().fabric().tables;
  return {.node = node, .lid = tables.base.empty() ? 0 : tables.base[node]};
}

std::vector<ir::PathLink> Simulated::route(ir::Peer peer, std::uint32_t path) const {
  return links_from(self_, heading_to(peer, path));
}

std::vector<ir::PathLink> Simulated::links_from(ir::Peer peer, const sim::Heading& heading) const {
  const sim::NetworkModel& network = interconnect_.network();
  const sim::Fabric& fabric = network.fabric();
  const auto links = sim::path(fabric, network.wiring(), sim::node_end(interconnect_.node_of(peer)), heading);
  if (!links) return {};
  const double whole = fabric.packets.mtu + fabric.packets.header_bytes;
  std::vector<ir::PathLink> route;
  for (const std::uint32_t number : *links) {
    const sim::Link& link = fabric.links[number];
    const bool at_node = link.from.kind == sim::End::Kind::node || link.to.kind == sim::End::Kind::node;
    if (at_node && fabric.interface.ports > 1) continue; // each engine has its own
    route.push_back({number, static_cast<double>(link.rate.bytes_per_second) * 1e-9 * fabric.packets.mtu / whole});
  }
  return route;
}

bool Simulated::oversized(const ir::Command& command) const {
  if (command.operation == ir::Operation::get) return command.bytes > capabilities_.largest_transfer;
  return command.operation == ir::Operation::put &&
         put_extent(command) > capabilities_.largest_transfer + 2 * ir::kHeadBytes; // head and terminator ride along
}

void Simulated::refuse(const ir::Command& command, ir::Status status) {
  if (!ir::has(command.flags, ir::Flags::signalled)) return;
  report({.kind = ir::EventKind::completed, .status = status, .peer = command.peer, .cookie = command.cookie});
}

void Simulated::report(const ir::Event& event) {
  events_.push(event);
  interconnect_.touch(self_);
}

void Simulated::announce(ir::Peer from, const ir::Command& command) {
  const bool read = command.operation == ir::Operation::get;
  if (read ? !capabilities_.announces_reads : !capabilities_.announces_writes) return;
  report({.kind = read ? ir::EventKind::remote_read : ir::EventKind::remote_written,
          .peer = from,
          .value = command.operand & 0xffU});
}

} // namespace heddle::translators::simulated
