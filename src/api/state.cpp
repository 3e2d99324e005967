#include "api/state.hpp"

#include "base/lines.hpp"
#include "job/inspection.hpp"
#include "job/join_log.hpp"
#include "job/node.hpp"
#include "job/registry.hpp"
#include "launch/identity.hpp"
#include "options_file/options_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace heddle {

namespace {

// How often the store is asked for news, and how long a sleep lasts at most, so that news are not late.
constexpr std::uint64_t kLookInterval = 20'000'000; // ns
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kPatience = 200'000'000;      // ns without progress, before asking who has left
constexpr std::uint64_t kNewsPatience = 10 * kSecond; // for what has become of a process that is not there
// Calls of progress that see an own command through, from its post to what follows from its answer: asleep in between, this
// process would hold a lock or a slot that others wait for.
constexpr int kLastLooks = 4;

// The networks that option translators names.
Result<std::vector<std::unique_ptr<ir::Translator>>> make_networks(const base::ResolvedOptions& options,
                                                                   translators::TranslatorSetup setup) {
  const auto wanted = job::wanted_translators(options.settings);
  if (!wanted) return std::unexpected(wanted.error());
  std::vector<std::unique_ptr<ir::Translator>> networks;
  for (const translators::Entry* entry : *wanted) {
    setup.own = &options.section(entry->name);
    auto network = entry->make(setup);
    if (!network) return std::unexpected(std::move(network.error()));
    networks.push_back(std::move(*network));
  }
  return networks;
}

} // namespace

Result<std::unique_ptr<Context::State>> Context::State::create(const Options& options) {
  const base::Environment environment = base::Environment::of_process();
  auto resolved = options_file::resolve_with_file(options, environment, job::sections());
  if (!resolved) return std::unexpected(std::move(resolved.error()));
  const base::Settings& settings = resolved->settings;
  auto identity = launch::detect(environment, settings);
  if (!identity) return std::unexpected(std::move(identity.error()));
  const auto deadline = base::deadline_in(std::chrono::seconds(settings.join_timeout_s));
  auto store = launch::open_store(*identity, deadline);
  if (!store) return std::unexpected(std::move(store.error()));
  Entrance entrance;
  entrance.store = std::move(*store);
  entrance.node = job::node_identity();
  entrance.host = job::own_host_name();
  auto networks = make_networks(*resolved, {.rank = entrance.store->rank(),
                                            .size = entrance.store->size(),
                                            .node = entrance.node,
                                            .settings = &settings,
                                            .log = base::Log(settings.log_level, identity->rank)});
  if (!networks) return std::unexpected(std::move(networks.error()));
  for (const auto& network : *networks) entrance.networks.push_back(network.get());
  entrance.owned_networks = std::move(*networks);
  entrance.options = std::move(*resolved);
  auto state = enter(std::move(entrance));
  if (!state) return state;
  if (auto met = (*state)->meet(); !met) return std::unexpected(std::move(met.error()));
  return state;
}

Result<std::unique_ptr<Context::State>> Context::State::enter(Entrance entrance) {
  std::unique_ptr<State> state(new State());
  state->options_ = std::move(entrance.options);
  state->store_ = std::move(entrance.store);
  state->node_ = entrance.node;
  state->host_ = std::move(entrance.host);
  state->networks_ = std::move(entrance.networks);
  state->owned_networks_ = std::move(entrance.owned_networks);
  state->simulated_ = entrance.simulated;
  if (!state->simulated_) state->fork_mark_.watch();
  const base::Settings& settings = state->options_.settings;
  state->patience_ = progress::Patience(std::chrono::seconds(settings.watchdog_s));
  state->log_ = base::Log(settings.log_level, state->store_->rank());
  state->recorder_ = std::make_unique<base::FlightRecorder>(settings.flight_records);
  if (auto built = state->build(); !built) return std::unexpected(std::move(built.error()));
  const auto deadline = base::deadline_in(std::chrono::seconds(settings.join_timeout_s));
  if (auto said = job::publish(state->as_member(), deadline); !said) return std::unexpected(std::move(said.error()));
  return state;
}

job::Member Context::State::as_member() const {
  return {.store = *store_,
          .networks = networks_,
          .node = node_,
          .host = host_,
          .settings = options_.settings,
          .log = log_};
}

