#include "translators/simulated/infiniband/infiniband.hpp"

#include "routing/location.hpp"

#include <bit>
#include <string>

namespace heddle::translators::simulated {

namespace {

constexpr ir::Capabilities kInfiniband = {.orders_puts = true,
                                          .atomics = true,
                                          .atomics_with_processor = false,
                                          .atomics_on_any_memory = true,
                                          .reads_any_memory = true,
                                          .inline_bytes = 128,
                                          .largest_transfer = std::uint64_t{1} << 31U};

Error invalid(ir::Peer peer, const std::string& what) {
  return {.code = ErrorCode::bad_argument,
          .fact = what + " of peer " + std::to_string(static_cast<std::uint32_t>(peer)) + " is invalid",
          .peer = static_cast<std::int64_t>(peer)};
}

} // namespace

Infiniband::Infiniband(Interconnect& interconnect, ir::Peer self)
    : Simulated(interconnect, self, kInfiniband), known_(interconnect.size()) {}

Infiniband::Card Infiniband::own_card() const {
  const sim::Tables& tables = interconnect().network().fabric().tables;
  const std::uint32_t node = interconnect().node_of(self());
  Card card{.lid = tables.base[node], .bootstrap = key_for(1)};
  while (card.lid + card.lids < tables.lids && tables.owner[card.lid + card.lids] == node) ++card.lids;
  return card;
}

ir::Address Infiniband::address() const {
  return pack<ir::Address>(own_card());
}

ir::MemoryKey Infiniband::key_for(std::uint64_t serial) const {
  // An odd factor permutes the 32-bit numbers: keys look random and never repeat.
  constexpr std::uint32_t kFactor = 0x9e37'79b1;
  const auto number = static_cast<std::uint32_t>(serial) + (static_cast<std::uint32_t>(self()) << 20U);
  return ir::MemoryKey{number * kFactor};
}

Result<ir::MemoryKey> Infiniband::learn(ir::Peer peer, const ir::Address& address) {
  const auto card = unpack<Card>(address);
  const sim::Tables& tables = interconnect().network().fabric().tables;
  const bool sound = card.lid != 0 && card.lid < tables.lids && tables.owner[card.lid] == interconnect().node_of(peer);
  if (!sound) return std::unexpected(invalid(peer, "the address"));
  Known& known = known_[static_cast<std::uint32_t>(peer)];
  known.lid = card.lid;
  known.lids = card.lids;
  return card.bootstrap;
}

std::uint64_t Infiniband::location() const {
  // The first node's first LID is 2^lmc.
  const sim::Tables& tables = interconnect().network().fabric().tables;
  return routing::Location{.base_lid = tables.base[interconnect().node_of(self())],
                           .lmc = static_cast<std::uint32_t>(std::countr_zero(tables.base.front()))}
      .number();
}

Result<ir::Endpoint> Infiniband::prepare_endpoint(ir::Peer peer) {
  return pack<ir::Endpoint>(QueuePair{.lid = own_card().lid, .number = static_cast<std::uint32_t>(peer) + 1});
}

Result<void> Infiniband::connect_endpoint(ir::Peer peer, const ir::Endpoint& endpoint) {
  const auto pair = unpack<QueuePair>(endpoint);
  Known& known = known_[static_cast<std::uint32_t>(peer)];
  if (pair.lid != known.lid || pair.number != static_cast<std::uint32_t>(self()) + 1)
    return std::unexpected(invalid(peer, "the queue pair"));
  if (known.offset >= known.lids)
    return std::unexpected(invalid(peer, "the path chosen to one of " + std::to_string(known.lids) + " LIDs"));
  known.ready = true;
  return {};
}

bool Infiniband::admits(ir::Peer from, ir::MemoryKey key) const {
  return key == key_for(1) || known_[static_cast<std::uint32_t>(from)].ready;
}

sim::Heading Infiniband::heading_to(ir::Peer peer, std::uint32_t path) const {
  return {.node = interconnect().node_of(peer), .lid = known_[static_cast<std::uint32_t>(peer)].lid + path};
}

Steering Infiniband::way_to(ir::Peer peer, const ir::Command& command, bool answer) const {
  const Known& known = known_[static_cast<std::uint32_t>(peer)];
  // Each process has a send queue of its own. A peer that is only answered is known by its node. What comes before the
  // connection goes to the first LID, as on a real subnet, where the path chosen is a property of the queue pair; a planned
  // command names its own.
  const bool named = !answer && command.path < known.lids;
  const std::uint32_t offset = known.ready ? (named ? command.path : known.offset) : 0;
  return {.lid = known.lid == 0 ? 0 : known.lid + offset,
          .send_engine = static_cast<std::uint16_t>(static_cast<std::uint32_t>(self()) % capabilities().engines)};
}

} // namespace heddle::translators::simulated
