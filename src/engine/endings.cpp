// How contact with a peer ended: its process has died or left, or the connection is lost. What had arrived is delivered first, then all
// that is under way with it ends, the program is told, and what the peer could reach serves others.
//
// Operations are ended by those who have added an end row to the handlers: Sender::peer_lost, Receiver::peer_lost (with that of Fetcher),
// added in engine.cpp; OneSidedEngine::peer_lost, Barriers, Exchanges and Patterns in their own rooms.
#include "engine/engine.hpp"

#include "engine/fate.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace heddle::engine {

void Engine::lost(Connection& connection, const char* why) {
  if (connection.parting) return part_with(connection);
  state_.recorder.record(why, connection.rank);
  connection.why = why;
  fail(connection, End::connection_lost);
}

void Engine::fail(Connection& connection, End how) {
  const bool could_write = connection.connected();
  tell_end(connection, how);
  connector_.end(connection);
  const std::uint32_t number = connection.number_there != Connection::kUnknown ? connection.number_there : state_.rank;
  Connector::free_lock_of(*connection.port, incarnation_of(state_.book.uid(connection.rank), number));
  connection.direct = {};
  connection.held_back = false;
  if (connection.absent) std::erase(absent_, &connection);
  std::erase(readable_, &connection);
  handlers_.tell(connection, {.how = how});
  // A peer that lives could still write to its ring and cells: they stay unused.
  if (how != End::connection_lost)
    take_back(connection);
  else if (could_write && !record_writer_.break_off(connection))
    break_off_later(connection);
  ++gone_;
}

void Engine::break_off_later(Connection& connection) {
  connection.must_break_off = true;
  enlist(connection);
}

void Engine::tell_end(Connection& connection, End how) {
  Event event{.kind = Event::Kind::peer_failed, .completion = {.code = ErrorCode::peer_failed}};
  switch (how) {
    case End::died: ++deaths_; break;
    case End::left: event = {.kind = Event::Kind::peer_left, .completion = {.code = ErrorCode::peer_left}}; break;
    case End::none:
    case End::removed: break;
    case End::connection_lost:
    case End::broke:
      ++cut_off_;
      event = {.kind = Event::Kind::connection_lost, .completion = {.code = ErrorCode::connection_lost}};
      break;
  }
  if (how != End::left) ++failures_;
  connection.fate = event.completion.code;
  gravest_fate_ = graver(gravest_fate_, connection.fate);
  event.completion.peer = Rank{connection.rank};
  state_.events.push_now(event);
  state_.say(LogLevel::info, [this, &connection] { return failed_error(connection.rank).fact; });
}

void Engine::take_back(Connection& connection) {
  connection.dead = true;
  Port& port = *connection.port;
  for (std::size_t cell = 0; cell < kClaimCells; ++cell)
    if (port.cell_taken[cell] && port.cell_peer[cell] == connection.rank) port.cell_taken[cell] = false;
  ir::Translator& translator = connection.queue().translator();
  state_.rings.give_back(translator, connection.ring);
  if (!connection.consumed_word.memory.empty()) translator.deallocate(connection.consumed_word);
  connection.consumed_word = {};
  state_.rings.give_back_staging(translator, connection.staging);
  connection.ring = {};
  translator.detach(ir::Peer{connection.rank});
}

void Engine::peer_gone(std::uint32_t rank, End how) {
  if (rank >= state_.book.size() || rank == state_.rank) return;
  if (connections_[rank] == &removed_) {
    if (Connection* parting = connection_of_command(rank); !parting->nobody()) let_go(*parting, how);
    return;
  }
  Connection* connection = connections_[rank] != nullptr ? connections_[rank] : &make_connection(rank);
  if (!connection->failed() && !deliver_the_last(*connection)) {
    connection->ending = how; // what it has left comes first
    return;
  }
  if (!connection->failed()) {
    fail(*connection, how);
  } else if (!connection->dead) { // the connection was lost before, or by what came last
    --cut_off_;
    connection->broke = false;
    tell_end(*connection, how);
    take_back(*connection);
    handlers_.tell(*connection, {.how = how, .before = End::connection_lost});
  } else if (how == End::died && connection->fate == ErrorCode::peer_left && !open_) {
    tell_end(*connection, how); // it had left, but came to a bad end: nothing of the engine's is left to end with it
    handlers_.tell(*connection, {.how = how, .before = End::left});
  }
}