Result<void> Context::State::build() {
  const std::uint32_t rank = store_->rank();
  const std::uint32_t size = store_->size();
  self_fabric_ = std::make_unique<translators::LoopbackFabric>(size);
  to_self_ = std::make_unique<translators::Loopback>(*self_fabric_, ir::Peer{rank});
  std::vector<engine::ScheduleQueue*> queues;
  const auto add = [&](ir::Translator& network) {
    queues.push_back(queues_.emplace_back(std::make_unique<engine::ScheduleQueue>(network)).get());
  };
  add(*to_self_);
  for (ir::Translator* network : networks_) add(*network);
  auto engine = engine::Engine::create(rank, size, job::limits_of(options_.settings), queues, *recorder_);
  if (!engine) return std::unexpected(std::move(engine.error()));
  engine_ = std::move(*engine);
  engine_->expect_news(); // of the store, or of a simulated network
  engine_->set_log(log_);
  barriers_ = std::make_unique<collective::Barriers>(*engine_);
  patterns_ = std::make_unique<pattern::Patterns>(*engine_);
  return {};
}

Result<void> Context::State::meet() {
  const base::Settings& settings = options_.settings;
  auto roster = job::meet(as_member(), base::deadline_in(std::chrono::seconds(settings.join_timeout_s)));
  if (!roster) return std::unexpected(std::move(roster.error()));
  engine_->set_contacts(std::move(roster->contacts));
  exchanges_ = std::make_unique<collective::Exchanges>(*engine_, std::move(roster->grouping));
  hosts_ = std::move(roster->hosts);
  if (simulated_) return {};
  waiter_ = std::make_unique<progress::Waiter>(
      progress::Waiter::Config{
          .waiting = settings.waiting, .spin = std::chrono::microseconds(settings.spin_us), .crowded = roster->crowded},
      networks_);
  log_joined();
  if (settings.announce && store_->rank() == 0) announce();
  return {};
}

Context::State* Context::State::moved_from() {
  static State* const nobody = [] {
    auto* const state = new State();
    state->fork_mark_.set();
    return state;
  }();
  return nobody;
}

void Context::State::abandon_in_child(std::unique_ptr<State>& state) {
  if (state == nullptr || !state->in_child()) return;
  if (!state->in_job()) {
    static_cast<void>(state.release()); // moved_from()
    return;
  }
  static auto& kept = *new std::vector<State*>; // never destroyed, so that leak checkers find them to the end
  kept.push_back(state.release());
}

Result<Request> Context::State::refuse_request_in_child() const {
  return refuse_in_child();
}

std::unexpected<Error> Context::State::refuse_in_child() const {
  if (!in_job())
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument, .fact = "the context was moved to another object", .remedy = "use that one"});
  return std::unexpected(Error{
      .code = ErrorCode::bad_argument,
      .fact =
          "this process is a child of fork of rank " + std::to_string(engine_->rank()) + " and no member of the job",
      .remedy = "make all calls in the process that joined; the child may start another program"});
}

Context::State::~State() {
  if (simulated_ || store_ == nullptr || engine_ == nullptr) return;
  say_last_words();
  static_cast<void>(store_->leave());
}

std::size_t Context::State::progress_all() try {
  std::size_t done = engine_->progress_all();
  note_deaths();
  done += barriers_->progress() + exchanges_->progress() + patterns_->progress();
  if (done > 0) last_progress_ns_ = 0; // what follows from it is to be done, too
  return done;
} catch (const std::bad_alloc&) {
  return 0;
}

std::size_t Context::State::progress_told(std::span<const std::uint32_t> writers) try {
  const std::size_t done = engine_->progress_told(writers);
  note_deaths();
  return done + barriers_->progress() + exchanges_->progress() + patterns_->progress();
} catch (const std::bad_alloc&) {
  return 0;
}

bool Context::State::drained() const {
  return !engine_->owes_words() && !engine_->holds_commands() &&
         std::ranges::all_of(networks_, [](const ir::Translator* network) { return network->drained(); });
}

void Context::State::say_last_words() {
  if (waiter_ == nullptr) return; // it never met the others
  const std::uint64_t begin = base::steady_ns();
  while (!drained() || exchanges_->cut_short()) {
    const std::uint64_t now = base::steady_ns();
    // A word that is owed is given however slow its peer is, unless the peer is gone, too.
    if (drained() && now - begin >= kSecond) return;
    if (now - begin >= kPatience) watch_departures();
    pass_time(progress(), now + kLookInterval);
  }
}

void Context::State::note_deaths() {
  if (engine_->deaths() == deaths_seen_) return;
  deaths_seen_ = engine_->deaths();
  end_collectives();
}

