// Everything a context owns, and how it makes progress and waits.
#pragma once

#include "api/fork_mark.hpp"
#include "api/unfinished.hpp"
#include "base/ages.hpp"
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
#include "pattern/patterns.hpp"
#include "progress/loop_descriptor.hpp"
#include "progress/patience.hpp"
#include "progress/waiter.hpp"
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

class HEDDLE_HIDDEN Context::State {
 public:
  static Result<std::unique_ptr<State>> create(const Options& options);
  // What a process joins with.
  struct Entrance {
    base::ResolvedOptions options;
    std::unique_ptr<store::Store> store;
    std::uint64_t node = 0;                // this machine
    std::string host;                      // its name
    std::vector<ir::Translator*> networks; // in order of preference; they outlive the state, or are its own:
    std::vector<std::unique_ptr<ir::Translator>> owned_networks;
    bool simulated = false; // time passes only when its calls return, and the networks tell of deaths
  };
  // The first half of joining: the process is there, and has said so. Meet is the second: it waits until all have done the first.
  static Result<std::unique_ptr<State>> enter(Entrance entrance);
  Result<void> meet();
  ~State();
  // What a context that was moved from holds. Its calls are refused like those of a child of fork, so that they cost nothing
  // elsewhere. Made by the first context and never destroyed.
  static State* moved_from();
  // False for that one: there is no engine.
  [[nodiscard]] bool in_job() const { return engine_ != nullptr; }
  // In a child of fork the parent's membership is not the child's to end: it is left alone, memory and all.
  static void abandon_in_child(std::unique_ptr<State>& state);
  // Whether this is a child of fork, whose calls are refused: it shares the parent's rings and would disturb it.
  [[nodiscard]] bool in_child() const { return fork_mark_.in_child(); }
  [[nodiscard]] std::unexpected<Error> refuse_in_child() const;
  // The same for the quick calls, which need neither stack nor registers for it.
  [[nodiscard, gnu::cold, gnu::noinline]] Result<Request> refuse_request_in_child() const;
  static constexpr Completion kRefusedInChild{.code = ErrorCode::bad_argument};

  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] collective::Barriers& barriers() { return *barriers_; }
  [[nodiscard]] OneSided& one_sided() { return one_sided_; }
  [[nodiscard]] pattern::Patterns& patterns() { return *patterns_; }
  [[nodiscard]] collective::Exchanges& exchanges() { return *exchanges_; }
  [[nodiscard]] const job::Hosts& hosts() const { return *hosts_; }
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
    if (done > 0) last_progress_ns_ = 0;
    if (++rounds_ % kRoundsPerLook == 0) [[unlikely]]
      look_around();
    return done;
  }

  // For calls that end at once without it: whoever makes only such calls still serves its peers, such as those that ask for the
  // key of an area, and learns of their deaths.
  void progress_now_and_then() {
    if (--quick_calls_left_ == 0 && may_block()) [[unlikely]]
      progress_between_quick_calls();
  }

  // Whether everything that this process has to say has left it.
  [[nodiscard]] bool drained() const;

  // Whether any call of progress since forget_work has done something. For simulated processes, which have no watchdog.
  void forget_work() { last_progress_ns_ = 1; }
  [[nodiscard]] bool has_worked() const { return last_progress_ns_ == 0; }

  // The same for a simulated process, which is called only when something has happened to it.
  std::size_t progress_all();
  std::size_t progress_told(std::span<const std::uint32_t> writers);
  // False for a simulated process: time passes only when it returns.
  [[nodiscard]] bool may_block() const { return waiter_ != nullptr; }

  // Makes progress until `done()`. Only where it may block.
  template <typename Done>
  void wait_until(Done&& done) {
    while (!done()) {
      std::size_t count = progress();
      if (count == 0) count = engine_->glance();
      if (count > 0 && done()) break;
      pass_time(count);
    }
    last_progress_ns_ = 0; // a glance does not say so itself
    waiter_->busy();
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
      pass_time(progress(), end);
    }
    waiter_->busy();
    return true;
  }

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
  // The clock, and by it the store, is looked at once in so many rounds: rarely enough to cost under a nanosecond a round,
  // often enough that even a program that polls only now and then learns of a death in a fraction of a second.
  static constexpr std::uint64_t kRoundsPerLook = 64;
  static constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};
  // The first sleep before another try for what a third process holds; each further one is twice as long, so that hundreds
  // of processes that want the same thing leave the cores to the one that has it.
  static constexpr std::uint64_t kShortestNap = 100'000; // ns

  State() = default;
  // A simulated process has no store to tell of deaths: the engine has seen them.
  void note_deaths();
  void end_collectives();
  Result<void> build();
  [[nodiscard]] job::Member as_member() const;
  void log_joined() const;
  void announce() const;
  void pass_time(std::size_t done, std::uint64_t end = kNoEnd) {
    if (done > 0) [[likely]] {
      waiter_->busy();
      nap_ns_ = kShortestNap;
      return;
    }
    if (waiter_->idle() == progress::Waiter::Advice::check_then_sleep) [[unlikely]]
      sleep(end);
  }
  void sleep(std::uint64_t end);
  // After an announced sleep: whether there is nothing to be done.
  bool finds_nothing();
  // How long it may sleep until something has to be tried again, longer each time.
  std::uint64_t next_nap();
  void look_around();
  // Peers that wait for this process to say that it has fetched their message are told before it leaves; after an exchange
  // that was cut short, so are those that have not yet heard of the death and still send to it.
  void say_last_words();
  void take_notices();
  // Asks to be told of who leaves; again where the store was too slow to take it.
  void watch_departures();
  void progress_between_quick_calls();
  void watch(std::uint64_t now);

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
  std::unique_ptr<collective::Barriers> barriers_;
  std::unique_ptr<pattern::Patterns> patterns_;
  std::unique_ptr<collective::Exchanges> exchanges_;
  std::unique_ptr<progress::Waiter> waiter_;
  std::optional<progress::LoopDescriptor> loop_;

  std::uint64_t rounds_ = 0;
  std::uint64_t quick_calls_left_ = 1; // until progress is made between them
  std::uint64_t quick_calls_at_once_ = 1;
  std::uint64_t last_quick_ns_ = 0;
  std::uint64_t deaths_seen_ = 0;
  std::uint64_t last_look_ns_ = 0;
  std::uint64_t nap_ns_ = kShortestNap;
  std::uint64_t last_progress_ns_ = 0; // 0: something was done since the last look
  progress::Patience patience_{std::chrono::seconds(0)};
  base::Ages ages_;                 // of the engine's progress count
  std::uint64_t last_count_ns_ = 0; // when the engine's progress was last counted, and
  std::uint64_t last_count_ = 0;    // how far it was
  std::uint64_t news_awaited_ns_ = 0;
  std::uint64_t refused_seen_ = 0;
  bool watches_departures_ = false;
  bool store_lost_ = false;
  bool simulated_ = false;
  OneSided one_sided_{*this};

  // Seldom looked at.
  std::string host_;
  std::shared_ptr<const job::Hosts> hosts_;
  api::Unfinished unfinished_barrier_;
  api::Unfinished unfinished_exchange_;
};

} // namespace heddle
