#include "onesided/locks/locks.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::onesided {

namespace {

using SeatState = LockSeat::State;

// The number in a command's cookie: which lock, which use of it, which step.
constexpr unsigned kStepBits = 4;
constexpr unsigned kUseBits = 12;
constexpr std::uint64_t kUseMask = (std::uint64_t{1} << kUseBits) - 1;

// Brackets a lock's plain memory operations. Where the owner has closed the lock in the meantime they hit memory that is
// still mapped here and that nobody uses any more; the next call finds out. An inner one ends the outer one too: nothing that
// matters follows it.
class Inside {
 public:
  explicit Inside(const KnownArea& area) : direct_(area.seat.direct), entered_(direct_.enter()) {}
  ~Inside() {
    if (entered_) direct_.leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  const ir::DirectArea& direct_;
  bool entered_;
};

} // namespace

// --- words ---

template <typename Memory>
ir::Command BasicLocks<Memory>::command(KnownArea& area, std::uint64_t offset, Step step) const {
  ir::Command command;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{area.rank};
  command.cookie = engine::make_cookie(CookieKind::lock_step, (std::uint64_t{area.index} << (kUseBits + kStepBits)) |
                                                                  ((area.seat.generation & kUseMask) << kStepBits) |
                                                                  static_cast<std::uint64_t>(step));
  command.remote = area.place.at(offset);
  command.bytes = 0;
  command.head_bytes = 0;
  return command;
}

template <typename Memory>
bool BasicLocks<Memory>::add(KnownArea& area, std::uint64_t offset, std::uint64_t value, std::uint64_t& old) {
  if (area.seat.direct.exists()) {
    old = Memory::fetch_add(word(area, offset), value, std::memory_order_acq_rel);
    return true;
  }
  ir::Command command = this->command(area, offset, Step::main);
  command.operation = ir::Operation::fetch_and_add;
  command.operand = value;
  area.connection->queue().post(command);
  return false;
}

template <typename Memory>
bool BasicLocks<Memory>::swap(KnownArea& area, std::uint64_t offset, std::uint64_t expected, std::uint64_t value,
                              Step step, std::uint64_t& old) {
  if (area.seat.direct.exists()) {
    old = expected;
    Memory::compare_exchange(word(area, offset), old, value, std::memory_order_acq_rel);
    return true;
  }
  ir::Command command = this->command(area, offset, step);
  command.operation = ir::Operation::compare_and_swap;
  command.expected = expected;
  command.operand = value;
  area.connection->queue().post(command);
  return false;
}

template <typename Memory>
void BasicLocks<Memory>::store(KnownArea& area, std::uint64_t offset, std::uint64_t value) {
  if (area.seat.direct.exists()) {
    Memory::store(word(area, offset), value, std::memory_order_release);
    return;
  }
  ir::Command command = this->command(area, offset, Step::main);
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::none;
  std::memcpy(command.head.data(), &value, sizeof value);
  command.head_bytes = sizeof value;
  area.connection->queue().post(command);
}

template <typename Memory>
bool BasicLocks<Memory>::read_claim(KnownArea& area, std::uint32_t ticket) {
  if (area.seat.direct.exists()) {
    area.seat.word = Memory::load(word(area, layout_.claim(ticket)), std::memory_order_relaxed);
    return true;
  }
  ir::Command command = this->command(area, layout_.claim(ticket), Step::main);
  command.operation = ir::Operation::get;
  command.local = reinterpret_cast<std::byte*>(&area.seat.word);
  command.bytes = sizeof area.seat.word;
  area.connection->queue().post(command);
  return false;
}

// --- beginning and ending ---

template <typename Memory>
bool BasicLocks<Memory>::usable(KnownArea& area, Tracker& tracker, SeatState wanted) {
  const bool sound = fits(area) && area.seat.state == wanted;
  if (!sound) tracker.end(ErrorCode::bad_argument);
  return sound;
}

template <typename Memory>
void BasicLocks<Memory>::begin(KnownArea& area, Tracker& tracker, SeatState state) {
  area.seat.tracker = &tracker;
  area.seat.state = state;
  area.seat.told = false;
  ++area.seat.generation;
}

template <typename Memory>
void BasicLocks<Memory>::end(KnownArea& area, SeatState state, ErrorCode code) {
  Tracker* tracker = area.seat.tracker;
  area.seat.state = state;
  area.seat.tracker = nullptr;
  area.seat.alert = false;
  if (tracker != nullptr) tracker->end(code);
}

template <typename Memory>
void BasicLocks<Memory>::lost(KnownArea& area, ErrorCode code) {
  std::erase(waiting_, &area);
  if (area.seat.state == SeatState::away) return;
  end(area, SeatState::away, code);
  ++area.seat.generation; // what was asked for under it is no longer waited for
  area.seat.inspecting = false;
}

// --- the steps ---

template <typename Memory>
void BasicLocks<Memory>::lock(KnownArea& area, Tracker& tracker) {
  if (!usable(area, tracker, SeatState::away)) return;
  begin(area, tracker, SeatState::taking);
  std::uint64_t old = 0;
  if (!area.seat.direct.exists()) {
    store(area, layout_.trying(common_.engine.rank), 1);
    add(area, LockLayout::kState, LockState::kTakeTicket, old);
    return;
  }
  const Inside inside(area);
  if (!inside.entered()) {
    closed_.push_back(&area);
    return;
  }
  store(area, layout_.trying(common_.engine.rank), 1);
  add(area, LockLayout::kState, LockState::kTakeTicket, old);
  got_ticket(area, old);
}

template <typename Memory>
void BasicLocks<Memory>::got_ticket(KnownArea& area, std::uint64_t old) {
  const LockState state = LockState::unpack(old);
  area.seat.ticket = state.next;
  const bool is_served = state.serving == state.next;
  store(area, layout_.claim(state.next), LockClaim::pack(state.next, common_.engine.rank, is_served));
  store(area, layout_.trying(common_.engine.rank), 0);
  if (is_served) {
    end(area, SeatState::held, ErrorCode::ok);
    return;
  }
  // Whoever serves this ticket looks for its claim afterwards; here the claim is written first and the state looked at after,
  // by an operation that nothing passes. One of the two sees the other.
  area.seat.state = SeatState::looking;
  if (std::uint64_t now = 0; add(area, LockLayout::kState, 0, now)) {
    if (LockState::unpack(now).serving == area.seat.ticket)
      served(area);
    else
      wait(area);
  }
}

template <typename Memory>
void BasicLocks<Memory>::try_lock(KnownArea& area, Tracker& tracker) {
  if (!usable(area, tracker, SeatState::away)) return;
  begin(area, tracker, SeatState::trying);
  area.seat.forget_readings();
  if (!area.seat.direct.exists()) {
    if (common_.host.gone() > 0) { // `trying` is set only where a ticket is free: others who probe would wonder
      probe(area);
      return;
    }
    // As the lock was when it was last seen free, or as it began: where that is wrong, the answer says what is right.
    LockState expected = LockState::unpack(area.seat.word);
    expected.serving = expected.next;
    area.seat.word = expected.pack();
    try_free(area);
    return;
  }
  const Inside inside(area);
  if (!inside.entered()) {
    closed_.push_back(&area);
    return;
  }
  area.seat.word = Memory::load(word(area, LockLayout::kState), std::memory_order_relaxed);
  const LockState seen = LockState::unpack(area.seat.word);
  if (seen.next != seen.serving)
    found_busy(area);
  else
    try_free(area);
}

// Takes a ticket if the state is still what it was, which is that of a free lock.
template <typename Memory>
void BasicLocks<Memory>::try_free(KnownArea& area) {
  area.seat.state = SeatState::trying;
  store(area, layout_.trying(common_.engine.rank), 1);
  if (std::uint64_t old = 0;
      swap(area, LockLayout::kState, area.seat.word, area.seat.word + LockState::kTakeTicket, Step::main, old))
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
    if (std::uint64_t again = 0; swap(area, LockLayout::kState, old, old + LockState::kTakeTicket, Step::main, again))
      tried(area, again);
    return;
  }
  store(area, layout_.trying(common_.engine.rank), 0);
  found_busy(area);
}

