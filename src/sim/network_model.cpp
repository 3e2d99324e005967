#include "sim/network_model.hpp"

#include "base/refusal.hpp"
#include "sim/fluid.hpp"
#include "sim/packet_network.hpp"
#include "sim/rhinet/network.hpp"

namespace heddle::sim {
namespace {

template <typename Network>
Result<std::unique_ptr<NetworkModel>> made(Fabric fabric) {
  auto network = Network::make(std::move(fabric));
  if (!network) return std::unexpected(std::move(network).error());
  return std::make_unique<Network>(std::move(*network));
}

} // namespace

Result<std::uint32_t> NetworkModel::add_group(std::vector<std::uint32_t>) {
  return refuse("the switches of this fabric do not copy packets");
}

Result<std::unique_ptr<NetworkModel>> make_network(Fabric fabric, Model model, std::vector<CableChange> changes) {
  if (fabric.rhinet != nullptr && model == Model::packets) {
    auto network = RhinetNetwork::make_changing(std::move(fabric), std::move(changes));
    if (!network) return std::unexpected(std::move(network).error());
    return std::move(*network);
  }
  if (!changes.empty() && model == Model::fluid)
    return refuse("in the fluid model no cable can be cut or plugged", "use the model of packets");
  if (!changes.empty())
    return refuse("the tables of " + fabric.name + " are fixed: no cable can be cut or plugged",
                  "use a rhinet fabric, whose switches set up their tables themselves");
  return model == Model::fluid ? made<FluidNetwork>(std::move(fabric)) : made<PacketNetwork>(std::move(fabric));
}

std::string name_of_part(const Fabric& fabric, Span::Part part, std::uint32_t index) {
  const Interface& interface = fabric.interface;
  switch (part) {
    case Span::Part::send_engine:
      return fabric.name_of_node(index / interface.send_engines) + " send engine " +
             std::to_string(index % interface.send_engines);
    case Span::Part::link:
      return fabric.name_of(fabric.links[index].from) + " -> " + fabric.name_of(fabric.links[index].to);
    case Span::Part::receive_engine:
      return fabric.name_of_node(index / interface.ports) + " receive engine " +
             std::to_string(index % interface.ports);
  }
  return "";
}

} // namespace heddle::sim