void Context::State::end_collectives() {
  barriers_->peer_failed();
  exchanges_->peer_failed();
}

void Context::State::log_joined() const {
  if (!log_.enabled(LogLevel::info)) return;
  job::Joined joined{.rank = store_->rank(), .size = store_->size(), .services = {}};
  for (std::size_t i = 0; i < networks_.size(); ++i) {
    job::Service& service = joined.services.emplace_back();
    service.translator = networks_[i]->name();
    service.remark = networks_[i]->remark();
    for (std::uint32_t rank = 0; rank < joined.size; ++rank)
      if (engine_->contact(rank).port == i + 1) service.peers.push_back(rank);
  }
  job::log_join(log_, joined, options_);
}

void Context::State::announce() const {
  std::string text = std::to_string(store_->size()) + " processes;";
  for (const ir::Translator* network : networks_) text += " " + std::string(network->name());
  text += !networks_.empty() && networks_.front()->capabilities().reads_any_memory
              ? " serves all peers of this machine, large messages by one copy through the kernel"
              : " serves all peers of this machine, large messages copied through the rings";
  log_.announce(text);
}

// Between announcing and sleeping: whatever came before is seen here, whatever comes later ends the sleep.
bool Context::State::finds_nothing() try {
  std::size_t done = progress();
  for (int i = 0; i < kLastLooks && done == 0 && engine_->awaits_answers(); ++i) done = progress();
  return done == 0 && engine_->last_look() == 0;
} catch (const std::bad_alloc&) {
  return false;
}

std::uint64_t Context::State::next_nap() {
  return std::exchange(nap_ns_, std::min(2 * nap_ns_, kLookInterval));
}

Result<int> Context::State::descriptor() {
  if (!may_block())
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "a simulated process has no descriptor to sleep on",
                                 .remedy = "co_await its waits"});
  if (!loop_) {
    std::vector<ir::Sleeping*> sleepers;
    for (ir::Translator* network : networks_)
      if (ir::Sleeping* sleeping = network->facets().sleeping) sleepers.push_back(sleeping);
    auto made = progress::LoopDescriptor::create(sleepers, store_lost_ ? -1 : store_->descriptor());
    if (!made) return std::unexpected(std::move(made.error()));
    loop_ = std::move(*made);
  }
  return loop_->number();
}

Result<bool> Context::State::ready_to_sleep() {
  if (auto there = descriptor(); !there) return std::unexpected(std::move(there.error()));
  loop_->disarm();
  engine_->try_again_now();
  look_around();
  if (!store_lost_) take_notices(); // at once, since its descriptor stays readable until then
  if (engine_->has_events()) return false;
  const bool certain = loop_->arm() && std::ranges::all_of(networks_, [](auto* network) {
                         return network->facets().sleeping != nullptr;
                       });
  if (!finds_nothing() || engine_->has_events()) {
    loop_->disarm();
    nap_ns_ = kShortestNap;
    return false;
  }
  // Where nothing is under way there is nothing to try again, and the store tells of deaths itself.
  std::optional<std::chrono::nanoseconds> after;
  if (engine_->must_try_again() || !certain)
    after = std::chrono::nanoseconds(next_nap());
  else if (engine_->waits_since(~std::uint64_t{0}))
    after = std::chrono::nanoseconds(kLookInterval);
  loop_->set_timer(after);
  return true;
}

void Context::State::sleep(std::uint64_t end) {
  if (!finds_nothing()) {
    waiter_->cancel();
    return;
  }
  const std::uint64_t longest = engine_->must_try_again() ? next_nap() : kLookInterval;
  const std::uint64_t now = base::steady_ns();
  const std::uint64_t left = end > now ? end - now : 0;
  waiter_->sleep(std::chrono::nanoseconds(std::min(left, longest)));
  engine_->try_again_now();
  look_around();
}