// Whoever has it may be dead. Looked at once: who comes in between lives.
template <typename Memory>
void BasicLocks<Memory>::found_busy(KnownArea& area) {
  if (common_.host.gone() == 0 || !area.seat.before.empty()) {
    end(area, SeatState::away, ErrorCode::lock_busy);
    return;
  }
  probe(area);
}

template <typename Memory>
void BasicLocks<Memory>::probe(KnownArea& area) {
  area.seat.state = SeatState::probing;
  inspect(area);
}

template <typename Memory>
void BasicLocks<Memory>::wait(KnownArea& area) {
  area.seat.state = SeatState::waiting;
  area.seat.forget_readings();
  area.seat.alert = common_.host.gone() > 0;
  waiting_.push_back(&area);
}

template <typename Memory>
void BasicLocks<Memory>::served(KnownArea& area) {
  std::erase(waiting_, &area);
  area.seat.state = SeatState::asking;
  store(area, layout_.claim(area.seat.ticket), LockClaim::pack(area.seat.ticket, common_.engine.rank, true));
  if (std::uint64_t deaths = 0; add(area, LockLayout::kDeaths, 0, deaths)) learned_deaths(area, deaths);
}

template <typename Memory>
void BasicLocks<Memory>::learned_deaths(KnownArea& area, std::uint64_t deaths) {
  const bool died = waited_through_death(deaths, area.seat.ticket, layout_.slots());
  end(area, SeatState::held, died ? ErrorCode::holder_died : ErrorCode::ok);
}

