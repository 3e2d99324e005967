// Carries the connection machine out over bootstrap memory: locks, writes and reads slots, prepares rings and endpoints.
#pragma once

#include "base/reserve.hpp"
#include "engine/connection/machine.hpp"
#include "engine/connection/ring_handover.hpp"

#include <algorithm>
#include <vector>

namespace heddle::engine {

class Connector {
 public:
  Connector(EngineState& engine, ConnectionHost& host) : engine_(engine), host_(host), handover_(engine) {}

  // Starts connecting, unless it is under way.
  void start(Connection& connection) { feed(connection, connection::Input::start); }
  // A connection of this process to itself: no protocol, its own ring at both ends. False when memory is short.
  bool connect_to_self(Connection& connection);

  // No transaction is under way here.
  [[nodiscard]] bool idle() const { return under_way_.empty(); }
  // A common slot is wanted that another initiator holds.
  [[nodiscard]] bool tries_again() const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [](const Connection* connection) { return connection->state == connection::State::locking; });
  }
  // The same, where no command is under way whose answer would wake the caller.
  [[nodiscard]] bool tries_again_without_answer() const {
    return std::any_of(under_way_.begin(), under_way_.end(), [](const Connection* connection) {
      return connection->state == connection::State::locking && !connection->lock_asked;
    });
  }
  // The caller has slept meanwhile: what calls of progress were to pass before another try have passed.
  void try_again_now() {
    for (Connection* connection : under_way_) connection->lock_retry = 0;
  }
  // Looks at the common slot and at the slots of transactions under way. Returns how much was done.
  std::size_t progress(Port& port);
  // The answer to the compare-and-swap on a common slot.
  void lock_answered(Connection& connection, const ir::Event& event);

  // This side cannot go on with it: it fails, and nothing more is written to the peer.
  void broken(Connection& connection, const char* why);
  // The engine has ended it: frees what the transaction held.
  void end(Connection& connection);
  // That process is gone, and may have locked the common slot.
  static void free_lock_of(Port& port, std::uint64_t incarnation);
  // What the peer has said last. Returns how much was done.
  std::size_t look_at(Connection& connection);
  // Nothing here points to it any more.
  void forget(Connection& connection) { std::erase(under_way_, &connection); }

 private:
  void feed(Connection& connection, connection::Input input);
  void carry_out(Connection& connection, connection::Effect effect);

  // Puts the connection among those looked at by progress.
  void watch(Connection& connection);

  void lock(Connection& connection);
  void unlock(Connection& connection);
  void request(Connection& connection);
  void answer(Connection& connection);
  void turn_down(Connection& connection);
  void abandon(Connection& connection);
  void inform(Connection& connection);
  void acknowledge(Connection& connection);

  std::size_t look_at_common_slot(Port& port);
  std::size_t look_at_slot(Connection& connection, std::int32_t slot);

  // Writes a word into the peer's slot, with connection.outgoing behind it where the word has a body.
  void write_slot(Connection& connection, SlotVerb verb, bool with_body);
  void put_word(Connection& connection, std::uint64_t offset, std::uint64_t word);

  EngineState& engine_;
  ConnectionHost& host_;
  RingHandover handover_;
  base::BackedVector<Connection*> under_way_;
};

} // namespace heddle::engine
