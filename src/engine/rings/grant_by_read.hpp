// How a ring is granted on networks without connections, which announce what is written and read. Each direction by itself:
//
//   initiator                                     responder
//   idle --start--> awaiting_answer                                  I1  reads its entry of the responder's directory, which
//                                                                        says that no ring is allocated; waits
//                                                 read announced     R1  allocates a ring, puts it into the initiator's
//                                                                        command slot, announced, and starts I1 itself if
//                                                                        it has not: control records go the other way
//   awaiting_answer --grant--> connected                             I2  initialises its producer and consumer pointers
//
// Both commands are announced with the number of the command slot. The grant may come before the answer to the read.
#pragma once

#include "base/reserve.hpp"
#include "engine/connection/ring_handover.hpp"

#include <vector>

namespace heddle::engine {

namespace grant_by_read {

using connection::State;

// broken: the grant cannot be used.
enum class Input : std::uint8_t { start, grant, refused, broken, peer_lost };
enum class Effect : std::uint8_t { none, ask, establish, give_up, violation };
struct Step {
  State next{};
  Effect effect{};
};
// Of the connection's states these occur: idle, awaiting_answer (of the grant), connected, failed.
Step step(State state, Input input);

} // namespace grant_by_read

// Whether rings are granted in this way; otherwise the connection protocol grants them.
inline bool grants_by_read(const ScheduleQueue& queue) {
  const ir::Capabilities& can = queue.capabilities();
  return queue.facets().endpoints == nullptr && can.announces_writes && can.announces_reads;
}

class GrantByRead {
 public:
  GrantByRead(EngineState& engine, ConnectionHost& host) : engine_(engine), host_(host), handover_(engine) {}

  // Asks for a ring, unless that was done.
  void start(Connection& connection) { feed(connection, grant_by_read::Input::start); }
  [[nodiscard]] bool idle() const { return wanting_.empty(); }
  // Asks for those that had no free command slot before.
  std::size_t progress();

  // The answer to the read of a directory.
  void directory_read(Connection& connection, const ir::Event& event);
  // The peer has read its entry here, and waits for a ring.
  void asked(Connection& connection, std::uint64_t slot);
  // The peer has written a command slot here.
  void answered(Connection& connection, std::uint64_t slot);

 private:
  void feed(Connection& connection, grant_by_read::Input input);
  // I1; false while there is no command slot.
  bool ask(Connection& connection);
  void establish(Connection& connection);

  EngineState& engine_;
  ConnectionHost& host_;
  RingHandover handover_;
  base::BackedVector<Connection*> wanting_;
};

} // namespace heddle::engine
