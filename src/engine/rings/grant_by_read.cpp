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
    case Input::peer_lost: return {State::failed, state == State::failed ? Effect::none : Effect::give_up};
  }
  return {State::failed, Effect::violation};
}

} // namespace grant_by_read

void GrantByRead::feed(Link& link, grant_by_read::Input input) {
  const grant_by_read::Step step = grant_by_read::step(link.state, input);
  if (step.next != link.state)
    core_.recorder.record("ring by read", link.rank, static_cast<std::uint64_t>(step.next),
                          static_cast<std::uint64_t>(input));
  link.state = step.next;
  switch (step.effect) {
    case grant_by_read::Effect::none: return;
    case grant_by_read::Effect::ask:
      if (!ask(link)) wanting_.push_back(&link);
      return;
    case grant_by_read::Effect::establish: establish(link); return;
    case grant_by_read::Effect::give_up: host_.lost(link, "it gives no ring"); return;
    case grant_by_read::Effect::violation: host_.lost(link, "it gave a ring that nobody asked for"); return;
  }
}

std::size_t GrantByRead::progress() {
  return std::erase_if(wanting_, [this](Link* link) { return link->failed() || ask(*link); });
}

bool GrantByRead::ask(Link& link) {
  link.slot = Introduction::take_slot(*link.port);
  if (link.slot < 0) return false;
  ir::Command command;
  command.operation = ir::Operation::get;
  command.flags = ir::Flags::signalled | ir::Flags::announced;
  command.peer = ir::Peer{link.rank};
  command.cookie = make_cookie(CookieKind::directory, link.rank);
  command.remote = link.peer_area.at(BootstrapArea::directory_offset(core_.rank));
  command.local = reinterpret_cast<std::byte*>(&link.pointers);
  command.bytes = sizeof link.pointers;
  command.operand = static_cast<std::uint64_t>(link.slot);
  link.queue().post(command);
  return true;
}

void GrantByRead::directory_read(Link& link, const ir::Event& event) {
  // Whatever it says, the grant is on its way: the responder has been told of the read.
  if (event.status != ir::Status::ok) feed(link, grant_by_read::Input::peer_lost);
}

void GrantByRead::asked(Link& link, std::uint64_t slot) {
  if (slot >= kCommandSlots || link.granted) {
    host_.lost(link, "it asked for a ring in a way that makes no sense");
    return;
  }
  link.peer_slot = static_cast<std::uint32_t>(slot);
  link.granted = introduction_.prepare(link);
  if (link.granted) link.port->area->directory(link.rank).store(link.ring.grant.bytes, std::memory_order_relaxed);
  ir::Command command =
      Introduction::slot_command(link, link.granted ? SlotVerb::answer : SlotVerb::refused, link.granted);
  command.flags = command.flags | ir::Flags::announced;
  command.operand = slot;
  link.queue().post(command);
  if (link.granted)
    start(link);
  else
    host_.lost(link, "no memory for its ring");
}

void GrantByRead::answered(Link& link, std::uint64_t slot) {
  if (link.slot < 0 || slot != static_cast<std::uint64_t>(link.slot)) {
    host_.lost(link, "it wrote a command slot that is not its");
    return;
  }
  const auto verb = static_cast<SlotVerb>(take_word(link.port->area->slots[slot]));
  feed(link, verb == SlotVerb::answer ? grant_by_read::Input::grant : grant_by_read::Input::refused);
}

void GrantByRead::establish(Link& link) {
  SlotBody told;
  const bool sound =
      Introduction::hear(link, told) && introduction_.prepare_word(link) && introduction_.adopt(link, told);
  Introduction::free_slot(*link.port, link.slot);
  if (sound) {
    host_.established(link);
  } else {
    link.state = connection::State::failed; // it cannot be written to
    host_.lost(link, "the ring it granted makes no sense");
  }
}

} // namespace heddle::engine
