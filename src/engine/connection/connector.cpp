#include "engine/connection/connector.hpp"

#include "engine/connection/slots.hpp"

#include <algorithm>

namespace heddle::engine {

using connection::Effect;
using connection::Input;
using connection::State;

namespace {

// Calls of progress between two tries for a common slot that another initiator holds: its transaction takes a few. Twice as
// many after each failed try, so that hundreds of initiators do not keep a responder's interface busy with their tries.
constexpr std::uint32_t kFirstLockRetry = 4;
constexpr std::uint32_t kLastLockRetry = 256;
// Slots that own attempts leave free for answers. An answered initiator needs nothing more to go on, so these always come
// free again; without them, processes whose slots are all taken by attempts would wait for each other.
constexpr std::ptrdiff_t kSlotsForAnswers = kCommandSlots / 2;

} // namespace

void Connector::feed(Connection& connection, Input input) {
  const connection::Step step = connection::step(connection.state, input);
  if (step.next != connection.state)
    engine_.recorder.record("connection", connection.rank, static_cast<std::uint64_t>(step.next),
                            static_cast<std::uint64_t>(input));
  connection.state = step.next;
  carry_out(connection, step.effect);
}

void Connector::broken(Connection& connection, const char* why) {
  connection.why = why;
  feed(connection, Input::broken);
}

void Connector::end(Connection& connection) {
  feed(connection, Input::ended);
  Port& port = *connection.port;
  RingHandover::free_slot(port, connection.slot);
  RingHandover::free_slot(port, connection.abandoned_slot);
}

void Connector::free_lock_of(Port& port, std::uint64_t incarnation) {
  if (port.area->common.lock.load(std::memory_order_relaxed) == incarnation) free_common_slot(port.area->common);
}

std::size_t Connector::look_at(Connection& connection) {
  std::size_t done = connection.slot >= 0 ? look_at_slot(connection, connection.slot) : 0;
  if (connection.abandoned_slot >= 0) done += look_at_slot(connection, connection.abandoned_slot);
  return done;
}

void Connector::carry_out(Connection& connection, Effect effect) {
  switch (effect) {
    case Effect::none: return;
    case Effect::lock: watch(connection); return; // progress tries
    case Effect::request: request(connection); return;
    case Effect::answer: answer(connection); return;
    case Effect::abandon_and_answer:
      abandon(connection);
      answer(connection);
      return;
    case Effect::turn_down: turn_down(connection); return;
    case Effect::inform: inform(connection); return;
    case Effect::acknowledge: acknowledge(connection); return;
    case Effect::establish:
      RingHandover::free_slot(*connection.port, connection.slot);
      host_.established(connection);
      return;
    case Effect::unlock: unlock(connection); return;
    case Effect::give_up:
      host_.lost(connection, connection.why != nullptr ? connection.why : "the connection could not be made");
      return;
    case Effect::violation: host_.lost(connection, "it broke the connection protocol"); return;
  }
}

std::size_t Connector::progress(Port& port) {
  std::size_t done = look_at_common_slot(port);
  for (std::size_t i = 0; i < under_way_.size();) {
    Connection& connection = *under_way_[i];
    if (connection.port == &port) {
      if (connection.state == State::locking && !connection.lock_asked) lock(connection);
      if (connection.slot >= 0) done += look_at_slot(connection, connection.slot);
      if (connection.abandoned_slot >= 0) done += look_at_slot(connection, connection.abandoned_slot);
    }
    const bool settled = (connection.connected() || connection.failed() || connection.state == State::idle) &&
                         connection.abandoned_slot < 0;
    if (settled) {
      under_way_[i] = under_way_.back();
      under_way_.pop_back();
    } else {
      ++i;
    }
  }
  return done;
}

void Connector::watch(Connection& connection) {
  if (std::find(under_way_.begin(), under_way_.end(), &connection) == under_way_.end())
    under_way_.push_back(&connection);
}

void Connector::lock(Connection& connection) {
  if (connection.lock_retry > 0) {
    --connection.lock_retry;
    return;
  }
  if (connection.slot < 0) {
    const auto& taken = connection.port->slot_taken;
    if (std::count(taken.begin(), taken.end(), false) <= kSlotsForAnswers) return;
    connection.slot = RingHandover::take_slot(*connection.port);
  }
  ir::Command command = lock_command(incarnation_of(engine_.book.uid(engine_.rank), connection.rank));
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{connection.rank};
  command.cookie = make_cookie(CookieKind::common_slot_lock, connection.rank);
  command.remote = connection.peer_area.at(BootstrapArea::lock_offset());
  connection.lock_asked = true;
  connection.queue().post(command);
}

void Connector::lock_answered(Connection& connection, const ir::Event& event) {
  connection.lock_asked = false;
  if (event.status != ir::Status::ok) {
    feed(connection, Input::peer_lost);
  } else if (event.value == 0) {
    feed(connection, Input::lock_taken);
  } else {
    connection.lock_patience = std::clamp(2 * connection.lock_patience, kFirstLockRetry, kLastLockRetry);
    connection.lock_retry = connection.lock_patience;
    feed(connection, Input::lock_busy);
  }
}

void Connector::put_word(Connection& connection, std::uint64_t offset, std::uint64_t word) {
  ir::Command command = word_put(word);
  command.peer = ir::Peer{connection.rank};
  command.remote = connection.peer_area.at(offset);
  connection.queue().post(command);
}

void Connector::unlock(Connection& connection) {
  put_word(connection, BootstrapArea::lock_offset(), 0);
}

void Connector::request(Connection& connection) {
  connection.requested = true;
  connection.introduced = true;
  ir::Command command =
      request_put(static_cast<std::uint32_t>(connection.slot), {.uid = engine_.book.uid(engine_.rank),
                                                                .number = connection.rank,
                                                                .address = connection.queue().translator().address()});
  command.peer = ir::Peer{connection.rank};
  command.remote = connection.peer_area.at(BootstrapArea::request_offset());
  connection.queue().post(command);
}

void Connector::answer(Connection& connection) {
  Port& port = *connection.port;
  if (connection.slot < 0) connection.slot = RingHandover::take_slot(port); // look_at_common_slot saw one free
  watch(connection);
  connection.introduced = true;
  const bool ready = handover_.prepare(connection);
  write_slot(connection, ready ? SlotVerb::answer : SlotVerb::refused, ready);
  free_common_slot(port.area->common);
  if (!ready) {
    broken(connection, "no memory for its ring");
  }
}

void Connector::abandon(Connection& connection) {
  // A request already written keeps its slot until the peer's last word on it; a lock still asked for is given back when
  // it comes (lock_taken -> unlock), and its slot serves the answer.
  if (!connection.requested) return;
  connection.abandoned_slot = connection.slot;
  connection.slot = -1;
  connection.requested = false;
}

void Connector::turn_down(Connection& connection) {
  write_slot(connection, SlotVerb::superseded, false);
  free_common_slot(connection.port->area->common);
}

void Connector::write_slot(Connection& connection, SlotVerb verb, bool with_body) {
  connection.queue().post(handover_.slot_command(connection, verb, with_body));
}

void Connector::inform(Connection& connection) {
  SlotBody told;
  if (!handover_.hear(connection, told)) {
    broken(connection, "it sent a malformed answer");
    return;
  }
  if (!handover_.prepare(connection) || !handover_.adopt(connection, told)) {
    write_slot(connection, SlotVerb::refused, false);
    broken(connection, "no memory for its ring, or no endpoint");
    return;
  }
  write_slot(connection, SlotVerb::information, true);
}

void Connector::acknowledge(Connection& connection) {
  SlotBody told;
  if (!handover_.hear(connection, told) || !handover_.adopt(connection, told)) {
    broken(connection, "it sent malformed connection data");
    return;
  }
  write_slot(connection, SlotVerb::acknowledge, false);
  RingHandover::free_slot(*connection.port, connection.slot);
  host_.established(connection);
}

std::size_t Connector::look_at_common_slot(Port& port) {
  const std::uint64_t word = look_at_request(port.area->common);
  if (word == 0) [[likely]]
    return 0;
  const Initiator initiator = read_initiator(port.area->common);
  const std::optional<std::uint32_t> slot = slot_of_request(word);
  Connection* connection = slot ? host_.connection_from(initiator, port) : nullptr;
  if (connection == nullptr || connection->failed() || connection->absent || connection->port != &port) {
    engine_.recorder.record("invalid request in the common slot", kNoPeer, initiator.uid, word);
    free_common_slot(port.area->common);
    return 1;
  }
  const bool prevails = initiator.uid < engine_.book.uid(engine_.rank);
  const Input input = prevails ? Input::request_prevails : Input::request_yields;
  const bool answered = connection::step(connection->state, input).next == State::awaiting_information;
  const bool needs_slot = answered && (connection->slot < 0 || connection->requested);
  if (needs_slot && std::find(port.slot_taken.begin(), port.slot_taken.end(), false) == port.slot_taken.end())
    return 0; // every transaction that ends frees one
  connection->number_there = static_cast<std::uint32_t>(initiator.number);
  const std::uint32_t before = connection->peer_slot;
  connection->peer_slot = *slot;
  feed(*connection, input);
  if (connection->state != State::awaiting_information)
    connection->peer_slot = before; // turned down: the own talk goes on
  return 1;
}

std::size_t Connector::look_at_slot(Connection& connection, std::int32_t index) {
  Port& port = *connection.port;
  const std::uint64_t word = take_word(port.area->slots[index]);
  if (word == 0) return 0;
  if (!is_word_of(word, engine_.book.uid(connection.rank))) return 0; // meant for who had the slot before
  if (index == connection.abandoned_slot) {
    RingHandover::free_slot(port, connection.abandoned_slot);
    return 1;
  }
  switch (verb_of(word)) {
    case SlotVerb::answer:
      connection.requested = false;
      feed(connection, Input::answer);
      return 1;
    case SlotVerb::information: feed(connection, Input::information); return 1;
    case SlotVerb::acknowledge: feed(connection, Input::acknowledge); return 1;
    case SlotVerb::refused: feed(connection, Input::refused); return 1;
    case SlotVerb::superseded:
      RingHandover::free_slot(port, connection.slot);
      connection.requested = false;
      feed(connection, Input::superseded);
      return 1;
    case SlotVerb::none: break;
  }
  broken(connection, "it wrote a malformed command slot");
  return 1;
}

bool Connector::connect_to_self(Connection& connection) {
  if (!handover_.prepare(connection) || !handover_.adopt(connection, connection.outgoing)) return false;
  feed(connection, Input::to_self);
  return true;
}

} // namespace heddle::engine
