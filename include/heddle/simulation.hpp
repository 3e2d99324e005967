// Programs on a simulated fabric: every process is a coroutine that uses the calls of <heddle/heddle.hpp>, in virtual time.
// The library is the same as on a real network, down to the commands given to it; only the network is simulated.
//
//   heddle::simulation::Task ping(heddle::simulation::Peer& peer) {
//     std::array<std::byte, 8> data{};
//     const bool sends = peer.rank() == heddle::Rank{0};
//     const auto request = sends ? peer.context().send(heddle::Rank{1}, heddle::Tag{1}, data)
//                                : peer.context().receive({.source = heddle::Rank{0}}, data);
//     const auto ended = co_await peer.wait(*request);
//   }
//   auto world = heddle::simulation::World::create({.fabric = "tofu:1x1x1", .peers = 2});
//   auto outcome = world->run(ping);       // outcome->time, in picoseconds
//
// Nothing can block inside a coroutine: waits of Context without a time limit end with would_block unless what they wait for has
// ended, those with one look once. co_await the calls of Peer instead.
//
// g++ 12 compiles some conditions with a co_await in them wrongly. Give the outcome a name:
//   const auto ended = co_await peer.wait(request);
//   if (ended.code != heddle::ErrorCode::ok) ...
#pragma once

#include <heddle/heddle.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace heddle::simulation {

// Virtual time since the start, or a stretch of it.
using Time = std::chrono::duration<std::int64_t, std::pico>;

