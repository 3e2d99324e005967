#include "engine/connection/connector.hpp"

#include "engine/connection/slots.hpp"

#include <algorithm>

namespace heddle::engine {

using connection::Effect;
using connection::Input;
using connection::State;

namespace {

// Calls of progress between two tries for a common slot that another initiator holds: its transaction takes a few. Twice as
// many after each try in vain, so that hundreds of initiators do not keep a responder's interface busy with their tries.
constexpr std::uint32_t kFirstLockRetry = 4;
constexpr std::uint32_t kLastLockRetry = 256;
// Slots that own attempts leave free for answers. An answered initiator needs nothing more to go on, so these always come
// free again; without them, processes whose slots are all taken by attempts would wait for each other.
constexpr std::ptrdiff_t kSlotsForAnswers = kCommandSlots / 2;

} // namespace

void Connector::feed(Link& link, Input input) {
  const connection::Step step = connection::step(link.state, input);
  if (step.next != link.state)
    core_.recorder.record("connection", link.rank, static_cast<std::uint64_t>(step.next),
                          static_cast<std::uint64_t>(input));
  link.state = step.next;
  carry_out(link, step.effect);
}

void Connector::carry_out(Link& link, Effect effect) {
  switch (effect) {
    case Effect::none: return;
    case Effect::lock: watch(link); return; // progress tries
    case Effect::request: request(link); return;
    case Effect::answer: answer(link); return;
    case Effect::abandon_and_answer:
      abandon(link);
      answer(link);
      return;
    case Effect::turn_down: turn_down(link); return;
    case Effect::inform: inform(link); return;
    case Effect::acknowledge: acknowledge(link); return;
    case Effect::establish:
      Introduction::free_slot(*link.port, link.slot);
      host_.established(link);
      return;
    case Effect::unlock: unlock(link); return;
    case Effect::give_up: host_.lost(link, "the connection could not be made"); return;
    case Effect::violation: host_.lost(link, "it broke the connection protocol"); return;
  }
}

std::size_t Connector::progress(Port& port) {
  std::size_t done = look_at_common_slot(port);
  for (std::size_t i = 0; i < under_way_.size();) {
    Link& link = *under_way_[i];
    if (link.port == &port) {
      if (link.state == State::locking && !link.lock_asked) lock(link);
      if (link.slot >= 0) done += look_at_slot(link, link.slot);
      if (link.abandoned_slot >= 0) done += look_at_slot(link, link.abandoned_slot);
    }
    const bool settled = (link.connected() || link.failed() || link.state == State::idle) && link.abandoned_slot < 0;
    if (settled) {
      under_way_[i] = under_way_.back();
      under_way_.pop_back();
    } else {
      ++i;
    }
  }
  return done;
}

void Connector::watch(Link& link) {
  if (std::find(under_way_.begin(), under_way_.end(), &link) == under_way_.end()) under_way_.push_back(&link);
}

void Connector::lock(Link& link) {
  if (link.lock_retry > 0) {
    --link.lock_retry;
    return;
  }
  if (link.slot < 0) {
    const auto& taken = link.port->slot_taken;
    if (std::count(taken.begin(), taken.end(), false) <= kSlotsForAnswers) return;
    link.slot = Introduction::take_slot(*link.port);
  }
  ir::Command command = lock_command(core_.rank);
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{link.rank};
  command.cookie = make_cookie(CookieKind::lock, link.rank);
  command.remote = link.peer_area.at(BootstrapArea::lock_offset());
  link.lock_asked = true;
  link.queue().post(command);
}

void Connector::lock_answered(Link& link, const ir::Event& event) {
  link.lock_asked = false;
  if (event.status != ir::Status::ok) {
    feed(link, Input::peer_lost);
  } else if (event.value == 0) {
    feed(link, Input::lock_taken);
  } else {
    link.lock_patience = std::clamp(2 * link.lock_patience, kFirstLockRetry, kLastLockRetry);
    link.lock_retry = link.lock_patience;
    feed(link, Input::lock_busy);
  }
}

void Connector::put_word(Link& link, std::uint64_t offset, std::uint64_t word) {
  ir::Command command = word_put(word);
  command.peer = ir::Peer{link.rank};
  command.remote = link.peer_area.at(offset);
  link.queue().post(command);
}

void Connector::unlock(Link& link) {
  put_word(link, BootstrapArea::lock_offset(), 0);
}

void Connector::request(Link& link) {
  link.requested = true;
  put_word(link, BootstrapArea::request_offset(), pack_request(core_.rank, static_cast<std::uint32_t>(link.slot)));
}

void Connector::answer(Link& link) {
  Port& port = *link.port;
  if (link.slot < 0) link.slot = Introduction::take_slot(port); // look_at_common_slot saw one free
  watch(link);
  const bool ready = introduction_.prepare(link);
  write_slot(link, ready ? SlotVerb::answer : SlotVerb::refused, ready);
  free_common_slot(port.area->common);
  if (!ready) {
    link.state = State::failed;
    host_.lost(link, "no memory for its ring");
  }
}

void Connector::abandon(Link& link) {
  // A request already written keeps its slot until the peer's last word on it; a lock still asked for is given back when
  // it comes (lock_taken -> unlock), and its slot serves the answer.
  if (!link.requested) return;
  link.abandoned_slot = link.slot;
  link.slot = -1;
  link.requested = false;
}

void Connector::turn_down(Link& link) {
  write_slot(link, SlotVerb::superseded, false);
  free_common_slot(link.port->area->common);
}

void Connector::write_slot(Link& link, SlotVerb verb, bool with_body) {
  link.queue().post(Introduction::slot_command(link, verb, with_body));
}

void Connector::inform(Link& link) {
  SlotBody told;
  if (!Introduction::hear(link, told)) {
    link.state = State::failed;
    host_.lost(link, "its answer makes no sense");
    return;
  }
  if (!introduction_.prepare(link) || !introduction_.adopt(link, told)) {
    write_slot(link, SlotVerb::refused, false);
    link.state = State::failed;
    host_.lost(link, "no memory for its ring, or no endpoint");
    return;
  }
  write_slot(link, SlotVerb::information, true);
}

void Connector::acknowledge(Link& link) {
  SlotBody told;
  if (!Introduction::hear(link, told) || !introduction_.adopt(link, told)) {
    link.state = State::failed;
    host_.lost(link, "its information makes no sense");
    return;
  }
  write_slot(link, SlotVerb::acknowledge, false);
  Introduction::free_slot(*link.port, link.slot);
  host_.established(link);
}

std::size_t Connector::look_at_common_slot(Port& port) {
  const std::uint64_t word = look_at_request(port.area->common);
  if (word == 0) [[likely]]
    return 0;
  const ConnectionRequest request = unpack_request(word);
  Link* link = request.valid && request.slot < kCommandSlots && request.initiator != core_.rank
                   ? host_.link_for(request.initiator)
                   : nullptr;
  if (link == nullptr || link->failed() || link->absent || link->port != &port) {
    core_.recorder.record("rubbish in the common slot", static_cast<std::int64_t>(request.initiator), word);
    free_common_slot(port.area->common);
    return 1;
  }
  const Input input = request.initiator < core_.rank ? Input::request_prevails : Input::request_yields;
  const bool answered = connection::step(link->state, input).next == State::awaiting_information;
  const bool needs_slot = answered && (link->slot < 0 || link->requested);
  if (needs_slot && std::find(port.slot_taken.begin(), port.slot_taken.end(), false) == port.slot_taken.end())
    return 0; // every transaction that ends frees one
  const std::uint32_t before = link->peer_slot;
  link->peer_slot = request.slot;
  feed(*link, input);
  if (link->state != State::awaiting_information) link->peer_slot = before; // turned down: the own talk goes on
  return 1;
}

std::size_t Connector::look_at_slot(Link& link, std::int32_t index) {
  Port& port = *link.port;
  const std::uint64_t word = take_word(port.area->slots[index]);
  if (word == 0) return 0;
  if (index == link.abandoned_slot) {
    Introduction::free_slot(port, link.abandoned_slot);
    return 1;
  }
  switch (static_cast<SlotVerb>(word)) {
    case SlotVerb::answer:
      link.requested = false;
      feed(link, Input::answer);
      return 1;
    case SlotVerb::information: feed(link, Input::information); return 1;
    case SlotVerb::acknowledge: feed(link, Input::acknowledge); return 1;
    case SlotVerb::refused: feed(link, Input::refused); return 1;
    case SlotVerb::superseded:
      Introduction::free_slot(port, link.slot);
      link.requested = false;
      feed(link, Input::superseded);
      return 1;
    case SlotVerb::none: break;
  }
  link.state = State::failed;
  host_.lost(link, "it wrote rubbish into a command slot");
  return 1;
}

bool Connector::connect_to_self(Link& link) {
  if (!introduction_.prepare(link) || !introduction_.adopt(link, link.outgoing)) return false;
  link.state = State::connected;
  return true;
}

void Connector::forget(Link& link) {
  Port& port = *link.port;
  if (port.area->common.lock.load(std::memory_order_relaxed) == link.rank + 1) free_common_slot(port.area->common);
  Introduction::free_slot(port, link.slot);
  Introduction::free_slot(port, link.abandoned_slot);
}

} // namespace heddle::engine
