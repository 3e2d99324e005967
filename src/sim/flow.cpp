#include "sim/flow.hpp"

#include <string>

namespace heddle::sim {
namespace {

std::unexpected<Error> no_such(const char* what, std::uint64_t value, std::uint64_t count) {
  return std::unexpected(
      Error{.code = ErrorCode::bad_argument,
            .fact = std::string("there is no ") + what + " " + std::to_string(value) + " of " + std::to_string(count)});
}

} // namespace

Result<void> check_flow(const Fabric& fabric, const Wiring& wiring, const Flow& flow) {
  const Interface& interface = fabric.interface;
  if (flow.source >= fabric.nodes) return no_such("source node", flow.source, fabric.nodes);
  if (flow.target >= fabric.nodes) return no_such("target node", flow.target, fabric.nodes);
  for (const std::uint32_t node : {flow.source, flow.target})
    if (fabric.is_absent(node))
      return std::unexpected(
          Error{.code = ErrorCode::unreachable, .fact = fabric.name_of_node(node) + " is out of order"});
  if (flow.send_engine >= interface.send_engines) {
    return no_such("send engine", flow.send_engine, interface.send_engines);
  }
  if (flow.receive_engine != kAnyEngine && flow.receive_engine >= interface.ports) {
    return no_such("receive engine", flow.receive_engine, interface.ports);
  }
  if (flow.group != kNone) {
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument, .fact = "the switches of this fabric do not copy packets"});
  }
  if (flow.lane >= fabric.packets.lanes) return no_such("lane", flow.lane, fabric.packets.lanes);
  const Tables& tables = fabric.tables;
  if (fabric.function.call != nullptr || flow.lid == 0 || flow.lid == tables.base[flow.target]) return {};
  if (flow.lid >= tables.lids || tables.owner[flow.lid] != flow.target) {
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "LID " + std::to_string(flow.lid) + " is not one of " + fabric.name_of_node(flow.target)});
  }
  // First LIDs are known to be reached from everywhere (check_tables), others need not be.
  auto way = path(fabric, wiring, node_end(flow.source), {.node = flow.target, .lid = flow.lid});
  if (!way) return std::unexpected(std::move(way).error());
  return {};
}

Flow with_defaults(const Fabric& fabric, Flow flow) {
  if (flow.lid == 0 && fabric.function.call == nullptr) flow.lid = fabric.tables.base[flow.target];
  if (flow.receive_engine == kAnyEngine) {
    flow.receive_engine = static_cast<std::uint16_t>(flow.send_engine % fabric.interface.ports);
  }
  return flow;
}

} // namespace heddle::sim