void Context::State::look_around() try {
  if (simulated_) return;
  const std::uint64_t now = base::steady_ns();
  if (now - last_look_ns_ < kLookInterval) return;
  last_look_ns_ = now;
  ages_.note(engine_->progress_count(), now);
  if (last_progress_ns_ == 0) {
    last_progress_ns_ = now;
    patience_.restart(now);
  }
  watch(now);
  if (engine_->refused() != refused_seen_) {
    log_.warning(
        std::to_string(engine_->refused() - refused_seen_) +
        " unsolicited messages were refused for lack of memory: their senders are told; option unsolicited_memory is " +
        std::to_string(options_.settings.unsolicited_memory) + " bytes");
    refused_seen_ = engine_->refused();
  }
  if (store_lost_) return;
  // What has waited long may wait for one that has left in good order, of which nobody tells unasked.
  if (engine_->awaits_news()) {
    if (!watches_departures_) watches_departures_ = store_->watch_departures().has_value();
    if (news_awaited_ns_ == 0) news_awaited_ns_ = now;
    if (now - news_awaited_ns_ > kNewsPatience) engine_->give_up_news();
  } else {
    news_awaited_ns_ = 0;
  }
  if (!watches_departures_ && now - last_count_ns_ >= kPatience) {
    if (engine_->waits_since(last_count_)) watch_departures();
    last_count_ns_ = now;
    last_count_ = engine_->progress_count();
  }
  take_notices();
} catch (const std::bad_alloc&) { // the next look has another try
}

void Context::State::watch_departures() {
  if (!watches_departures_ && !store_lost_) watches_departures_ = store_->watch_departures().has_value();
}

// The fewer, the slower they come: whoever calls once in a while still learns of deaths.
void Context::State::progress_between_quick_calls() {
  constexpr std::uint64_t kMostAtOnce = 64;
  constexpr std::uint64_t kSlow = 1'000'000; // ns
  progress();
  look_around();
  const std::uint64_t now = base::steady_ns();
  quick_calls_at_once_ = now - last_quick_ns_ > kSlow ? 1 : std::min(2 * quick_calls_at_once_, kMostAtOnce);
  quick_calls_left_ = quick_calls_at_once_;
  last_quick_ns_ = now;
}

void Context::State::take_notices() {
  std::array<store::Notice, 16> notices{};
  for (;;) {
    const auto count = store_->take_notices(notices);
    if (!count) {
      store_lost_ = true;
      if (loop_) loop_->forget(store_->descriptor());
      log_.error("no more news of failed peers: " + count.error().message());
      // The launcher is gone, and with it the job: nobody would tell whoever waits for a peer that it has ended, too.
      for (std::uint32_t rank = 0; rank < store_->size(); ++rank)
        if (rank != store_->rank()) engine_->peer_failed(rank);
      end_collectives();
      return;
    }
    for (const store::Notice& notice : std::span(notices).first(*count)) {
      if (notice.failed) {
        engine_->peer_failed(notice.rank);
        end_collectives();
      } else {
        engine_->peer_left(notice.rank); // a barrier that it has not reached ends by its own messages
      }
    }
    if (*count < notices.size()) return;
  }
}

std::string Context::State::waiting_for() {
  return simulated_ ? engine_->waiting_for() : engine_->waiting_for(&ages_, base::steady_ns());
}

// The launcher makes one report for the whole job. Without one, this process says it itself.
void Context::State::watch(std::uint64_t now) {
  if (!patience_.over(now) || !log_.enabled(LogLevel::warning)) return;
  std::string waiting = waiting_for();
  if (waiting.empty()) return;
  constexpr std::size_t kLastMoments = 16;
  const std::uint64_t seconds = (now - last_progress_ns_) / kSecond;
  std::string moments = "last moments: " + recorder_->dump(kLastMoments);
  std::ranges::replace(moments, '\n', ' ');
  waiting = base::fitting_lines(waiting, store::kLargestReport - std::min(store::kLargestReport, moments.size()));
  waiting += moments;
  if (store_->report_stall(static_cast<std::uint32_t>(seconds), waiting)) return;
  log_.warning("nothing has moved for " + std::to_string(seconds) + " s; waiting:");
  for (std::size_t from = 0; from < waiting.size();) {
    const std::size_t line_end = std::min(waiting.find('\n', from), waiting.size());
    log_.warning("  " + waiting.substr(from, line_end - from));
    from = line_end + 1;
  }
}

Result<void> Context::State::check_rank(Rank rank) const {
  if (!in_job()) return refuse_in_child();
  if (static_cast<std::uint32_t>(rank) < engine_->size()) return {};
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "rank " + std::to_string(static_cast<std::uint32_t>(rank)) +
                                       " is outside the job of " + std::to_string(engine_->size()) + " processes"});
}

Result<Protocol> Context::State::why(Rank to, std::uint64_t bytes) {
  if (auto known = check_rank(to); !known) return std::unexpected(std::move(known.error()));
  const auto rank = static_cast<std::uint32_t>(to);
  return job::explain(engine_->expected_protocol(rank, bytes), bytes, options_.settings,
                      queues_[engine_->contact(rank).port]->translator().name());
}

} // namespace heddle
