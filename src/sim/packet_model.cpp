#include "sim/packet_model.hpp"

#include "sim/packet_network.hpp"
#include "sim/rhinet/network.hpp"

namespace heddle::sim {

Result<std::uint32_t> PacketModel::add_group(std::vector<std::uint32_t>) {
  return std::unexpected(
      Error{.code = ErrorCode::bad_argument, .fact = "the switches of this fabric do not copy packets"});
}

Result<std::unique_ptr<PacketModel>> make_packet_model(Fabric fabric, std::vector<CableChange> changes) {
  if (fabric.rhinet != nullptr) {
    auto network = RhinetNetwork::make_changing(std::move(fabric), std::move(changes));
    if (!network) return std::unexpected(std::move(network).error());
    return std::move(*network);
  }
  if (!changes.empty())
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the tables of " + fabric.name + " are fixed: no cable can be cut or plugged",
                                 .remedy = "use a rhinet fabric, whose switches set up their tables themselves"});
  auto network = PacketNetwork::make(std::move(fabric));
  if (!network) return std::unexpected(std::move(network).error());
  return std::make_unique<PacketNetwork>(std::move(*network));
}

} // namespace heddle::sim
