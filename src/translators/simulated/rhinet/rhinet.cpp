#include "translators/simulated/rhinet/rhinet.hpp"

#include <string>

namespace heddle::translators::simulated {

namespace {

constexpr ir::Capabilities kRhinet = {.orders_puts = true,
                                      .atomics = true,
                                      .atomics_with_processor = false,
                                      .atomics_on_any_memory = true,
                                      .reads_any_memory = true,
                                      .engines = 1,
                                      .inline_bytes = 0,
                                      .largest_transfer = std::uint64_t{1} << 20U};

} // namespace

Rhinet::Rhinet(Interconnect& interconnect, ir::Peer self) : Simulated(interconnect, self, kRhinet) {}

ir::Address Rhinet::address() const {
  return pack<ir::Address>(Card{
      .node = interconnect().node_of(self()), .process = static_cast<std::uint32_t>(self()), .bootstrap = key_for(1)});
}

ir::MemoryKey Rhinet::key_for(std::uint64_t serial) const {
  // The process id is part of an area's id, so that an id of another process reaches nothing.
  return ir::MemoryKey{static_cast<std::uint64_t>(self()) << 32U | serial};
}

Result<ir::MemoryKey> Rhinet::learn(ir::Peer peer, const ir::Address& address) {
  const auto card = unpack<Card>(address);
  if (card.node != interconnect().node_of(peer) || card.process != static_cast<std::uint32_t>(peer))
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "the address of peer " + std::to_string(static_cast<std::uint32_t>(peer)) + " is that of another",
              .peer = static_cast<std::int64_t>(peer)});
  return card.bootstrap;
}

Steering Rhinet::way_to(ir::Peer, const ir::Command&, bool answer) const {
  const bool apart = interconnect().network().fabric().packets.lanes > 1;
  return {.lane = static_cast<std::uint16_t>(answer && apart ? 1 : 0)};
}

} // namespace heddle::translators::simulated
