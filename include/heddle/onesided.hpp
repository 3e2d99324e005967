// One-sided primitives: memory that peers may reach, and the calls that reach it without a receive at the other side.
// Memory is named by (process, area id, offset), never by address. How an operation ended stands in a Tracker of the caller's.
//
//   auto mine = context.one_sided().allocate(AreaId{7}, 4096);           // everywhere, then a barrier
//   ErrorCode code = context.one_sided().push({Rank{1}, AreaId{7}, 128}, data);   // blocking
//   Tracker tracker;
//   context.one_sided().push({Rank{1}, AreaId{7}, 128}, data, tracker);   // non-blocking; tracker.ended() says when
//
// See docs/one-sided.md for what is checked where. Not here: messages (heddle.hpp), shared regions (shared_region.hpp).
#pragma once

#include <heddle/heddle.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace heddle {

// A communication area of a process; each process gives its own ids. Written AreaId{7}.
enum class AreaId : std::uint64_t {};

// Who may reach an area.
struct Access {
  bool everyone = true;
  std::vector<Rank> peers; // where not everyone; the owner itself always may
  [[nodiscard]] static Access all() { return {}; }
  [[nodiscard]] static Access only(std::vector<Rank> peers) { return {.everyone = false, .peers = std::move(peers)}; }
};

// The first byte that an operation concerns.
struct Place {
  Rank peer{};
  AreaId area{};
  std::uint64_t offset = 0;
};

// How operations stand, in the caller's memory, so that looking costs no call. One tracker may serve many operations: it has
// ended when all of them have, and keeps the first error until reset. It changes only inside calls of the context (poll, test,
// wait, ...), stays where it is, and lives until it has ended.
class Tracker {
 public:
  Tracker() = default;
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  [[nodiscard]] bool ended() const { return pending_.load(std::memory_order_acquire) == 0; }
  // ok, or the first error since reset.
  [[nodiscard]] ErrorCode code() const { return code_.load(std::memory_order_acquire); }
  // What the word held before the last atomic operation that ended well.
  [[nodiscard]] std::uint64_t value() const { return value_; }
  // Only once it has ended.
  void reset() { code_.store(ErrorCode::ok, std::memory_order_relaxed); }

