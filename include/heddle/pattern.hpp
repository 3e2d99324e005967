// Patterns: a set of puts or sends and receives that is built once, compiled, and then started and waited for many times.
// What can be done ahead is done by compile: peers agree on where everything goes, memory is opened, and all is planned
// onto the network's engines and paths. A start plans nothing, allocates nothing and matches nothing.
//
//   auto pattern = *heddle::Pattern::create(context);
//   auto sent = pattern.send(right, heddle::Tag{1}, out);
//   auto received = pattern.receive(left, heddle::Tag{1}, in);
//   auto compiled = pattern.compile();            // every process of the job
//   for (...) { fill(out); auto started = pattern.start(); auto ended = pattern.wait(); use(in); }
#pragma once

#include <heddle/heddle.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace heddle {

// The same at every process.
struct PatternOptions {
  // A barrier before the first byte moves and after the last has arrived, both within the start: as puts need that nobody
  // else orders.
  bool barriers = false;
  // How requests are put onto engines and paths: a name of `heddle schedule --algorithm`.
  std::string algorithm = "sharing";
};

// A Cartesian grid of processes.
struct Grid {
  std::vector<std::uint32_t> size; // along each axis
  std::vector<bool> periodic;      // by axis: the last place is next to the first; empty: none is
  std::vector<Rank> ranks;         // by place, the last axis fastest; empty: rank i has place i
};

// What is exchanged with the neighbour `offset` places on along each axis: sent to it and received from it.
struct NeighbourExchange {
  std::vector<int> offset; // -1, 0 or 1 along each axis
  ConstLayout out;
  Layout in;
};

class Pattern {
 public:
  // The index of a request within its pattern, in the order in which they were added.
  using Item = std::uint32_t;

  // An empty pattern. The context outlives it. Error: no algorithm of that name.
  [[nodiscard]] static Result<Pattern> create(Context& context, const PatternOptions& options = {});
  // One with a send and a receive for each exchange; outside an open grid there is no neighbour and nothing is exchanged.
  // Several exchanges with one neighbour pair up in their order. With options.barriers it consists of puts, but where what is
  // received does not lie in one piece. Error: a grid that is not as large as the job, an offset without as many axes.
  [[nodiscard]] static Result<Pattern> neighbour_alltoall(Context& context, const Grid& grid,
                                                          std::span<const NeighbourExchange> exchanges,
                                                          const PatternOptions& options = {});

  // Lets go of it; a start under way goes on unseen and its memory must live until peers have left.
  // One that was moved from refuses every call with bad_argument, and has nothing to tell.
  ~Pattern();
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;

  // --- Building. Errors: a rank outside the job; after compile. Memory stays the caller's, and where it is. ---

  // Pairs with a receive of the same tag at `to`; several in their order. It may be longer than what is sent.
  [[nodiscard]] Result<Item> send(Rank to, Tag tag, const ConstLayout& data);
  [[nodiscard]] Result<Item> receive(Rank from, Tag tag, const Layout& into);
  // Writes into memory that `to` exposes in its part of the pattern, from `offset` on. The target is not told: barriers, or
  // a message after the start has ended, say when it may be read and when it may be written again.
  [[nodiscard]] Result<Item> put(Rank to, Tag area, std::uint64_t offset, const ConstLayout& data);
  // In one piece or, in a pattern with barriers, in any: what is put there then travels like a send, and is part of this process's
  // start. Error: the pattern exposes an area of that tag, or that memory, already.
  [[nodiscard]] Result<Item> expose(Tag area, const Layout& memory);

  // Every process of the job compiles its patterns in the same order. Error, at all of them: a send without a receive or
  // the other way round, one longer than its receive, a put into memory that is not exposed or beyond its end, options that are
  // not the same everywhere, a dead peer.
  // One whose time is over (timed_out) goes on, and can be waited for.
  [[nodiscard]] Result<void> compile();
  [[nodiscard]] Result<void> compile(std::chrono::nanoseconds limit);
  // The same, not waited for; error() says what was wrong.
  [[nodiscard]] Result<Request> start_compile(Notify notify = {});
  // What the last compile or start of it failed with; nothing after one that did not.
  [[nodiscard]] std::optional<Error> error() const;

  // Starts all requests. The request ends when what is sent may be written again, what is received has arrived, and puts
  // have arrived at their targets. Errors, and nothing is sent: not compiled, started before and not ended, a peer has died.
  [[nodiscard]] Result<Request> start(Notify notify = {});
  // Waits for the start or compile under way. After an error incomplete() says what was not done. When the time is over
  // (timed_out) it is still running, and can be waited for again.
  // After a start with Notify::event it waits too, but the outcome is the event's, which comes through poll: wait then returns
  // stale_request whatever the outcome is, at once if the start has ended before. So it does a second time after any start.
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] Result<void> wait(std::chrono::nanoseconds limit);
  [[nodiscard]] bool running() const;
  // Requests of the last start that did not complete.
  [[nodiscard]] std::vector<Item> incomplete() const;

  // Gives everything back; partners that start it again end with pattern_freed. Memory of a pattern without barriers that others put
  // to should live until they have ended their last start. Error while it is running.
  [[nodiscard]] Result<void> free();

  // One line for each request: peer, bytes, engines, path, start and end as planned.
  [[nodiscard]] std::string plan() const;

 private:
  class Handle;
  explicit Pattern(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

} // namespace heddle
#pragma GCC visibility pop