template <typename Memory>
void BasicLocks<Memory>::unlock(KnownArea& area, Tracker& tracker) {
  if (!usable(area, tracker, SeatState::held)) return;
  begin(area, tracker, SeatState::leaving);
  std::uint64_t old = 0;
  if (!area.seat.direct.exists()) {
    add(area, LockLayout::kState, LockState::serve_next(area.seat.ticket), old);
    return;
  }
  const Inside inside(area);
  if (!inside.entered()) {
    closed_.push_back(&area);
    return;
  }
  add(area, LockLayout::kState, LockState::serve_next(area.seat.ticket), old);
  served_next(area, old);
}

template <typename Memory>
void BasicLocks<Memory>::served_next(KnownArea& area, std::uint64_t old) {
  const std::uint32_t following = area.seat.ticket + 1;
  if (LockState::unpack(old).next == following) {
    end(area, SeatState::away, ErrorCode::ok);
    return;
  }
  area.seat.state = SeatState::naming;
  if (!read_claim(area, following)) return;
  tell_next(area, following, area.seat.word);
  end(area, SeatState::away, ErrorCode::ok);
}

template <typename Memory>
void BasicLocks<Memory>::tell_next(KnownArea& area, std::uint32_t ticket, std::uint64_t claim_word) {
  const LockClaim claim = LockClaim::unpack(claim_word);
  if (!claim.valid || claim.ticket != ticket) return; // its owner will look at the state itself
  if (claim.rank == common_.engine.rank || claim.rank >= common_.engine.size) return;
  Connection* connection = common_.host.connection_to(claim.rank);
  if (connection == nullptr || connection->failed()) return; // those behind it pass it over
  common_.tell(*connection, RecordKind::lock_passed, LockPassed{.home = area.rank, .id = area.id, .ticket = ticket});
}

template <typename Memory>
void BasicLocks<Memory>::passed(const LockPassed& record) {
  KnownArea* area = common_.known.find(static_cast<std::uint32_t>(record.home), record.id);
  const bool meant =
      area != nullptr && std::uint64_t{area->seat.ticket} == record.ticket && area->state == KnownArea::State::open;
  // It may come before the answer of its last look, which saw the lock as it was before.
  if (meant && area->seat.state == SeatState::looking) area->seat.told = true;
  if (!meant || area->seat.state != SeatState::waiting) return; // it has seen so itself, or will
  if (!area->seat.direct.exists()) {
    served(*area);
    return;
  }
  progress(); // looks at the word itself
}

template <typename Memory>
std::size_t BasicLocks<Memory>::progress() {
  std::size_t done = 0;
  for (std::size_t i = 0; i < waiting_.size();) {
    KnownArea& area = *waiting_[i];
    if (area.seat.direct.exists()) {
      const Inside inside(area);
      if (!inside.entered()) {
        closed_.push_back(&area);
      } else if (LockState::unpack(Memory::load(word(area, LockLayout::kState), std::memory_order_acquire)).serving ==
                 area.seat.ticket) {
        served(area);
        ++done;
        continue; // it is no longer there
      }
    }
    if (area.seat.alert && !area.seat.inspecting) inspect(area);
    if (i < waiting_.size() && waiting_[i] == &area) ++i;
  }
  return done;
}

