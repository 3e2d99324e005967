#include "onesided/locks/locks.hpp"

namespace heddle::onesided {

using lock::Effect;
using lock::Input;

// --- calls and their ends ---

template <typename Memory>
void BasicLocks<Memory>::call(KnownArea& area, Input input, Tracker& tracker) {
  LockSeat& seat = area.seat;
  const lock::Step step = lock::step(seat.state, input);
  if (step.effect == Effect::refuse || !fits(area)) {
    tracker.end(ErrorCode::bad_argument);
    return;
  }
  seat.tracker = &tracker;
  seat.state = step.next;
  seat.told = false;
  ++seat.generation;
  if (!seat.direct.exists()) {
    carry_out(area, step.effect, 0);
    return;
  }
  const Inside inside(area);
  if (inside.entered())
    carry_out(area, step.effect, 0);
  else
    common_.closed(area);
}

template <typename Memory>
void BasicLocks<Memory>::end(KnownArea& area, ErrorCode code) {
  Tracker* tracker = area.seat.tracker;
  area.seat.tracker = nullptr;
  area.seat.alert = false;
  if (tracker != nullptr) tracker->end(code);
}

template <typename Memory>
void BasicLocks<Memory>::lost(KnownArea& area, ErrorCode code) {
  common_.work_list.drop(area);
  feed(area, Input::lost, static_cast<std::uint64_t>(code));
}

// --- the machine ---

template <typename Memory>
void BasicLocks<Memory>::feed(KnownArea& area, Input input, std::uint64_t word) {
  const lock::Step step = lock::step(area.seat.state, input);
  area.seat.state = step.next;
  carry_out(area, step.effect, word);
}

template <typename Memory>
void BasicLocks<Memory>::carry_out(KnownArea& area, Effect effect, std::uint64_t word) {
  LockSeat& seat = area.seat;
  switch (effect) {
    case Effect::take_ticket: take_ticket(area); return;
    case Effect::look_first: look_first(area); return;
    case Effect::try_ticket: words_.set_trying(area, true); [[fallthrough]];
    case Effect::try_again: try_ticket(area); return;
    case Effect::probe: recovery_.inspect(area); return;
    case Effect::claim:
      words_.claim(area, true);
      words_.set_trying(area, false);
      end(area, ErrorCode::ok);
      return;
    case Effect::claim_and_look: claim_and_look(area); return;
    case Effect::remember: seat.told = true; return;
    case Effect::wait: wait(area); return;
    case Effect::ask: ask(area); return;
    case Effect::hold: {
      const bool died = waited_through_death(word, seat.ticket, words_.layout().slots());
      end(area, died ? ErrorCode::holder_died : ErrorCode::ok);
      return;
    }
    case Effect::serve_next: serve_next(area); return;
    case Effect::ask_name:
      if (words_.read_claim(area, seat.ticket + 1)) feed(area, Input::named);
      return;
    case Effect::tell: tell_next(area, seat.ticket + 1, seat.word); [[fallthrough]];
    case Effect::leave: end(area, ErrorCode::ok); return;
    case Effect::end_busy: end(area, ErrorCode::lock_busy); return;
    case Effect::give_up:
      end(area, static_cast<ErrorCode>(word));
      ++seat.generation; // what was asked for under it is no longer waited for
      seat.inspecting = false;
      return;
    case Effect::none:
    case Effect::refuse:
    case Effect::violation: return;
  }
}

// --- taking it ---

template <typename Memory>
void BasicLocks<Memory>::take_ticket(KnownArea& area) {
  words_.set_trying(area, true);
  if (std::uint64_t old = 0; words_.add(area, LockLayout::kState, LockState::kTakeTicket, old)) got_ticket(area, old);
}

template <typename Memory>
void BasicLocks<Memory>::got_ticket(KnownArea& area, std::uint64_t old) {
  const LockState state = LockState::unpack(old);
  area.seat.ticket = state.next;
  feed(area, served_or_not(area, state));
}

// Whoever serves this ticket looks for its claim afterwards; here the claim is written first and the state looked at after,
// by an operation that nothing passes. One of the two sees the other.
template <typename Memory>
void BasicLocks<Memory>::claim_and_look(KnownArea& area) {
  words_.claim(area, false);
  words_.set_trying(area, false);
  if (std::uint64_t now = 0; words_.add(area, LockLayout::kState, 0, now))
    feed(area, served_or_not(area, LockState::unpack(now)));
}

template <typename Memory>
void BasicLocks<Memory>::look_first(KnownArea& area) {
  LockSeat& seat = area.seat;
  seat.forget_readings();
  if (seat.direct.exists()) {
    const LockState seen = words_.load_state(area, std::memory_order_relaxed);
    seat.word = seen.pack();
    feed(area, seen.next == seen.serving ? Input::free : busy_or_doubt(area));
  } else if (common_.host.gone() > 0) { // `trying` is set only where a ticket is free: others who probe would wonder
    feed(area, Input::doubt);
  } else {
    // As the lock was when it was last seen free, or as it began: where that is wrong, the answer says what is right.
    LockState expected = LockState::unpack(seat.word);
    expected.serving = expected.next;
    seat.word = expected.pack();
    feed(area, Input::free);
  }
}

// Takes a ticket if the state is still what it was, which is that of a free lock.
template <typename Memory>
void BasicLocks<Memory>::try_ticket(KnownArea& area) {
  const std::uint64_t expected = area.seat.word;
  if (std::uint64_t old = 0;
      words_.swap(area, LockLayout::kState, expected, expected + LockState::kTakeTicket, LockErrand::step, old))
    tried(area, old);
}

template <typename Memory>
void BasicLocks<Memory>::tried(KnownArea& area, std::uint64_t old) {
  if (old == area.seat.word) {
    got_ticket(area, old);
    return;
  }
  const LockState state = LockState::unpack(old);
  area.seat.word = old;
  if (state.next == state.serving) { // free, but in another state than thought
    feed(area, Input::moved);
    return;
  }
  words_.set_trying(area, false);
  feed(area, busy_or_doubt(area));
}

// Whoever has it may be dead. Looked at once: who comes in between lives.
template <typename Memory>
Input BasicLocks<Memory>::busy_or_doubt(const KnownArea& area) const {
  return common_.host.gone() == 0 || !area.seat.before.empty() ? Input::busy : Input::doubt;
}

template <typename Memory>
void BasicLocks<Memory>::wait(KnownArea& area) {
  area.seat.forget_readings();
  area.seat.alert = common_.host.gone() > 0;
  common_.work_list.retry(LockTurn{&area});
}

template <typename Memory>
void BasicLocks<Memory>::ask(KnownArea& area) {
  common_.work_list.drop(area);
  words_.claim(area, true);
  if (std::uint64_t deaths = 0; words_.add(area, LockLayout::kDeaths, 0, deaths)) feed(area, Input::deaths, deaths);
}

template <typename Memory>
bool BasicLocks<Memory>::look(KnownArea& area) {
  if (area.seat.direct.exists()) {
    const Inside inside(area);
    if (!inside.entered()) {
      common_.closed(area);
      return false;
    }
    if (words_.load_state(area, std::memory_order_acquire).serving == area.seat.ticket) {
      feed(area, Input::served);
      return true;
    }
  }
  if (area.seat.alert && !area.seat.inspecting) recovery_.inspect(area);
  return area.seat.state != lock::State::waiting;
}

// --- giving it back ---

template <typename Memory>
void BasicLocks<Memory>::serve_next(KnownArea& area) {
  const std::uint64_t step = LockState::serve_next(area.seat.ticket);
  if (std::uint64_t old = 0; words_.add(area, LockLayout::kState, step, old)) left(area, old);
}

template <typename Memory>
void BasicLocks<Memory>::left(KnownArea& area, std::uint64_t old) {
  const bool is_last = LockState::unpack(old).next == area.seat.ticket + 1;
  feed(area, is_last ? Input::alone : Input::followed);
}

template <typename Memory>
void BasicLocks<Memory>::tell_next(KnownArea& area, std::uint32_t ticket, std::uint64_t claim_word) {
  const LockClaim claim = LockClaim::unpack(claim_word);
  if (!claim.valid || claim.ticket != ticket) return; // its owner will look at the state itself
  if (claim.rank == common_.engine.rank || claim.rank >= common_.engine.book.size()) return;
  Connection* connection = common_.host.connection_to(claim.rank);
  if (connection == nullptr || connection->failed()) return; // those behind it pass it over
  common_.tell(*connection, RecordKind::lock_passed, LockPassed{.home = area.rank, .id = area.id, .ticket = ticket});
}

// --- what comes in ---

template <typename Memory>
void BasicLocks<Memory>::passed(const LockPassed& record) {
  KnownArea* area = common_.known.find(static_cast<std::uint32_t>(record.home), record.id);
  if (area == nullptr || area->seat.ticket != record.ticket || area->state != KnownArea::State::open) return;
  // In direct memory it looks at the word itself. While it looks by a command, the answer may be of the lock as it was before.
  if (area->seat.state == lock::State::waiting && area->seat.direct.exists())
    look(*area);
  else
    feed(*area, Input::told);
}

template <typename Memory>
void BasicLocks<Memory>::peer_failed() {
  for (KnownArea& area : common_.known.all()) {
    if (area.seat.state != lock::State::waiting) continue;
    area.seat.alert = true;
    area.seat.forget_readings();
  }
}

template <typename Memory>
void BasicLocks<Memory>::command_ended(const ir::Event& event) {
  const auto [area, errand, stale] = words_.answer(event);
  if (stale) {
    if (errand != LockErrand::step) area->seat.inspecting = false;
    return;
  }
  if (event.status != ir::Status::ok) {
    area->seat.inspecting = false;
    lost(*area, code_of(event, area));
  } else if (errand == LockErrand::step) {
    step_ended(*area, event.value);
  } else {
    recovery_.command_ended(*area, errand, event);
  }
}

template <typename Memory>
void BasicLocks<Memory>::step_ended(KnownArea& area, std::uint64_t word) {
  using lock::State;
  switch (area.seat.state) {
    case State::taking: got_ticket(area, word); return;
    case State::trying: tried(area, word); return;
    case State::looking:
      feed(area, area.seat.told ? Input::served : served_or_not(area, LockState::unpack(word)));
      return;
    case State::asking: feed(area, Input::deaths, word); return;
    case State::leaving: left(area, word); return;
    case State::naming: feed(area, Input::named); return;
    case State::away:
    case State::probing:
    case State::waiting:
    case State::held: return; // nothing was asked
  }
}

template class BasicLocks<base::Processor>;

} // namespace heddle::onesided
