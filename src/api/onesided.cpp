// The public calls of one-sided operations: the quick way first, then the engine's general one; blocking forms wait here.
#include "api/atomic_error.hpp"
#include "api/state.hpp"
#include "base/pause.hpp"
#include "base/shared_words.hpp"

#include <heddle/onesided.hpp>

#include <algorithm>

namespace heddle {

namespace {

// A push only reads its memory.
std::span<std::byte> unconst(ConstMemory data) {
  return {const_cast<std::byte*>(data.data()), data.size()};
}

// In a child of fork: the tracker then says so.
template <typename State>
bool refused(const State& state, Tracker& tracker) {
  if (!state.must_refuse()) [[likely]]
    return false;
  tracker.note(ErrorCode::bad_argument);
  return true;
}

// In an open world, where tickets would have no ranks to name.
template <typename State>
bool refused_lock(const State& state, Tracker& tracker) {
  if (state.is_open()) tracker.note(ErrorCode::unsupported);
  return state.is_open();
}

} // namespace

OneSided& Context::one_sided() {
  return state_->one_sided();
}

Result<std::span<std::byte>> OneSided::allocate(AreaId id, std::size_t bytes, const Access& access) {
  if (state_.must_refuse()) [[unlikely]]
    return state_.refuse();
  return unless_out_of_memory([&] { return state_.one_sided_engine().allocate(id, bytes, access); });
}
Result<void> OneSided::expose(AreaId id, Memory memory, const Access& access) {
  if (state_.must_refuse()) [[unlikely]]
    return state_.refuse();
  return unless_out_of_memory([&] { return state_.one_sided_engine().expose(id, memory, access); });
}
Result<void> OneSided::close(AreaId id) {
  if (state_.must_refuse()) [[unlikely]]
    return state_.refuse();
  return unless_out_of_memory([&] { return state_.one_sided_engine().close(id); });
}

// --- push, pull, mcast ---

void OneSided::push(const Place& to, ConstMemory data, Tracker& tracker) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  if (!state_.one_sided_engine().push_now(to, data)) [[unlikely]]
    state_.one_sided_engine().push({.place = to, .local = unconst(data)}, tracker);
  state_.progress_now_and_then();
}

void OneSided::push(const Place& to, ConstMemory data, Tracker& tracker, const Selection& selection, Signal signal) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  state_.one_sided_engine().push({.place = to, .local = unconst(data), .selection = selection, .signal = signal},
                                 tracker);
}

ErrorCode OneSided::push(const Place& to, ConstMemory data, const Selection& selection, Signal signal) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  const bool plain = selection.kind == Selection::Kind::all && !signal.wanted;
  if (plain && state_.one_sided_engine().push_now(to, data)) {
    state_.progress_now_and_then();
    return ErrorCode::ok;
  }
  if (!state_.may_block()) return ErrorCode::would_block;
  Tracker tracker;
  push(to, data, tracker, selection, signal);
  return wait(tracker);
}

void OneSided::pull(const Place& from, Memory into, Tracker& tracker) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  if (!state_.one_sided_engine().pull_now(from, into)) [[unlikely]]
    state_.one_sided_engine().pull({.place = from, .local = into}, tracker);
  state_.progress_now_and_then();
}

void OneSided::pull(const Place& from, Memory into, Tracker& tracker, const Selection& selection, Memory twin) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  state_.one_sided_engine().pull({.place = from, .local = into, .selection = selection, .twin = twin}, tracker);
}

ErrorCode OneSided::pull(const Place& from, Memory into, const Selection& selection, Memory twin) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  const bool plain = selection.kind == Selection::Kind::all && twin.empty();
  if (plain && state_.one_sided_engine().pull_now(from, into)) {
    state_.progress_now_and_then();
    return ErrorCode::ok;
  }
  if (!state_.may_block()) return ErrorCode::would_block;
  Tracker tracker;
  pull(from, into, tracker, selection, twin);
  return wait(tracker);
}

void OneSided::mcast(std::span<const Rank> peers, AreaId area, std::uint64_t offset, ConstMemory data, Tracker& tracker,
                     const Selection& selection, Signal signal) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  state_.one_sided_engine().mcast(peers,
                                  {.place = {.peer = {}, .area = area, .offset = offset},
                                   .local = unconst(data),
                                   .selection = selection,
                                   .signal = signal},
                                  tracker);
}

ErrorCode OneSided::mcast(std::span<const Rank> peers, AreaId area, std::uint64_t offset, ConstMemory data,
                          const Selection& selection, Signal signal) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  if (!state_.may_block()) return ErrorCode::would_block;
  Tracker tracker;
  mcast(peers, area, offset, data, tracker, selection, signal);
  return wait(tracker);
}

// --- atomics ---

void OneSided::atomic(const Place& at, const Atomic& operation, Tracker& tracker) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  if (const auto before = state_.one_sided_engine().atomic_now(at, operation)) [[likely]] {
    tracker.set_value(*before);
    state_.progress_now_and_then();
    return;
  }
  state_.one_sided_engine().atomic(at, operation, tracker);
}

