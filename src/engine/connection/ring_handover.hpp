// How two processes hand each other their rings and endpoints: command slots, this side's ring and endpoint, and what it makes of the
// other's. Common to both ways of opening a connection (connector.hpp, rings/grant_by_read.hpp).
#pragma once

#include "engine/connection/connection.hpp"
#include "engine/engine_state.hpp"

namespace heddle::engine {

// What opening a connection needs of the engine around it.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  // The connection to a rank, made if there was none; null when there is no such rank.
  virtual Connection* connection_to(std::uint32_t rank) = 0;
  // The same to whoever asks for one through that port; null when it is nobody who may.
  virtual Connection* connection_from(const Initiator& initiator, const Port& port) = 0;
  // Messages may flow.
  virtual void established(Connection& connection) = 0;
  // The connection cannot be used any more: every operation on it ends.
  virtual void lost(Connection& connection, const char* why) = 0;
};

class RingHandover {
 public:
  explicit RingHandover(EngineState& engine) : engine_(engine) {}

  // A command slot for the peer's words, or -1 while all are taken.
  [[nodiscard]] static std::int32_t take_slot(Port& port);
  static void free_slot(Port& port, std::int32_t& slot);

  // The word that the peer reports to; false when memory is short.
  static bool prepare_word(Connection& connection);
  // That, ring and endpoint for this side, described in connection.outgoing; false when memory is short.
  bool prepare(Connection& connection);
  // Reads the peer's side out of connection.slot; false when it is malformed.
  bool hear(Connection& connection, SlotBody& told) const;
  // Prepares this side for what the peer has said; false when its endpoint cannot be connected to.
  bool adopt(Connection& connection, const SlotBody& told);
  // The words for connection.peer_slot at the peer, with connection.outgoing behind the verb where it has a body.
  [[nodiscard]] ir::Command slot_command(Connection& connection, SlotVerb verb, bool with_body) const;

 private:
  // Memory that payloads are put from where the network does not take them at once.
  void stage(Connection& connection);

  EngineState& engine_;
};

} // namespace heddle::engine
