// Heddle: tagged and unsolicited messages between the processes of a job, with completion by request or by event.
// This is all that a program includes. One Context is used by one thread at a time, whichever: several may share it under a lock of their
// own. Different contexts are independent.
// Nothing throws: a call that finds no memory says out_of_memory and has done nothing.
// Calls that can be wrong return a Result; what becomes of a message arrives later in a Completion or an Event.
#pragma once

#include <heddle/collective.hpp>
#include <heddle/error.hpp>
#include <heddle/layout.hpp>
#include <heddle/name.hpp>
#include <heddle/options.hpp>
#include <heddle/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace heddle {

// A process of the job: 0 .. size - 1. Written Rank{3}.
enum class Rank : std::uint32_t {};
// What a receive selects messages by; its 64 bits mean what the program wants. Written Tag{7}.
enum class Tag : std::uint64_t {};

// In a Match: a message from any process.
inline constexpr Rank kAnySource{0xffff'ffffU};
inline constexpr std::uint64_t kWholeTag = ~std::uint64_t{0};

// Messages on different channels never match each other: two programs, or two layers of one, that know nothing of each other's tags.
enum class Channel : std::uint8_t { first, second };

// Which messages a receive or a probe accepts: those from `source` whose tag equals `tag` in every bit set in `mask`.
// A tag with a bit set outside the mask could match nothing and is refused.
struct Match {
  Rank source = kAnySource;
  Channel channel = Channel::first;
  Tag tag{};
  std::uint64_t mask = kWholeTag;
};

// Names one operation under way. Cheap to copy. Valid until wait or test has reported its completion or, with Notify::event,
// until it has completed, since its event tells the outcome. Used later it is answered with stale_request and not with another
// operation's outcome, unless four thousand million operations have passed meanwhile.
struct Request {
  std::uint64_t name = 0; // 0 names nothing
};

// When a send counts as complete.
enum class SendMode : std::uint8_t {
  standard,    // the memory may be written again
  synchronous, // and a receive has matched the message
};

// How the caller learns that an operation has ended.
struct Notify {
  bool by_event = false;    // true: through poll(); false: through test() or wait()
  bool errors_only = false; // with by_event: no event where it has ended well
  std::uint64_t cookie = 0; // comes back in the event
  [[nodiscard]] static Notify request() { return {}; }
  [[nodiscard]] static Notify event(std::uint64_t cookie) { return {.by_event = true, .cookie = cookie}; }
  // For what need not be heard of again unless it fails.
  [[nodiscard]] static Notify errors(std::uint64_t cookie) {
    return {.by_event = true, .errors_only = true, .cookie = cookie};
  }
};

// What a send may say beside its tag, mode and memory.
struct SendOptions {
  SendMode mode = SendMode::standard;
  Notify notify{};
  Channel channel = Channel::first;
  std::optional<std::uint64_t>
      data{}; // travels with the message and comes out in its receive's completion; no receive selects by it
};

// How an operation ended.
struct Completion {
  ErrorCode code = ErrorCode::ok;
  bool has_data = false; // the sender gave the message a data word
  Rank peer{};           // the source of a received message, the target of a sent one
  Tag tag{};             // the tag of the message
  // Bytes delivered into, or taken from, the caller's memory. A sender whose large message was cut by the receive may be told
  // of fewer than it gave: the rest was never fetched.
  std::uint64_t bytes = 0;
  std::uint64_t message_bytes = 0; // bytes the sender sent; larger than `bytes` only with ErrorCode::truncated
  // The data word of a received message (SendOptions), where it has one; what the word held before an atomic operation.
  std::uint64_t data = 0;
};

// One of several operations, and how it ended.
struct IndexedCompletion {
  std::size_t index = 0; // of its request in the list
  Completion completion;
};

// A buffer of the library that holds an unsolicited message until it is released.
struct UnsolicitedMessage {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t handle = 0;
};

struct Event {
  enum class Kind : std::uint8_t {
    sent,                // a send with Notify::event has ended
    received,            // a receive with Notify::event has ended
    unsolicited_left,    // an unsolicited send with Notify::event has ended
    unsolicited_arrived, // `unsolicited` holds a message; completion.tag is the sender's label; release it when done
    barrier_passed,      // a barrier with Notify::event has ended
    exchanged,           // an alltoall or alltoallv with Notify::event has ended
    pattern_ended,       // a compile or start of a pattern with Notify::event has ended
    // completion.peer is gone, and what only it could have completed ends with the code of the same name. Each comes at
    // most once for a peer, but for connection_lost.
    peer_failed, // its process has died: comes at every process, also after connection_lost
    peer_left,   // it has left the job in good order: comes where something waits for it, elsewhere maybe never
    // It may be alive, but the connection to it broke, and what was under way is lost. Where the network can be connected anew (TCP),
    // the next operation does that, and this may come again.
    connection_lost,
    pushed,          // a peer's push with a signal has landed here (onesided.hpp)
    one_sided_ended, // a push, pull or atomic operation with Notify::event has ended: completion.tag is the area id
  };
  Kind kind{};
  std::uint64_t cookie = 0;
  Completion completion;
  UnsolicitedMessage unsolicited;
};

// What a probe sees of a message that has arrived and not been received.
struct Envelope {
  Rank source{};
  Tag tag{};
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> data{}; // as SendOptions::data
};

// A message taken out of matching by matched_probe: only receive_matched with this value can receive it. It must be
// received exactly once.
struct Message {
  Envelope envelope;
  std::uint64_t handle = 0;
};

// How a message of a given size travels, and why: the same function that the engine uses.
struct Protocol {
  std::string name;       // "eager", "rendezvous by read", ...
  std::string reason;     // "64 bytes <= eager_limit 65536"
  std::string translator; // "shm"
};

class OneSided;
class Pattern;

class Context {
 public:
  // Joins the job that a launcher has set up in the environment (see `heddle run`), or, with options.single, makes a job of
  // one process. Returns when every process of the job has joined. Fails when no launcher is found, when the store does not
  // answer, when an option is wrong, when memory or descriptors do not suffice, when this process is already a member.
  // After leaving a process may join again, as often as all others do: each time the whole job meets anew.
  [[nodiscard]] static Result<Context> join(const Options& options = {});

  // Opens a context without a launcher or a job: an open world, in which processes find each other by their names. A process may
  // open several. In each, a rank is a number of its own: 0 is the context itself, peers get theirs as they are added, or as they
  // first come without having been added. What needs numbers that all agree on (collectives, patterns, locks, shared regions) is
  // refused with `unsupported`. Fails when an option is wrong, and when memory or descriptors do not suffice.
  [[nodiscard]] static Result<Context> open(const Options& options = {});
  // All that another process needs to add this one. Valid as long as the context. Fails in a job.
  [[nodiscard]] Result<Name> name() const;
  // The rank of the process with that name: a new one, or the one that it has already, because it was added or has come before.
  // Fails where it cannot be reached from here (unreachable): its process has ended, or no network leads there.
  [[nodiscard]] Result<Rank> add_peer(const Name& name);
  // Ends what is under way with that peer (cancelled); messages that have arrived whole can still be received. For the peer, this context has left
  // (peer_left). Removing it once more does nothing.
  // The rank is never given again; the same process may be added anew, and gets another. Peers that have died or
  // left keep their rank, and a little memory, until they are removed, too.
  [[nodiscard]] Result<void> remove_peer(Rank rank);

  // Leaves the job. Operations still under way are abandoned; memory given to them is no longer touched. A child of fork is no
  // member of the job: there it does nothing, every other call is refused with bad_argument, poll has no events, and the
  // parent goes on undisturbed. Calls of a context that was moved from are refused in the same way; its job has size 0.
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // Ends the whole job, this process first, with that exit status (1 to 255; any other counts as 1), whoever started it:
  // heddle run, Slurm, an mpiexec. Nothing is delivered or flushed any more. In an open world, in a child of fork, and in a
  // context that was moved from, it ends this process alone; a simulated job is this process.
  [[noreturn]] void abort(int status);

  [[nodiscard]] Rank rank() const;
  // In an open world: one more than the highest rank so far.
  [[nodiscard]] std::uint32_t size() const;

  // The machine that a process of the job runs on: its host name, of which at most 64 bytes are kept; "node3" where it is simulated.
  // Valid as long as the context. Fails on a rank outside the job.
  [[nodiscard]] Result<std::string_view> host_name(Rank of) const;
  // The place of a process among those on the same machine, by rank: 0, 1, ... Fails on a rank outside the job.
  [[nodiscard]] Result<std::uint32_t> local_rank(Rank of) const;

  // --- Tagged messages. Two messages from one sender that match the same receive are received in the order sent. ---

  // Sends a message; zero bytes is a message. The memory must stay unchanged until the request completes.
  // Fails on a rank outside the job, and on a peer that is gone: peer_failed, peer_left, connection_lost. Never blocks.
  [[nodiscard]] Result<Request> send(Rank to, Tag tag, const ConstLayout& data, SendMode mode = SendMode::standard,
                                     Notify notify = {});

  // The same, with all that a send may say.
  [[nodiscard]] Result<Request> send(Rank to, Tag tag, const ConstLayout& data, const SendOptions& options);

  // Sends a message of at most eager_limit bytes, which has left its memory when this returns: there is nothing to wait for. Should it not arrive, an
  // event `sent` with that cookie says so, unless all that is known of the peer is that it is gone. Fails as send, and with would_block where the
  // library holds as much for peers that do not take it as it will (some MiB): make progress and try again.
  struct Injection {
    Channel channel = Channel::first;
    std::optional<std::uint64_t> data{};
    std::uint64_t cookie = 0;
  };
  [[nodiscard]] Result<void> inject(Rank to, Tag tag, ConstMemory data, const Injection& how);
  [[nodiscard]] Result<void> inject(Rank to, Tag tag, ConstMemory data) { return inject(to, tag, data, {}); }

  // Receives one message into `into`. A longer message is cut: code truncated, both sizes in the completion, the next
  // message intact. Fails on a rank outside the job, a mask that can match nothing, a source that is gone (as send) from
  // which nothing matching has arrived. Never blocks.
  [[nodiscard]] Result<Request> receive(const Match& match, const Layout& into, Notify notify = {});

  // The first message that a receive with this match would get, if it has arrived. The message stays. Makes progress.
  [[nodiscard]] Result<std::optional<Envelope>> probe(const Match& match);
  // The same, and the message is reserved for receive_matched.
  [[nodiscard]] Result<std::optional<Message>> matched_probe(const Match& match);
  // Receives a reserved message. Fails when the message was received before.
  [[nodiscard]] Result<Request> receive_matched(const Message& message, const Layout& into, Notify notify = {});

  // Takes a receive back. True: it completes with `cancelled` and no message. False: a message had matched, or it was no
  // receive; it completes as it would have.
  [[nodiscard]] bool cancel(Request request);

  // --- Unsolicited messages: no receive is posted; the message arrives as an event with a buffer of the library. ---

  // `label` comes out as completion.tag of the event at the target, for the program's own use. Those of one sender arrive in
  // the order sent, but one above eager_limit, or too large for a small ring, may be overtaken by later ones while it is fetched.
  [[nodiscard]] Result<Request> send_unsolicited(Rank to, Tag label, const ConstLayout& data, Notify notify = {});
  // Gives the buffer of an unsolicited_arrived event back. Whoever holds as much as option unsolicited_memory says gets no
  // further messages of peers that have sent more, tagged ones included, before it has released some.
  // A second release is ignored.
  void release(const UnsolicitedMessage& message);

  // --- Completion. ---

  // A wait whose time is over (timed_out) leaves what it waited for as it is, under way and the request valid: it can be waited
  // for again.

  // Makes progress and copies up to events.size() events, oldest first. Returns how many. Never blocks.
  [[nodiscard]] std::size_t poll(std::span<Event> events);
  // Blocks until poll would return at least one event, or the time is over.
  [[nodiscard]] std::size_t wait_events(std::span<Event> events);
  [[nodiscard]] std::size_t wait_events(std::span<Event> events, std::chrono::nanoseconds limit);

  // Says that polls have come up empty and the program has nothing else to do: looks on for a moment, or gives the core away where others want
  // it, as option waiting says. Returns soon, and never sleeps. For programs that poll in a loop of their own. Threads that share a context under a
  // lock call std::this_thread::yield() without the lock instead: whoever gives the core away with it keeps the others waiting.
  void relax();

  // For a program's own event loop (poll, epoll): a descriptor that becomes readable when there is something to poll for. Call
  // ready_to_sleep before each sleep on it. The descriptor is the context's: watch it, and leave the rest alone. Fails where the process has no
  // descriptor left.
  [[nodiscard]] Result<int> descriptor();
  // Makes progress. True: there is no event, and whatever comes from now on makes the descriptor readable; sleep. False: poll
  // first. What the program waits for should end by event: a request that has ended without one does not make the descriptor readable again.
  [[nodiscard]] Result<bool> ready_to_sleep();

  // Makes progress. A value when the operation has ended; the request is then no longer valid.
  [[nodiscard]] std::optional<Completion> test(Request request);
  // Blocks until the operation has ended, or the time is over.
  [[nodiscard]] Completion wait(Request request);
  [[nodiscard]] Completion wait(Request request, std::chrono::nanoseconds limit);
  // Blocks until one has ended: the first in the list of those that have. Requests that name nothing are passed over, so that a
  // program can set those that it is done with to Request{}. Where all do: stale_request; its index, and that of timed_out, is
  // requests.size().
  [[nodiscard]] IndexedCompletion wait_any(std::span<const Request> requests);
  [[nodiscard]] IndexedCompletion wait_any(std::span<const Request> requests, std::chrono::nanoseconds limit);
  // Blocks until all have ended. Returns the first code that is not ok, or ok. When the time is over none has been taken, also
  // of those that have ended.
  [[nodiscard]] ErrorCode wait_all(std::span<const Request> requests);
  [[nodiscard]] ErrorCode wait_all(std::span<const Request> requests, std::chrono::nanoseconds limit);
  // The same, with how each ended. bad_argument, and nothing waited for, where completions are fewer than requests.
  [[nodiscard]] ErrorCode wait_all(std::span<const Request> requests, std::span<Completion> completions);
  [[nodiscard]] ErrorCode wait_all(std::span<const Request> requests, std::span<Completion> completions,
                                   std::chrono::nanoseconds limit);

  // --- Collective. ---

  // Completes when every process of the job has started its barrier of the same number. Where that cannot be, it ends with the
  // gravest reason that is known: peer_failed, connection_lost, peer_left. So it does where a process dies before it has
  // completed here: the dead process had perhaps started it, and others may have passed it.
  [[nodiscard]] Result<Request> start_barrier(Notify notify = {});
  // The same, waited for. A barrier whose time is over (timed_out) is under way, and the next call of barrier waits for it.
  [[nodiscard]] Result<void> barrier();
  [[nodiscard]] Result<void> barrier(std::chrono::nanoseconds limit);

  // Every process sends a block to every process, itself included: block r of `out` goes to rank r, and block r of `in` comes
  // from rank r. All blocks have the same size, out.size() / size(), in every process. completion.bytes is what was received.
  // All processes start their exchanges in the same order. With a dead process in the job they end with peer_failed, for those
  // who miss another one with peer_left or connection_lost; what `in` then holds is undefined. Fails on sizes that are no multiple
  // of the job's, that differ, on memory that overlaps or cannot exist: behind a null pointer, or more than 2^62 bytes.
  [[nodiscard]] Result<Request> start_alltoall(ConstMemory out, Memory in, Notify notify = {});
  // The same with a size for every block, zero included. Two processes must agree about each block between them: a longer one
  // than expected ends with truncated, a shorter one with bad_argument. Fails on blocks that end outside their memory.
  [[nodiscard]] Result<Request> start_alltoallv(const ConstBlocks& out, const Blocks& in, Notify notify = {});
  // The same, waited for. One whose time is over (timed_out) is under way: its memory stays in use, and the next call with the
  // same memory waits for it. With other memory that call is refused.
  [[nodiscard]] Result<void> alltoall(ConstMemory out, Memory in);
  [[nodiscard]] Result<void> alltoall(ConstMemory out, Memory in, std::chrono::nanoseconds limit);
  [[nodiscard]] Result<void> alltoallv(const ConstBlocks& out, const Blocks& in);
  [[nodiscard]] Result<void> alltoallv(const ConstBlocks& out, const Blocks& in, std::chrono::nanoseconds limit);

  // --- One-sided: areas, push, pull, mcast, atomics, locks (onesided.hpp). ---
  [[nodiscard]] OneSided& one_sided();

  // --- Looking inside. ---

  // How a message of that size to that peer would travel.
  [[nodiscard]] Result<Protocol> why(Rank to, std::uint64_t bytes) const;
  // How an alltoall of blocks of that size would be carried out: "boards", "2-level ring", "Bruck's rounds". Before the first one boards
  // are a guess. Fails in an open world.
  [[nodiscard]] Result<Protocol> why_alltoall(std::uint64_t block_bytes) const;
  // What every unfinished operation waits for: peer, tag, state, age; one line for those alike. What the watchdog prints.
  [[nodiscard]] std::string waiting_for() const;
  // Figures about this process: connections, ring memory, messages waiting unmatched, ... as name and value.
  struct Figure {
    std::string name;
    std::uint64_t value = 0;
  };
  [[nodiscard]] std::vector<Figure> figures() const;

 private:
  friend class ContextAccess;
  friend class OneSided;
  friend class Pattern;
  class State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace heddle
#pragma GCC visibility pop

#include <heddle/onesided.hpp> // IWYU pragma: export
#include <heddle/pattern.hpp>