void Engine::connection_broke(std::uint32_t rank) {
  if (rank >= state_.book.size() || rank == state_.rank) return;
  // It may have begun to connect again, by a way that has broken meanwhile, too.
  if (!open_)
    Connector::free_lock_of(*ports_[contacts_[rank].port], incarnation_of(state_.book.uid(rank), state_.rank));
  ports_[contacts_[rank].port]->queue->flush(); // what was held for it ends
  if (connections_[rank] == nullptr) return;
  if (connections_[rank] == &removed_) return peer_gone(rank, End::left); // parted with: nothing of it comes any more
  Connection& connection = *connections_[rank];
  if (!connection.failed()) static_cast<void>(deliver_the_last(connection));
  if (connection.dead || connection.broke) return;
  connection.why = "the network's connection broke";
  if (!connection.failed()) {
    fail(connection, End::broke);
  } else { // lost before, for good: now nobody can write there
    connection.must_break_off = false;
    take_back(connection);
  }
  connection.dead = false; // its process lives
  connection.broke = true;
}

// What is under way with the old one has ended; what still waits for an answer of the network waits for nobody.
void Engine::renew(std::uint32_t rank) {
  Connection* old = connections_[rank];
  // What the network has not taken of the old one must not go by the new.
  old->queue().flush();
  if (old->queue().held() != 0) return;
  connections_[rank] = nullptr;
  Connection* fresh = nullptr;
  try {
    retired_.reserve(retired_.size() + 1);
    fresh = connection_to(rank);
  } catch (const std::bad_alloc&) {
    connections_[rank] = old;
    throw;
  }
  state_.recorder.record("connects again", rank);
  --cut_off_;
  --gone_;
  gravest_fate_ = ErrorCode::ok;
  for (const Connection* each : connections_)
    if (each != nullptr && each->failed() && each != &removed_) gravest_fate_ = graver(gravest_fate_, each->fate);
  handlers_.tell(*old, {.how = End::none, .before = End::broke, .instead = fresh});
  assistant_.replace(*old, broken_);
  state_.operations.visit_all([&](Operation& operation) {
    if (operation.connection == old) operation.connection = &broken_;
  });
  // Callers may still hold on to it: it goes when they have returned.
  retired_.push_back(old);
}

void Engine::drop_retired() {
  for (Connection* old : std::exchange(retired_, {})) {
    std::erase(to_pump_, old);
    drop_connection(*old);
  }
}

bool Engine::deliver_the_last(Connection& connection) {
  connection.held_back = false;
  state_.unsolicited.drain(true);
  read_whole_ring(&connection);
  if (!connection.failed() && connection.ring.grant.type == RingType::shared) {
    SharedRing& shared = connection.port->shared;
    while (read_shared_ring(*connection.port) > 0) {
    }
    // Its records may stand behind another's that there is no memory for.
    const Claim next = shared.reader.peek();
    if (next.owner != 0 && shared.reader.current(next) && next.ready)
      hold_back(connection);
    else if (!connection.failed())
      read_ahead(connection);
  }
  state_.unsolicited.drain(false);
  return connection.failed() || !connection.held_back;
}

Error Engine::failed_error(std::uint32_t rank) const {
  const Connection& connection = *connections_[rank];
  const std::string name = "rank " + std::to_string(rank);
  if (&connection == &removed_)
    return {.code = ErrorCode::bad_argument, .fact = name + " was removed", .remedy = "add the peer again"};
  Error error{.code = connection.fate, .fact = name + " has died", .peer = rank};
  if (connection.fate == ErrorCode::peer_left) {
    error.fact = name + (open_ ? " has left" : " has left the job");
    error.remedy = open_ ? "remove it, and add it again if it comes back"
                         : "let it leave only when all that it takes part in has ended, such as after a barrier";
  } else if (const auto found = unreachable_.find(rank);
             connection.fate == ErrorCode::connection_lost && found != unreachable_.end()) {
    error.fact = name + " cannot be reached: " + found->second.fact;
    error.remedy = found->second.remedy;
    error.system_code = found->second.system_code;
  } else if (connection.fate == ErrorCode::connection_lost) {
    error.fact =
        "the connection to " + name + " is lost: " + (connection.why == nullptr ? "it broke off" : connection.why);
    error.remedy = connection.broke ? "the next operation connects again; what was under way has to be repeated"
                                    : "let both go on without each other, or end the job";
  } else {
    error.remedy = "stop communicating with the ranks of peer_failed events";
  }
  return error;
}

} // namespace heddle::engine