  // For the library. The function is called once, when nothing is under way any more.
  void when_ended(void (*call)(Tracker&)) { ended_ = call; }
  void begin() { pending_.store(pending_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  void end(ErrorCode code) {
    note(code);
    const std::uint32_t left = pending_.load(std::memory_order_relaxed) - 1;
    pending_.store(left, std::memory_order_release);
    if (left == 0 && ended_ != nullptr) [[unlikely]]
      std::exchange(ended_, nullptr)(*this);
  }
  void note(ErrorCode code) {
    if (code != ErrorCode::ok && this->code() == ErrorCode::ok) code_.store(code, std::memory_order_relaxed);
  }
  void set_value(std::uint64_t value) { value_ = value; }

 private:
  std::atomic<std::uint32_t> pending_{0};
  std::atomic<ErrorCode> code_{ErrorCode::ok};
  std::uint64_t value_ = 0;
  void (*ended_)(Tracker&) = nullptr;
};

// Asks for an event `pushed` at the target once the data is there: cookie is the area id, completion.peer who pushed,
// completion.tag the label, completion.bytes how many bytes were selected.
struct Signal {
  bool wanted = false;
  Tag label{};
  [[nodiscard]] static Signal event(Tag label) { return {.wanted = true, .label = label}; }
};

// Which parts of the local memory and of the area an operation moves. What it refers to stays unchanged until the end.
struct Selection {
  enum class Kind : std::uint8_t { all, strided, bitmap, changed };
  Kind kind = Kind::all;
  std::uint64_t block = 0;
  std::uint64_t count = 0;
  std::uint64_t local_step = 0;
  std::uint64_t remote_step = 0;
  std::span<const std::uint64_t> bits;
  std::uint32_t word_bytes = 0;
  std::span<const std::byte> twin;

  // `count` blocks of `block` bytes; steps are from the start of one to the start of the next, at least `block`.
  [[nodiscard]] static Selection strided(std::uint64_t block, std::uint64_t count, std::uint64_t local_step,
                                         std::uint64_t remote_step) {
    return {.kind = Kind::strided,
            .block = block,
            .count = count,
            .local_step = local_step,
            .remote_step = remote_step,
            .bits = {},
            .twin = {}};
  }
  // The words whose bit is set: word i at local i * word_bytes and at offset + i * word_bytes. Bits beyond the data count as 0.
  template <LastingRange Bits>
    requires std::same_as<std::ranges::range_value_t<Bits>, std::uint64_t>
  [[nodiscard]] static Selection bitmap(Bits&& bits, std::uint32_t word_bytes) {
    return {.kind = Kind::bitmap, .bits = bits, .word_bytes = word_bytes, .twin = {}};
  }
  // For push and mcast: the 4-byte words that differ from the twin, which is as long as the data.
  [[nodiscard]] static Selection changed(ConstMemory twin) { return {.kind = Kind::changed, .bits = {}, .twin = twin}; }
};

// An operation on one aligned word of 4 or 8 bytes, atomic with respect to others of these on the same word.
struct Atomic {
  enum class Kind : std::uint8_t { add, swap, compare_and_swap, bit_and, bit_or, bit_xor };
  Kind kind = Kind::add;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0; // compare_and_swap: the operand is stored where the word equals this
  std::uint32_t bytes = 8;    // 4 or 8
  [[nodiscard]] static Atomic add(std::uint64_t value, std::uint32_t bytes = 8) { return {Kind::add, value, 0, bytes}; }
  [[nodiscard]] static Atomic swap(std::uint64_t value, std::uint32_t bytes = 8) {
    return {Kind::swap, value, 0, bytes};
  }
  [[nodiscard]] static Atomic compare_and_swap(std::uint64_t expected, std::uint64_t value, std::uint32_t bytes = 8) {
    return {Kind::compare_and_swap, value, expected, bytes};
  }
  [[nodiscard]] static Atomic bit_and(std::uint64_t value, std::uint32_t bytes = 8) {
    return {Kind::bit_and, value, 0, bytes};
  }
  [[nodiscard]] static Atomic bit_or(std::uint64_t value, std::uint32_t bytes = 8) {
    return {Kind::bit_or, value, 0, bytes};
  }
  [[nodiscard]] static Atomic bit_xor(std::uint64_t value, std::uint32_t bytes = 8) {
    return {Kind::bit_xor, value, 0, bytes};
  }
};

// All of it belongs to one context and is used by its thread. Every operation has two forms: with a Tracker it never blocks,
// without it waits and returns the code (would_block, and nothing done, in a simulated process, which cannot wait). Whoever will not
// wait for ever gives a Tracker, and then waits with a time limit. Memory is given as to messages: any contiguous range with a name,
// or a single object (layout.hpp).
//
// Codes of operations, and then nothing at the target has changed: unknown_area, closed_area (not opened to this process),
// out_of_range, revoked_area (closed under way: what had landed before stays), peer_failed, peer_left, connection_lost,
// bad_argument (rank outside the job, an invalid selection, word or atomic operation, bytes or peers behind a null
// pointer, a lock used as memory or memory as a lock), unsupported (atomics on memory where the network has none),
// out_of_memory and out_of_descriptors (this process lacks them, also to map the area: it may be tried again).
//
// The first operation on an area asks its owner for the key, and is carried out when the owner, in any call of its context,
// has answered. Later ones need nothing of the owner's processor, except pushes of many small pieces over a network; over TCP every
// operation is carried out when the owner makes a call.
// Plain pushes of one process to one peer land in the order of the calls; those with a selection may be overtaken by later
// ones. An aligned push of up to 8 bytes lands at once. A push wakes nobody who sleeps in a wait; its signal does.
class OneSided {
 public:
  // --- Areas. ---

  // Memory of the library, zeroed, aligned to 64, as an area. The quickest: reachable by plain stores where peers share memory.
  // Fails with bad_argument when the id is in use here, out_of_memory (nothing is taken where it would not suffice),
  // out_of_descriptors.
  [[nodiscard]] Result<std::span<std::byte>> allocate(AreaId id, std::size_t bytes, const Access& access = {});
  // The caller's own memory as an area; it stays until closed. Fails as above, with bad_argument on memory that cannot exist
  // (behind a null pointer, more than 2^62 bytes), and with unsupported where a network in use cannot reach such memory.
  // Atomics on it are not possible over shared memory.
  [[nodiscard]] Result<void> expose(AreaId id, Memory memory, const Access& access = {});
  // From its return on no peer's operation touches the memory; those under way end at their initiators with revoked_area.
  // Memory of allocate is gone. Waits for copies that are just being made, nothing else. Fails on an id not in use, and with
  // timed_out where a process is stopped in the middle of a copy: no other begins one, but the area is to be closed again.
  [[nodiscard]] Result<void> close(AreaId id);

  // --- Moving data. The memory stays unchanged, or untouched, until the tracker has ended. ---

  // Ended: the data is in the target's memory.
  void push(const Place& to, ConstMemory data, Tracker& tracker);
  void push(const Place& to, ConstMemory data, Tracker& tracker, const Selection& selection, Signal signal = {});
  [[nodiscard]] ErrorCode push(const Place& to, ConstMemory data, const Selection& selection = {}, Signal signal = {});

  // Ended: the data is in `into`, and a copy of what was selected in `twin`, which is empty or as long.
  void pull(const Place& from, Memory into, Tracker& tracker);
  void pull(const Place& from, Memory into, Tracker& tracker, const Selection& selection, Memory twin = {});
  [[nodiscard]] ErrorCode pull(const Place& from, Memory into, const Selection& selection = {}, Memory twin = {});

  // A push to the same area id and offset of each peer, by switches or from receiver to receiver where that is quicker. Ended: done
  // at all; the code is the first error, and the others have their data all the same, once. Not ordered with other operations.
  void mcast(std::span<const Rank> peers, AreaId area, std::uint64_t offset, ConstMemory data, Tracker& tracker,
             const Selection& selection = {}, Signal signal = {});
  [[nodiscard]] ErrorCode mcast(std::span<const Rank> peers, AreaId area, std::uint64_t offset, ConstMemory data,
                                const Selection& selection = {}, Signal signal = {});

  // The old value is in tracker.value().
  void atomic(const Place& at, const Atomic& operation, Tracker& tracker);
  // The old value. The error's code is one of the above.
  [[nodiscard]] Result<std::uint64_t> atomic(const Place& at, const Atomic& operation);

  // --- The same as requests, which end by wait and test or by event like messages. completion.tag is the area id, completion.bytes
  // what was moved, completion.data the old value of an atomic operation. Never block. Fail only for lack of memory; all else is
  // the code of the completion. ---
  [[nodiscard]] Result<Request> start_push(const Place& to, ConstMemory data, Notify notify, Signal signal = {});
  [[nodiscard]] Result<Request> start_pull(const Place& from, Memory into, Notify notify);
  [[nodiscard]] Result<Request> start_atomic(const Place& at, const Atomic& operation, Notify notify);

  // --- Locks: first come, first served; each lives with one process and is reached by all. ---

  // A new lock of this process under an area id. Its memory is nobody's to push to, pull or change. Closed like an area;
  // whoever waits for it then gets revoked_area.
  [[nodiscard]] Result<void> create_lock(AreaId id);
  // Ended with ok: held. With holder_died: held too, but while this process waited a process died that held it, so that what
  // the lock protects may be half done. peer_failed, peer_left, connection_lost: its home is gone. bad_argument: this process has or wants it.
  // A dead process in the queue is passed over.
  void lock(Rank home, AreaId id, Tracker& tracker);
  [[nodiscard]] ErrorCode lock(Rank home, AreaId id);
  // Until the time is over (timed_out): this process then still stands in the queue, may get the lock at any time, and can wait
  // for it again by the tracker.
  [[nodiscard]] ErrorCode lock(Rank home, AreaId id, Tracker& tracker, std::chrono::nanoseconds limit);
  // The same without waiting: lock_busy, and nothing taken, when a living process holds the lock, waits for it or is just taking
  // it. Where all who had or wanted it are dead, and that is known here, the lock is this process's, with holder_died as above.
  void try_lock(Rank home, AreaId id, Tracker& tracker);
  [[nodiscard]] ErrorCode try_lock(Rank home, AreaId id);
  // bad_argument when this process does not hold it. What was pushed under the lock should have ended before.
  void unlock(Rank home, AreaId id, Tracker& tracker);
  [[nodiscard]] ErrorCode unlock(Rank home, AreaId id);

  // --- Completion. ---

  // Makes progress; whether it has ended.
  [[nodiscard]] bool test(const Tracker& tracker);
  // Blocks until it has ended; its code. timed_out, when the time is over: it then goes on, and can be waited for again.
  [[nodiscard]] ErrorCode wait(const Tracker& tracker);
  [[nodiscard]] ErrorCode wait(const Tracker& tracker, std::chrono::nanoseconds limit);
  // Blocks until the aligned word at `word`, which others push to or do atomics on, no longer holds `old`; its new value, which is
  // `old` when the time is over. In a simulated process it looks once.
  [[nodiscard]] std::uint64_t wait_change(const std::uint64_t& word, std::uint64_t old);
  [[nodiscard]] std::uint64_t wait_change(const std::uint64_t& word, std::uint64_t old, std::chrono::nanoseconds limit);

  // Made by the context.
  explicit OneSided(Context::State& state) : state_(state) {}

 private:
  Context::State& state_;
};

} // namespace heddle
#pragma GCC visibility pop