template <typename Memory>
bool BasicLocks<Memory>::tries_again() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [](const KnownArea* area) { return area->seat.alert; });
}

template <typename Memory>
void BasicLocks<Memory>::command_ended(const ir::Event& event) {
  const std::uint64_t number = engine::cookie_number(event.cookie);
  KnownArea& area = common_.known.all()[number >> (kUseBits + kStepBits)];
  const auto step = static_cast<Step>(number & ((1U << kStepBits) - 1));
  LockSeat& seat = area.seat;
  if (((number >> kStepBits) & kUseMask) != (seat.generation & kUseMask)) {
    if (step != Step::main) seat.inspecting = false;
    return;
  }
  if (event.status != ir::Status::ok) {
    seat.inspecting = false;
    lost(area, code_of(event, &area));
    return;
  }
  switch (step) {
    case Step::main: advance(area, event); return;
    case Step::read: judge(area); return;
    case Step::raise: raised_deaths(area, event.value == reading_of(seat.reading).at(LockLayout::kDeaths)); return;
    case Step::pass: passed_over(area, event.value == seat.word); return;
  }
}

template <typename Memory>
void BasicLocks<Memory>::advance(KnownArea& area, const ir::Event& event) {
  LockSeat& seat = area.seat;
  switch (seat.state) {
    case SeatState::taking: got_ticket(area, event.value); return;
    case SeatState::trying: tried(area, event.value); return;
    case SeatState::looking:
      if (seat.told || LockState::unpack(event.value).serving == seat.ticket)
        served(area);
      else
        wait(area);
      return;
    case SeatState::asking: learned_deaths(area, event.value); return;
    case SeatState::leaving: served_next(area, event.value); return;
    case SeatState::naming:
      tell_next(area, seat.ticket + 1, seat.word);
      end(area, SeatState::away, ErrorCode::ok);
      return;
    case SeatState::away:
    case SeatState::probing:
    case SeatState::waiting:
    case SeatState::held: return;
  }
}

// --- passing over the dead ---

template <typename Memory>
void BasicLocks<Memory>::peer_failed() {
  for (KnownArea* area : waiting_) {
    area->seat.alert = true;
    area->seat.forget_readings();
  }
}

template <typename Memory>
void BasicLocks<Memory>::inspect(KnownArea& area) {
  LockSeat& seat = area.seat;
  seat.inspecting = true;
  seat.reading.resize(layout_.bytes() / sizeof(std::uint64_t));
  if (!area.seat.direct.exists()) {
    ir::Command command = this->command(area, 0, Step::read);
    command.operation = ir::Operation::get;
    command.local = reinterpret_cast<std::byte*>(seat.reading.data());
    command.bytes = layout_.bytes();
    area.connection->queue().post(command);
    return;
  }
  {
    const Inside inside(area);
    if (!inside.entered()) {
      seat.inspecting = false;
      closed_.push_back(&area);
      return;
    }
    for (std::size_t i = 0; i < seat.reading.size(); ++i)
      seat.reading[i] = Memory::load(word(area, i * sizeof(std::uint64_t)), std::memory_order_acquire);
  }
  judge(area);
}