Result<std::uint64_t> OneSided::atomic(const Place& at, const Atomic& operation) {
  if (state_.must_refuse()) [[unlikely]]
    return state_.refuse();
  if (const auto before = state_.one_sided_engine().atomic_now(at, operation)) [[likely]] {
    state_.progress_now_and_then();
    return *before;
  }
  Tracker tracker;
  if (state_.may_block()) {
    atomic(at, operation, tracker);
    static_cast<void>(wait(tracker)); // the tracker says it, too
  } else {
    tracker.note(ErrorCode::would_block);
  }
  if (tracker.code() == ErrorCode::ok) return tracker.value();
  return unless_out_of_memory([&]() -> Result<std::uint64_t> {
    return std::unexpected(api::atomic_error(at, operation, tracker.code(), state_.engine().size()));
  });
}

// --- locks ---

Result<void> OneSided::create_lock(AreaId id) {
  if (state_.must_refuse()) [[unlikely]]
    return state_.refuse();
  if (state_.is_open()) return state_.refuse_in_open_world("a lock");
  return unless_out_of_memory([&] { return state_.one_sided_engine().create_lock(id); });
}

void OneSided::lock(Rank home, AreaId id, Tracker& tracker) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  if (state_.one_sided_engine().lock_now(home, id) || refused_lock(state_, tracker)) return;
  state_.one_sided_engine().lock(home, id, tracker);
}
void OneSided::try_lock(Rank home, AreaId id, Tracker& tracker) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  if (state_.one_sided_engine().lock_now(home, id) || refused_lock(state_, tracker)) return;
  state_.one_sided_engine().try_lock(home, id, tracker);
  state_.progress_now_and_then(); // so that a process that only tries learns of deaths
}
void OneSided::unlock(Rank home, AreaId id, Tracker& tracker) {
  if (refused(state_, tracker)) [[unlikely]]
    return;
  if (state_.one_sided_engine().unlock_now(home, id) || refused_lock(state_, tracker)) return;
  state_.one_sided_engine().unlock(home, id, tracker);
}

ErrorCode OneSided::lock(Rank home, AreaId id) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  if (!state_.may_block()) return ErrorCode::would_block;
  Tracker tracker;
  lock(home, id, tracker);
  return wait(tracker);
}
ErrorCode OneSided::lock(Rank home, AreaId id, Tracker& tracker, std::chrono::nanoseconds limit) {
  lock(home, id, tracker);
  return wait(tracker, limit);
}
ErrorCode OneSided::try_lock(Rank home, AreaId id) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  if (!state_.may_block()) return ErrorCode::would_block;
  Tracker tracker;
  try_lock(home, id, tracker);
  return wait(tracker);
}
ErrorCode OneSided::unlock(Rank home, AreaId id) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  if (!state_.may_block()) return ErrorCode::would_block;
  Tracker tracker;
  unlock(home, id, tracker);
  return wait(tracker);
}

// --- completion ---

bool OneSided::test(const Tracker& tracker) {
  if (!tracker.ended() && !state_.must_refuse()) state_.progress();
  return tracker.ended();
}

ErrorCode OneSided::wait(const Tracker& tracker) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  if (!tracker.ended()) {
    if (!state_.may_block()) {
      state_.progress_all();
      if (!tracker.ended()) return ErrorCode::would_block;
    }
    state_.wait_until([&tracker] { return tracker.ended(); });
  } else {
    state_.progress_now_and_then();
  }
  return tracker.code();
}

ErrorCode OneSided::wait(const Tracker& tracker, std::chrono::nanoseconds limit) {
  if (state_.must_refuse()) [[unlikely]]
    return ErrorCode::bad_argument;
  if (!tracker.ended() && !state_.wait_until([&tracker] { return tracker.ended(); }, limit))
    return ErrorCode::timed_out;
  return tracker.code();
}

std::uint64_t OneSided::wait_change(const std::uint64_t& word, std::uint64_t old) {
  return wait_change(word, old, std::chrono::nanoseconds::max());
}

std::uint64_t OneSided::wait_change(const std::uint64_t& word, std::uint64_t old, std::chrono::nanoseconds limit) {
  const auto changed = [&word, old] { return base::load_watched(word) != old; };
  // Quicker than progress, which is for waits that last.
  constexpr int kLooks = 2000;
  for (int looks = 0; looks < kLooks && !changed(); ++looks) base::pause_briefly();
  if (changed()) [[likely]] // the clock costs a fifth of a push
    return base::load_watched(word);
  // A push wakes nobody, so that it costs no system call where its target happens to sleep: short naps instead.
  constexpr std::chrono::nanoseconds kNap{100'000};
  const std::uint64_t begin = base::steady_ns();
  while (!changed() && state_.may_block() && !state_.must_refuse()) {
    const std::chrono::nanoseconds left = limit - std::chrono::nanoseconds(base::steady_ns() - begin);
    if (left <= left.zero()) break;
    state_.wait_until(changed, std::min(left, kNap));
  }
  return base::load_watched(word);
}

} // namespace heddle
