#include "engine/rings/grant_by_read.hpp"

#include "engine/connection/slots.hpp"

namespace heddle::engine {

namespace grant_by_read {

Step step(State state, Input input) {
  switch (input) {
    case Input::start:
      return state == State::idle ? Step{State::awaiting_answer, Effect::ask} : Step{state, Effect::none};
    case Input::grant:
      if (state == State::awaiting_answer) return {State::connected, Effect::establish};
      return state == State::failed ? Step{state, Effect::none} : Step{State::failed, Effect::violation};
    case Input::refused:
    case Input::broken:
    case Input::peer_lost: return {State::failed, state == State::failed ? Effect::none : Effect::give_up};
  }
  return {State::failed, Effect::violation};
}

} // namespace grant_by_read

void GrantByRead::feed(Connection& connection, grant_by_read::Input input) {
  const grant_by_read::Step step = grant_by_read::step(connection.state, input);
  if (step.next != connection.state)
    engine_.recorder.record("ring by read", connection.rank, static_cast<std::uint64_t>(step.next),
                            static_cast<std::uint64_t>(input));
  connection.state = step.next;
  switch (step.effect) {
    case grant_by_read::Effect::none: return;
    case grant_by_read::Effect::ask:
      if (!ask(connection)) wanting_.push_back(&connection);
      return;
    case grant_by_read::Effect::establish: establish(connection); return;
    case grant_by_read::Effect::give_up:
      host_.lost(connection, connection.why != nullptr ? connection.why : "it granted no ring");
      return;
    case grant_by_read::Effect::violation: host_.lost(connection, "it granted a ring that nobody asked for"); return;
  }
}

std::size_t GrantByRead::progress() {
  return std::erase_if(wanting_, [this](Connection* connection) { return connection->failed() || ask(*connection); });
}

bool GrantByRead::ask(Connection& connection) {
  connection.slot = RingHandover::take_slot(*connection.port);
  if (connection.slot < 0) return false;
  ir::Command command;
  command.operation = ir::Operation::get;
  command.flags = ir::Flags::signalled | ir::Flags::announced;
  command.peer = ir::Peer{connection.rank};
  command.cookie = make_cookie(CookieKind::directory, connection.rank);
  command.remote = connection.peer_area.at(BootstrapArea::directory_offset(engine_.rank));
  command.local = reinterpret_cast<std::byte*>(&connection.directory_entry);
  command.bytes = sizeof connection.directory_entry;
  command.operand = static_cast<std::uint64_t>(connection.slot);
  connection.queue().post(command);
  return true;
}

void GrantByRead::directory_read(Connection& connection, const ir::Event& event) {
  // Whatever it says, the grant is on its way: the read was announced to the responder.
  if (event.status != ir::Status::ok) feed(connection, grant_by_read::Input::peer_lost);
}

void GrantByRead::asked(Connection& connection, std::uint64_t slot) {
  if (slot >= kCommandSlots || connection.granted) {
    host_.lost(connection, "it sent a malformed request for a ring");
    return;
  }
  connection.peer_slot = static_cast<std::uint32_t>(slot);
  connection.granted = handover_.prepare(connection);
  if (connection.granted)
    connection.port->area->directory(connection.rank).store(connection.ring.grant.bytes, std::memory_order_relaxed);
  ir::Command command =
      handover_.slot_command(connection, connection.granted ? SlotVerb::answer : SlotVerb::refused, connection.granted);
  command.flags = command.flags | ir::Flags::announced;
  command.operand = slot;
  connection.queue().post(command);
  if (connection.granted)
    start(connection);
  else
    host_.lost(connection, "no memory for its ring");
}

void GrantByRead::answered(Connection& connection, std::uint64_t slot) {
  if (connection.slot < 0 || slot != static_cast<std::uint64_t>(connection.slot)) {
    host_.lost(connection, "it wrote to a command slot that is not its own");
    return;
  }
  const auto verb = verb_of(take_word(connection.port->area->slots[slot]));
  feed(connection, verb == SlotVerb::answer ? grant_by_read::Input::grant : grant_by_read::Input::refused);
}

void GrantByRead::establish(Connection& connection) {
  SlotBody told;
  const bool sound =
      handover_.hear(connection, told) && handover_.prepare_word(connection) && handover_.adopt(connection, told);
  RingHandover::free_slot(*connection.port, connection.slot);
  if (sound) {
    host_.established(connection);
  } else {
    connection.why = "it granted an invalid ring";
    feed(connection, grant_by_read::Input::broken); // it cannot be written to
  }
}

} // namespace heddle::engine