// The coroutine of a program, or of a part of one that another awaits.
class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::coroutine_handle<> parent;
    std::exception_ptr failure;

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct GoOn {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().parent ? ended.promise().parent : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    GoOn final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void start() { handle_.resume(); }
  [[nodiscard]] bool ended() const { return handle_.done(); }
  // What escaped from it, once it has ended.
  [[nodiscard]] std::exception_ptr failure() const { return handle_.promise().failure; }

  // Runs it as a part of the coroutine that awaits it.
  auto operator co_await() && {
    struct Part {
      std::coroutine_handle<promise_type> part;
      bool await_ready() { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) {
        part.promise().parent = parent;
        return part;
      }
      void await_resume() {
        if (part.promise().failure) std::rethrow_exception(part.promise().failure);
      }
    };
    return Part{handle_};
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

class World;
class WorldState;

// One simulated process, as its program sees it. One coroutine of it waits at a time.
class Peer {
 public:
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Context& context() { return *context_; }
  [[nodiscard]] Time now() const;

  // How long to wait at most, in virtual time; without one, for ever. When it is over the outcome is timed_out, and what was
  // waited for goes on and can be waited for again.
  using Limit = std::optional<Time>;

  // What a coroutine waits for: looked at whenever something has happened to the process.
  class Wait {
   public:
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    virtual ~Wait() = default;
    [[nodiscard]] bool over() { return ended() || late(); }
    [[nodiscard]] bool await_ready() { return over(); }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      peer_.waiting_ = this;
    }

   protected:
    Wait(Peer& peer, Limit limit);
    [[nodiscard]] virtual bool ended() = 0;
    [[nodiscard]] bool late() const { return until_ && peer_.now() >= *until_; }
    Peer& peer_;

   private:
    friend class WorldState;
    std::coroutine_handle<> handle_;
    Limit until_;
  };

  class RequestWait final : public Wait {
   public:
    RequestWait(Peer& peer, Request request, Limit limit) : Wait(peer, limit), request_(request) {}
    Completion await_resume() const { return completion_.value_or(Completion{.code = ErrorCode::timed_out}); }

   private:
    [[nodiscard]] bool ended() override;
    Request request_;
    std::optional<Completion> completion_;
  };
  class AnyWait final : public Wait {
   public:
    AnyWait(Peer& peer, std::span<const Request> requests, Limit limit)
        : Wait(peer, limit), requests_(requests), found_{requests.size(), {.code = ErrorCode::timed_out}} {}
    IndexedCompletion await_resume() const { return found_; }

   private:
    [[nodiscard]] bool ended() override;
    std::span<const Request> requests_;
    IndexedCompletion found_;
  };
  class AllWait final : public Wait {
   public:
    AllWait(Peer& peer, std::span<const Request> requests, std::span<Completion> completions, Limit limit)
        : Wait(peer, limit), requests_(requests), completions_(completions) {}
    ErrorCode await_resume() const { return code_; }

   private:
    [[nodiscard]] bool ended() override;
    std::span<const Request> requests_;
    std::span<Completion> completions_;
    std::size_t ended_ = 0; // so many of them, from the first on
    ErrorCode code_ = ErrorCode::timed_out;
  };
  class EventWait final : public Wait {
   public:
    EventWait(Peer& peer, std::span<Event> events, Limit limit) : Wait(peer, limit), events_(events) {}
    std::size_t await_resume() const { return count_; }

   private:
    [[nodiscard]] bool ended() override;
    std::span<Event> events_;
    std::size_t count_ = 0;
  };
  class TimeWait final : public Wait {
   public:
    TimeWait(Peer& peer, Time time) : Wait(peer, time) {}
    void await_resume() {}

   private:
    [[nodiscard]] bool ended() override { return false; }
  };

  class TrackerWait final : public Wait {
   public:
    TrackerWait(Peer& peer, const Tracker& tracker, Limit limit) : Wait(peer, limit), tracker_(tracker) {}
    ErrorCode await_resume() const { return tracker_.ended() ? tracker_.code() : ErrorCode::timed_out; }

   private:
    [[nodiscard]] bool ended() override { return tracker_.ended(); }
    const Tracker& tracker_;
  };

  class ChangeWait final : public Wait {
   public:
    ChangeWait(Peer& peer, const std::uint64_t& word, std::uint64_t old, Limit limit)
        : Wait(peer, limit), word_(word), old_(old) {}
    std::uint64_t await_resume() const { return word_; }

   private:
    [[nodiscard]] bool ended() override { return word_ != old_; }
    const std::uint64_t& word_;
    std::uint64_t old_;
  };

  // As OneSided::wait and wait_change.
  [[nodiscard]] ChangeWait wait_change(const std::uint64_t& word, std::uint64_t old, Limit limit = {}) {
    return {*this, word, old, limit};
  }
  [[nodiscard]] TrackerWait wait(const Tracker& tracker, Limit limit = {}) { return {*this, tracker, limit}; }
  // As Context::wait, wait_any, wait_all and wait_events. The lists stay where they are until it is over.
  [[nodiscard]] RequestWait wait(Request request, Limit limit = {}) { return {*this, request, limit}; }
  [[nodiscard]] AnyWait wait_any(std::span<const Request> requests, Limit limit = {}) {
    return {*this, requests, limit};
  }
  [[nodiscard]] AllWait wait_all(std::span<const Request> requests, Limit limit = {}) {
    return {*this, requests, {}, limit};
  }
  [[nodiscard]] AllWait wait_all(std::span<const Request> requests, std::span<Completion> completions,
                                 Limit limit = {}) {
    return {*this, requests, completions, limit};
  }
  [[nodiscard]] EventWait wait_events(std::span<Event> events, Limit limit = {}) { return {*this, events, limit}; }
  [[nodiscard]] RequestWait barrier() { return wait(*context().start_barrier()); }
  // Until that much time has passed, while the library goes on serving peers.
  [[nodiscard]] TimeWait sleep(Time time) { return {*this, time}; }
  // Until that much time has passed without a call of the library, as a program computes.
  [[nodiscard]] TimeWait compute(Time time) {
    computes_until_ = later(time);
    return {*this, time};
  }
  // The process leaves the job in good order when its program returns, and its context is gone: what it has sent arrives, and
  // the others get peer_left. Without this, a process whose program has returned goes on serving its peers.
  void leave() { leaves_ = true; }

 private:
  friend class WorldState;
  Peer(WorldState& world, Rank rank, std::uint32_t size) : world_(world), rank_(rank), size_(size) {}
  // Now, for a time that is negative; the end of time, for one that would end after it.
  [[nodiscard]] Time later(Time time) const {
    return time <= Time::zero() ? now() : time > Time::max() - now() ? Time::max() : now() + time;
  }

  WorldState& world_;
  Rank rank_;
  std::uint32_t size_;
  std::optional<Context> context_;
  Wait* waiting_ = nullptr;
  Time computes_until_{};
  bool leaves_ = false;
};

using Program = std::function<Task(Peer&)>;

struct Setup {
  // "infiniband:6-ary-2-tree:30", "tofu:2x3x2", "rhinet:star:8"; see docs/simulator.md. With options.paths, an infiniband fabric is also
  // what paths are planned on.
  std::string fabric;
  // Packets in buffers, or flows at max-min fair rates: quicker for large messages, without what blocks packets.
  enum class Model : std::uint8_t { packets, fluid } model = Model::packets;
  std::uint32_t peers = 0;          // 0: one on each node
  std::uint32_t peers_per_node = 1; // ranks 0.. on the first node, the next on the second, ...
  std::vector<std::uint32_t> nodes; // of the fabric that the job runs on; empty: all, from 0 on
  Options options;                  // of every process; the environment and files are not looked at
  struct Death {
    Rank rank{};
    Time at{};
  };
  std::vector<Death> deaths;
  // Cables of a rhinet fabric that are cut or plugged; one whose first change is that it is plugged is not plugged before.
  // docs/rhinet.md says how cables are counted.
  struct CableChange {
    std::uint32_t cable = 0;
    Time at{};
    bool plugged = false; // from then on
  };
  std::vector<CableChange> cables;
  // Chances, from 0 to 1 (of short counts to 0.99, since nothing would ever be taken at 1), that something goes wrong though the
  // network need not be blamed; from the seed.
  struct Faults {
    std::uint64_t seed = 0; // 0: none
    double short_count = 0;
    double delay_command = 0;
    double delay_event = 0;
    double reorder_events = 0;
    double refuse_reads = 0;       // that a process's reads of peers' messages are refused: all of them
    bool reorder_commands = false; // those held may overtake each other, where the network does not order puts
  } faults;
  std::string trace; // file for a trace in the Chrome format (Perfetto); empty: none
};

struct Outcome {
  Time time{};                     // when the last program ended
  std::uint64_t history = 0;       // depends on everything that happened on the network: equal for equal runs
  std::uint64_t packet_hops = 0;   // links that packets have crossed
  std::uint64_t resent = 0;        // packets that were sent once more because a cable was cut
  std::vector<std::string> errors; // of processes whose program threw: "rank 3: ..."
};

class World {
 public:
  // Error: what the setup says cannot be, or not on this machine: each process takes memory for all others.
  [[nodiscard]] static Result<World> create(const Setup& setup);
  ~World();
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;

  [[nodiscard]] std::uint32_t size() const;
  // Runs the program as every process until all have ended; once. Error: packets block each other, or processes wait for what
  // will never come, with a line for each.
  [[nodiscard]] Result<Outcome> run(const Program& program);
  // For tests and figures, after run.
  [[nodiscard]] const Peer& peer(Rank rank) const;

 private:
  explicit World(std::unique_ptr<WorldState> state);
  std::unique_ptr<WorldState> state_;
};

} // namespace heddle::simulation
#pragma GCC visibility pop