template <typename Memory>
void BasicLocks<Memory>::judge(KnownArea& area) {
  LockSeat& seat = area.seat;
  seat.inspecting = false;
  const bool probes = seat.state == SeatState::probing;
  if (!probes && seat.state != SeatState::waiting) return;
  const LockReading now = reading_of(seat.reading);
  const LockReading before = reading_of(seat.before);
  LockVerdict verdict = judge_lock(before, now, probes ? now.state().next : seat.ticket, [this](std::uint32_t rank) {
    return rank < common_.engine.size && common_.host.has_ended(rank);
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
void BasicLocks<Memory>::remember_reading(LockSeat& seat, bool in_order) {
  const LockState state = reading_of(seat.reading).state();
  seat.before = seat.reading;
  if (!in_order)
    seat.before[LockLayout::kState / sizeof(std::uint64_t)] =
        seat.readings == 0 ? LockState{.next = state.serving, .serving = state.serving}.pack() : seat.state_read;
  seat.state_read = state.pack();
  seat.readings = std::min(seat.readings + 1, 3U); // more makes no difference
}

template <typename Memory>
void BasicLocks<Memory>::act_on(KnownArea& area, LockVerdict verdict) {
  switch (verdict.kind) {
    case LockVerdict::Kind::mine: served(area); return;
    case LockVerdict::Kind::wait:
      area.seat.alert = common_.host.cut_off() > 0; // such a one may serve this ticket and cannot say so
      return;
    case LockVerdict::Kind::stay_alert: return;
    case LockVerdict::Kind::pass_over: start_passing(area, verdict.held); return;
  }
}

template <typename Memory>
void BasicLocks<Memory>::act_on_probe(KnownArea& area, LockVerdict verdict) {
  switch (verdict.kind) {
    case LockVerdict::Kind::mine:
      area.seat.word = reading_of(area.seat.reading).at(LockLayout::kState);
      try_free(area);
      return;
    case LockVerdict::Kind::wait:
    case LockVerdict::Kind::stay_alert: end(area, SeatState::away, ErrorCode::lock_busy); return;
    case LockVerdict::Kind::pass_over: start_passing(area, verdict.held); return;
  }
}

template <typename Memory>
void BasicLocks<Memory>::start_passing(KnownArea& area, bool held) {
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
void BasicLocks<Memory>::look_again(KnownArea& area) {
  area.seat.inspecting = false;
  area.seat.readings = std::min(area.seat.readings, 1U); // of the lock as it is now there is none
  if (area.seat.state == SeatState::probing) inspect(area);
}

// Before the lock moves on, so that whoever holds it next finds it: all who have a ticket by now waited through the death. Where this
// process is about to take the next ticket, that one counts too: it becomes this process's, or that of one who came before.
template <typename Memory>
void BasicLocks<Memory>::raise_deaths(KnownArea& area) {
  const std::uint64_t known = reading_of(area.seat.reading).at(LockLayout::kDeaths);
  std::uint32_t next = LockState::unpack(area.seat.word).next;
  if (takes_over(area.seat)) ++next;
  if (waited_through_death(known, next - 1, layout_.slots())) { // another process has said so
    pass_over(area);
    return;
  }
  if (std::uint64_t old = 0; swap(area, LockLayout::kDeaths, known, kDeathMark | next, Step::raise, old))
    raised_deaths(area, old == known);
}

template <typename Memory>
void BasicLocks<Memory>::raised_deaths(KnownArea& area, bool done) {
  if (done)
    pass_over(area);
  else
    look_again(area); // somebody came in between
}

template <typename Memory>
void BasicLocks<Memory>::pass_over(KnownArea& area) {
  LockSeat& seat = area.seat;
  // Only if nothing has changed since the reading.
  std::uint64_t after = seat.word + LockState::serve_next(LockState::unpack(seat.word).serving);
  if (takes_over(seat)) { // in one step with the next ticket, so that nobody finds the lock free and hears of no death
    store(area, layout_.trying(common_.engine.rank), 1);
    after += LockState::kTakeTicket;
  }
  if (std::uint64_t old = 0; swap(area, LockLayout::kState, seat.word, after, Step::pass, old))
    passed_over(area, old == seat.word);
}

template <typename Memory>
bool BasicLocks<Memory>::takes_over(const LockSeat& seat) {
  const LockState state = LockState::unpack(seat.word);
  return seat.state == SeatState::probing && state.next == state.serving + 1;
}

template <typename Memory>
void BasicLocks<Memory>::passed_over(KnownArea& area, bool done) {
  LockSeat& seat = area.seat;
  if (takes_over(seat)) {
    took_over(area, done);
    return;
  }
  const std::uint32_t following = LockState::unpack(seat.word).serving + 1;
  const bool is_own = seat.state == SeatState::waiting && following == seat.ticket;
  if (done && !is_own) tell_next(area, following, reading_of(seat.reading).at(layout_.claim(following)));
  if (done && is_own) {
    seat.inspecting = false;
    served(area);
  } else {
    look_again(area);
  }
}

template <typename Memory>
void BasicLocks<Memory>::took_over(KnownArea& area, bool done) {
  area.seat.inspecting = false;
  if (done) {
    area.seat.ticket = LockState::unpack(area.seat.word).next;
    served(area);
  }
  store(area, layout_.trying(common_.engine.rank), 0);
  if (!done) look_again(area);
}

template class BasicLocks<base::Processor>;

} // namespace heddle::onesided
