// Everything a context owns, and what ties it together: joining, and the waits that make progress on all of it. How the time passes
// while nothing arrives is for src/progress.
#pragma once

#include "api/fork_mark.hpp"
#include "api/onesided_requests.hpp"
#include "api/unfinished.hpp"
#include "base/clock.hpp"
#include "base/flight_recorder.hpp"
#include "base/hidden.hpp"
#include "base/log.hpp"
#include "base/options.hpp"
#include "collective/barrier.hpp"
#include "collective/exchanges.hpp"
#include "engine/engine.hpp"
#include "engine/schedule_queue.hpp"
#include "ir/translator.hpp"
#include "job/hosts.hpp"
#include "job/join.hpp"
#include "job/join_log.hpp"
#include "onesided/one_sided_engine.hpp"
#include "pattern/patterns.hpp"
#include "progress/lookout.hpp"
#include "progress/pending_work.hpp"
#include "progress/quick_calls.hpp"
#include "progress/sleeper.hpp"
#include "store/store.hpp"
#include "translators/loopback/loopback.hpp"

#include <heddle/heddle.hpp>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

// Errors are values: where memory is short, that is one, too.
template <typename Call>
auto unless_out_of_memory(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return std::unexpected(engine::Engine::no_memory());
  }
}

class HEDDLE_HIDDEN Context::State final : private progress::PendingWork {
 public:
  static Result<std::unique_ptr<State>> create(const Options& options);
  // As Context::open: a job of one, to which others come (open_world.cpp).
  static Result<std::unique_ptr<State>> open(const Options& options, std::uint64_t uid);
  [[nodiscard]] bool is_open() const { return uid_ != 0; }
  [[nodiscard]] Result<Name> name() const;
  [[nodiscard]] Result<Rank> add_peer(const Name& name);
  // Of calls that need numbers which all processes agree on.
  [[nodiscard]] std::unexpected<Error> refuse_in_open_world(const char* what) const;
  // What a process joins with.
  struct Entrance {
    base::ResolvedOptions options;
    std::unique_ptr<store::Store> store;
    std::uint64_t node = 0;                // this machine
    std::string host;                      // its name
    std::vector<ir::Translator*> networks; // in order of preference; they outlive the state, or are its own:
    std::vector<std::unique_ptr<ir::Translator>> owned_networks;
    std::uint64_t uid = 0;  // of an open world
    bool simulated = false; // time passes only when its calls return, and the networks report deaths
  };
  // Joining (join.cpp). The first half: publishes that the process is there. Meet is the second: it waits until all have published.
  static Result<std::unique_ptr<State>> enter(Entrance entrance);
  Result<void> meet();
  ~State();
  // What a context that was moved from holds. Its calls are refused like those of a child of fork, so that they cost nothing
  // elsewhere. Made by the first context and never destroyed.
  static State* moved_from();
  // False for that one.
  [[nodiscard]] bool has_engine() const { return engine_ != nullptr; }
  // In a child of fork the parent's membership is not the child's to end: it is left alone, memory and all. So is moved_from().
  static void abandon_in_child(std::unique_ptr<State>& state);
  // As Context::abort, but returns.
  void abort(int status) const {
    if (store_ != nullptr) store_->abort(status);
  }
  // Whether every call is refused: in a child of fork, which shares the parent's rings and would disturb it, and for moved_from().
  [[nodiscard]] bool must_refuse() const { return fork_mark_.in_child(); }
  [[nodiscard]] std::unexpected<Error> refuse() const;
  // The same for the quick calls, which need neither stack nor registers for it.
  [[nodiscard, gnu::cold, gnu::noinline]] Result<Request> refuse_request() const;
  static constexpr Completion kRefused{.code = ErrorCode::bad_argument};

  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] collective::Barriers& barriers() { return *barriers_; }
  [[nodiscard]] OneSided& one_sided() { return one_sided_; }
  [[nodiscard]] onesided::OneSidedEngine& one_sided_engine() { return *one_sided_engine_; }
  [[nodiscard]] api::OneSidedRequests& one_sided_requests() { return one_sided_requests_; }
  [[nodiscard]] pattern::Patterns& patterns() { return *patterns_; }
  [[nodiscard]] collective::Exchanges& exchanges() { return *exchanges_; }
  // Null for a peer of an open world.
  [[nodiscard]] const job::Hosts* hosts_with(std::uint32_t rank) const {
    return rank < store_->size() ? hosts_.get() : nullptr;
  }
  [[nodiscard]] Result<void> check_rank(Rank rank) const;
  [[nodiscard]] api::Unfinished& unfinished(api::Unfinished::Kind kind) {
    return kind == api::Unfinished::Kind::barrier ? unfinished_barrier_ : unfinished_exchange_;
  }

  // One round of work. Returns how much was done.
  // Where memory is short, what needs it is left to the next.
  std::size_t progress() {
    std::size_t done = 0;
    try {
      done = engine_->progress() + barriers_->progress() + exchanges_->progress() + patterns_->progress();
    } catch (const std::bad_alloc&) {
    }
    lookout_->note_round(done);
    return done;
  }

  // For calls that end at once without it.
  void progress_now_and_then() {
    if (quick_calls_.due() && may_block()) [[unlikely]]
      progress_between_quick_calls();
  }

  // Whether everything that this process has to say has left it.
  [[nodiscard]] bool drained() const;
  [[nodiscard]] bool networks_drained() const;

  // Whether any call of progress since forget_work has done something. For simulated processes, which have no watchdog.
  void forget_work() { lookout_->watchdog().forget(); }
  [[nodiscard]] bool has_worked() { return lookout_->watchdog().has_moved(); }

  // As progress, for a simulated process, which is called only when something has happened to it.
  std::size_t progress_all();
  std::size_t progress_told(std::span<const std::uint32_t> writers);
  // False for a simulated process: time passes only when it returns.
  [[nodiscard]] bool may_block() const { return sleeper_ != nullptr; }

  // Makes progress until `done()`. Only where it may block.
  template <typename Done>
  void wait_until(Done&& done) {
    while (!done()) {
      std::size_t count = progress();
      if (count == 0 && sleeper_->may_look_again() && exchanges_->idle()) count = engine_->glance();
      if (count > 0 && done()) break;
      sleeper_->pass_time(count);
    }
    lookout_->watchdog().moved(); // a glance does not say so itself
    sleeper_->busy();
  }
  // The same, within the time given. False when it was over first.
  template <typename Done>
  bool wait_until(Done&& done, std::chrono::nanoseconds limit) {
    if (!may_block()) [[unlikely]] {
      progress_all();
      return done();
    }
    const std::uint64_t end = base::steady_ns() + static_cast<std::uint64_t>(std::max<std::int64_t>(limit.count(), 0));
    while (!done()) {
      if (base::steady_ns() >= end) {
        progress();
        return done();
      }
      sleeper_->pass_time(progress(), end);
    }
    sleeper_->busy();
    return true;
  }

  void relax() { sleeper_->relax(); }

  // As Context::descriptor and ready_to_sleep.
  Result<int> descriptor();
  Result<bool> ready_to_sleep();

  // As Context::wait.
  Completion wait(Request request) {
    engine::Operation* operation = engine_->find(request);
    if (operation == nullptr) [[unlikely]]
      return {.code = ErrorCode::stale_request};
    if (!engine::Engine::ended(*operation, request)) {
      if (!may_block()) [[unlikely]] {
        progress_all();
        return engine_->take_completion(request).value_or(Completion{.code = ErrorCode::would_block});
      }
      wait_until([operation, request] { return engine::Engine::ended(*operation, request); });
    }
    return engine_->take(*operation, request);
  }

  Completion wait(Request request, std::chrono::nanoseconds limit) {
    if (!wait_until([this, request] { return engine_->ended(request); }, limit)) return {.code = ErrorCode::timed_out};
    return *engine_->take_completion(request);
  }

  [[nodiscard]] Result<Protocol> why(Rank to, std::uint64_t bytes);
  // As Context::waiting_for.
  [[nodiscard]] std::string waiting_for();

 private:
  State() = default;
  // Both halves of joining, over the networks that the state owns.
  static Result<std::unique_ptr<State>> enter_and_meet(Entrance entrance);
  Result<void> build();
  [[nodiscard]] job::Member as_member() const;
  [[nodiscard]] job::Joined joined() const;
  // Before it leaves, this process says what peers wait for, such as that it has fetched their message; after an exchange that was
  // cut short, it also receives what peers that do not know of the death yet still send.
  void say_last_words();
  void progress_between_quick_calls();

  // As progress::PendingWork, for what passes the time.
  std::size_t one_round() override { return progress(); }
  std::size_t last_look() override { return engine_->last_look(); }
  [[nodiscard]] bool awaits_answers() const override { return engine_->awaits_answers(); }
  [[nodiscard]] bool must_try_again() const override { return engine_->must_try_again(); }
  void try_again_now() override { engine_->try_again_now(); }
  [[nodiscard]] bool has_events() const override { return engine_->has_events(); }
  [[nodiscard]] std::uint64_t count() const override { return engine_->progress_count(); }
  [[nodiscard]] bool waits_since(std::uint64_t count) override { return engine_->waits_since(count); }
  [[nodiscard]] std::string waiting_for(const base::Ages& ages, std::uint64_t now_ns) override;
  [[nodiscard]] std::uint64_t refused() const override { return engine_->refused(); }
  void peer_failed(std::uint32_t rank) override;
  bool peer_left(std::uint32_t rank) override;
  [[nodiscard]] bool awaits_news() const override { return engine_->awaits_news(); }
  void give_up_news() override { engine_->give_up_news(); }

  base::ResolvedOptions options_;
  base::Log log_;
  std::unique_ptr<base::FlightRecorder> recorder_;
  std::unique_ptr<store::Store> store_;
  std::uint64_t node_ = 0;
  std::unique_ptr<translators::LoopbackFabric> self_fabric_;
  std::vector<std::unique_ptr<ir::Translator>> owned_networks_;
  std::unique_ptr<ir::Translator> to_self_;
  std::vector<ir::Translator*> networks_; // to the others, in order of preference
  std::vector<std::unique_ptr<engine::ScheduleQueue>> queues_;
  api::ForkMark fork_mark_; // beside what every call looks at, too
  std::unique_ptr<engine::Engine> engine_;
  api::OneSidedRequests one_sided_requests_; // outlives what may still end them
  std::unique_ptr<onesided::OneSidedEngine> one_sided_engine_;
  std::unique_ptr<collective::Barriers> barriers_;
  std::unique_ptr<pattern::Patterns> patterns_;
  std::unique_ptr<collective::Exchanges> exchanges_;
  std::unique_ptr<progress::Sleeper> sleeper_; // none in a simulated process
  std::optional<progress::Lookout> lookout_;
  progress::QuickCalls quick_calls_;
  std::uint64_t uid_ = 0; // in an open world
  bool simulated_ = false;
  OneSided one_sided_{*this};

  // Seldom looked at.
  std::string host_;
  std::shared_ptr<const job::Hosts> hosts_;
  api::Unfinished unfinished_barrier_;
  api::Unfinished unfinished_exchange_;
};

} // namespace heddle
