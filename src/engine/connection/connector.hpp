// Carries the connection machine out over bootstrap memory: locks, writes and reads slots, prepares rings and endpoints.
#pragma once

#include "base/reserve.hpp"
#include "engine/connection/introduction.hpp"
#include "engine/connection/machine.hpp"

#include <algorithm>
#include <vector>

namespace heddle::engine {

class Connector {
 public:
  Connector(Core& core, LinkHost& host) : core_(core), host_(host), introduction_(core) {}

  // Starts connecting, unless it is under way.
  void start(Link& link) { feed(link, connection::Input::start); }
  // A link of this process to itself: no protocol, its own ring at both ends. False when memory is short.
  bool connect_to_self(Link& link);

  // No transaction is under way here.
  [[nodiscard]] bool idle() const { return under_way_.empty(); }
  // A common slot is wanted that another initiator holds.
  [[nodiscard]] bool tries_again() const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [](const Link* link) { return link->state == connection::State::locking; });
  }
  // The same, where nothing is under way whose answer will tell.
  [[nodiscard]] bool tries_again_unasked() const {
    return std::any_of(under_way_.begin(), under_way_.end(),
                       [](const Link* link) { return link->state == connection::State::locking && !link->lock_asked; });
  }
  // The caller has slept meanwhile: what calls of progress were to pass before another try have passed.
  void try_again_now() {
    for (Link* link : under_way_) link->lock_retry = 0;
  }
  // Looks at the common slot and at the slots of transactions under way. Returns how much was done.
  std::size_t progress(Port& port);
  // The answer to the compare-and-swap on a common slot.
  void lock_answered(Link& link, const ir::Event& event);

  // The peer is gone: frees what it may have locked here, and what the transaction held.
  void forget(Link& link);

 private:
  void feed(Link& link, connection::Input input);
  void carry_out(Link& link, connection::Effect effect);

  // Puts the link among those looked at by progress.
  void watch(Link& link);

  void lock(Link& link);
  void unlock(Link& link);
  void request(Link& link);
  void answer(Link& link);
  void turn_down(Link& link);
  void abandon(Link& link);
  void inform(Link& link);
  void acknowledge(Link& link);

  std::size_t look_at_common_slot(Port& port);
  std::size_t look_at_slot(Link& link, std::int32_t slot);

  // Writes a word into the peer's slot, with link.outgoing behind it where the word has a body.
  void write_slot(Link& link, SlotVerb verb, bool with_body);
  void put_word(Link& link, std::uint64_t offset, std::uint64_t word);

  Core& core_;
  LinkHost& host_;
  Introduction introduction_;
  base::BackedVector<Link*> under_way_;
};

} // namespace heddle::engine
