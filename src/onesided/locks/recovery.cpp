#include "onesided/locks/recovery.hpp"

#include <algorithm>

namespace heddle::onesided {

using lock::Input;

template <typename Memory>
void BasicRecovery<Memory>::command_ended(KnownArea& area, LockErrand errand, const ir::Event& event) {
  const LockSeat& seat = area.seat;
  switch (errand) {
    case LockErrand::step: return; // none of recovery's
    case LockErrand::read: judge(area); return;
    case LockErrand::raise:
      raised_deaths(area, event.value == reading_of(seat.reading).at(LockLayout::kDeaths));
      return;
    case LockErrand::pass: passed_over(area, event.value == seat.word); return;
  }
}

template <typename Memory>
void BasicRecovery<Memory>::inspect(KnownArea& area) {
  LockSeat& seat = area.seat;
  seat.inspecting = true;
  seat.reading.resize(words_.layout().bytes() / sizeof(std::uint64_t));
  if (!area.seat.direct.exists()) {
    ir::Command command = words_.command(area, 0, LockErrand::read);
    command.operation = ir::Operation::get;
    command.local = reinterpret_cast<std::byte*>(seat.reading.data());
    command.bytes = words_.layout().bytes();
    area.connection->queue().post(command);
    return;
  }
  {
    const Inside inside(area);
    if (!inside.entered()) {
      seat.inspecting = false;
      common_.closed(area);
      return;
    }
    for (std::size_t i = 0; i < seat.reading.size(); ++i)
      seat.reading[i] = Memory::load(words_.word(area, i * sizeof(std::uint64_t)), std::memory_order_acquire);
  }
  judge(area);
}

template <typename Memory>
void BasicRecovery<Memory>::judge(KnownArea& area) {
  LockSeat& seat = area.seat;
  seat.inspecting = false;
  const bool probes = seat.state == lock::State::probing;
  if (!probes && seat.state != lock::State::waiting) return;
  const LockReading now = reading_of(seat.reading);
  const LockReading before = reading_of(seat.before);
  LockVerdict verdict = judge_lock(before, now, probes ? now.state().next : seat.ticket, [this](std::uint32_t rank) {
    return rank < common_.engine.book.size() && common_.host.has_ended(rank);
  });
  // In direct memory words are read one after the other. A command reads them in any order: that one word was read before another
  // is known only of two commands.
  const bool in_order = seat.direct.exists();
  if (!in_order && verdict.kind == LockVerdict::Kind::pass_over && !verdict.held &&
      (seat.readings == 0 || LockState::unpack(seat.state_read).serving != now.state().serving))
    verdict.kind = LockVerdict::Kind::stay_alert; // `deaths` may be from before the ticket was served
  remember_reading(seat, in_order);
  const std::uint32_t enough = in_order ? 2 : 3;
  if (probes && seat.readings < enough && verdict.kind == LockVerdict::Kind::stay_alert)
    inspect(area); // a ticket that nobody claims is a dead one's only if that lasts
  else if (probes)
    act_on_probe(area, verdict);
  else
    act_on(area, verdict);
}

// The state counts as read before the `trying` words that stand beside it: where a command has read both, it is that of the command
// before; of the first, that no ticket was taken.
template <typename Memory>
void BasicRecovery<Memory>::remember_reading(LockSeat& seat, bool in_order) {
  const LockState state = reading_of(seat.reading).state();
  seat.before = seat.reading;
  if (!in_order)
    seat.before[LockLayout::kState / sizeof(std::uint64_t)] =
        seat.readings == 0 ? LockState{.next = state.serving, .serving = state.serving}.pack() : seat.state_read;
  seat.state_read = state.pack();
  seat.readings = std::min(seat.readings + 1, 3U); // more makes no difference
}

template <typename Memory>
void BasicRecovery<Memory>::act_on(KnownArea& area, LockVerdict verdict) {
  switch (verdict.kind) {
    case LockVerdict::Kind::mine: host_.feed(area, Input::served); return;
    case LockVerdict::Kind::wait:
      area.seat.alert = common_.host.cut_off() > 0; // such a one may serve this ticket and cannot say so
      return;
    case LockVerdict::Kind::stay_alert: return;
    case LockVerdict::Kind::pass_over: start_passing(area, verdict.held); return;
  }
}

template <typename Memory>
void BasicRecovery<Memory>::act_on_probe(KnownArea& area, LockVerdict verdict) {
  switch (verdict.kind) {
    case LockVerdict::Kind::mine:
      area.seat.word = reading_of(area.seat.reading).at(LockLayout::kState);
      host_.feed(area, Input::free);
      return;
    case LockVerdict::Kind::wait:
    case LockVerdict::Kind::stay_alert: host_.feed(area, Input::busy); return;
    case LockVerdict::Kind::pass_over: start_passing(area, verdict.held); return;
  }
}

template <typename Memory>
void BasicRecovery<Memory>::start_passing(KnownArea& area, bool held) {
  LockSeat& seat = area.seat;
  seat.inspecting = true;
  seat.word = reading_of(seat.reading).at(LockLayout::kState);
  common_.engine.recorder.record("lock passes over the dead", area.rank, area.id, LockState::unpack(seat.word).serving);
  if (held)
    raise_deaths(area);
  else
    pass_over(area);
}

// Who waits does so when it next makes progress, who tries the lock at once.
template <typename Memory>
void BasicRecovery<Memory>::look_again(KnownArea& area) {
  area.seat.inspecting = false;
  area.seat.readings = std::min(area.seat.readings, 1U); // of the lock as it is now there is none
  if (area.seat.state == lock::State::probing) inspect(area);
}

// Before the lock moves on, so that whoever holds it next finds it: all who have a ticket by now waited through the death. Where this
// process is about to take the next ticket, that one counts too: it becomes this process's, or that of one who came before.
template <typename Memory>
void BasicRecovery<Memory>::raise_deaths(KnownArea& area) {
  const std::uint64_t known = reading_of(area.seat.reading).at(LockLayout::kDeaths);
  std::uint32_t next = LockState::unpack(area.seat.word).next;
  if (takes_over(area.seat)) ++next;
  if (waited_through_death(known, next - 1, words_.layout().slots())) { // another process has said so
    pass_over(area);
    return;
  }
  if (std::uint64_t old = 0; words_.swap(area, LockLayout::kDeaths, known, kDeathMark | next, LockErrand::raise, old))
    raised_deaths(area, old == known);
}

template <typename Memory>
void BasicRecovery<Memory>::raised_deaths(KnownArea& area, bool done) {
  if (done)
    pass_over(area);
  else
    look_again(area); // somebody came in between
}

template <typename Memory>
void BasicRecovery<Memory>::pass_over(KnownArea& area) {
  LockSeat& seat = area.seat;
  // Only if nothing has changed since the reading.
  std::uint64_t after = seat.word + LockState::serve_next(LockState::unpack(seat.word).serving);
  if (takes_over(seat)) { // in one step with the next ticket, so that nobody finds the lock free and misses the death
    words_.set_trying(area, true);
    after += LockState::kTakeTicket;
  }
  if (std::uint64_t old = 0; words_.swap(area, LockLayout::kState, seat.word, after, LockErrand::pass, old))
    passed_over(area, old == seat.word);
}

template <typename Memory>
bool BasicRecovery<Memory>::takes_over(const LockSeat& seat) {
  const LockState state = LockState::unpack(seat.word);
  return seat.state == lock::State::probing && state.next == state.serving + 1;
}

template <typename Memory>
void BasicRecovery<Memory>::passed_over(KnownArea& area, bool done) {
  LockSeat& seat = area.seat;
  if (takes_over(seat)) {
    took_over(area, done);
    return;
  }
  const std::uint32_t following = LockState::unpack(seat.word).serving + 1;
  const bool is_own = seat.state == lock::State::waiting && following == seat.ticket;
  if (done && !is_own) host_.tell_next(area, following, reading_of(seat.reading).at(words_.layout().claim(following)));
  if (done && is_own) {
    seat.inspecting = false;
    host_.feed(area, Input::served);
  } else {
    look_again(area);
  }
}

template <typename Memory>
void BasicRecovery<Memory>::took_over(KnownArea& area, bool done) {
  area.seat.inspecting = false;
  if (done) {
    area.seat.ticket = LockState::unpack(area.seat.word).next;
    host_.feed(area, Input::served);
  }
  words_.set_trying(area, false);
  if (!done) look_again(area);
}

template class BasicRecovery<base::Processor>;

} // namespace heddle::onesided
