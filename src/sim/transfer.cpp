#include "sim/transfer.hpp"

#include <string>

namespace heddle::sim {
namespace {

std::unexpected<Error> no_such(const char* what, std::uint64_t value, std::uint64_t count) {
  return std::unexpected(
      Error{.code = ErrorCode::bad_argument,
            .fact = std::string("there is no ") + what + " " + std::to_string(value) + " of " + std::to_string(count)});
}

} // namespace

Result<void> check_transfer(const Fabric& fabric, const Wiring& wiring, const Transfer& transfer) {
  const Interface& interface = fabric.interface;
  if (transfer.source >= fabric.nodes) return no_such("source node", transfer.source, fabric.nodes);
  if (transfer.target >= fabric.nodes) return no_such("target node", transfer.target, fabric.nodes);
  if (transfer.send_engine >= interface.send_engines) {
    return no_such("send engine", transfer.send_engine, interface.send_engines);
  }
  if (transfer.receive_engine != kAnyEngine && transfer.receive_engine >= interface.ports) {
    return no_such("receive engine", transfer.receive_engine, interface.ports);
  }
  if (transfer.group != kNone) {
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument, .fact = "the switches of this fabric do not copy packets"});
  }
  if (transfer.lane >= fabric.packets.lanes) return no_such("lane", transfer.lane, fabric.packets.lanes);
  const Tables& tables = fabric.tables;
  if (fabric.function.call != nullptr || transfer.lid == 0 || transfer.lid == tables.base[transfer.target]) return {};
  if (transfer.lid >= tables.lids || tables.owner[transfer.lid] != transfer.target) {
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument,
        .fact = "LID " + std::to_string(transfer.lid) + " is not one of " + fabric.name_of_node(transfer.target)});
  }
  // First LIDs are known to be reached from everywhere (check_tables), others need not be.
  auto way = path(fabric, wiring, node_end(transfer.source), {.node = transfer.target, .lid = transfer.lid});
  if (!way) return std::unexpected(std::move(way).error());
  return {};
}

Transfer with_defaults(const Fabric& fabric, Transfer transfer) {
  if (transfer.lid == 0 && fabric.function.call == nullptr) transfer.lid = fabric.tables.base[transfer.target];
  if (transfer.receive_engine == kAnyEngine) {
    transfer.receive_engine = static_cast<std::uint16_t>(transfer.send_engine % fabric.interface.ports);
  }
  return transfer;
}

} // namespace heddle::sim
