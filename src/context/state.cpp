#include "context/state.hpp"

#include "base/lines.hpp"
#include "context/inspection.hpp"
#include "context/join_log.hpp"
#include "context/node.hpp"
#include "context/paths.hpp"
#include "context/registry.hpp"
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

// What a process publishes: where it is, and its address on each translator of the registry that it uses.
struct Card {
  std::uint64_t node = 0;
  ir::Location location; // on the first of its translators that has one
  std::array<ir::Address, 8> addresses{};
  std::array<std::uint8_t, 8> used{};
  context::ProcessorSet processors{};
  context::HostName host{};
};

} // namespace

Result<std::unique_ptr<Context::State>> Context::State::create(const Options& options) {
  const base::Environment environment = base::Environment::of_process();
  auto resolved = options_file::resolve_with_file(options, environment, context::sections());
  if (!resolved) return std::unexpected(std::move(resolved.error()));
  std::unique_ptr<State> state(new State());
  state->fork_mark_.watch();
  state->options_ = std::move(*resolved);
  const base::Settings& settings = state->options_.settings;
  state->patience_ = context::Patience(std::chrono::seconds(settings.watchdog_s));
  auto identity = launch::detect(environment, settings);
  if (!identity) return std::unexpected(std::move(identity.error()));
  state->log_ = base::Log(settings.log_level, identity->rank);
  state->recorder_ = std::make_unique<base::FlightRecorder>(settings.flight_records);

  const auto deadline = base::deadline_in(std::chrono::seconds(settings.join_timeout_s));
  auto store = launch::open_store(*identity, deadline);
  if (!store) return std::unexpected(std::move(store.error()));
  state->store_ = std::move(*store);
  if (auto chosen = state->choose_translators(); !chosen) return std::unexpected(std::move(chosen.error()));
  if (auto met = state->meet(); !met) return std::unexpected(std::move(met.error()));
  state->log_joined();
  if (settings.announce && state->store_->rank() == 0) state->announce();
  return state;
}

Result<std::unique_ptr<Context::State>> Context::State::create_simulated(base::ResolvedOptions options,
                                                                         std::uint32_t rank, std::uint32_t size,
                                                                         ir::Translator& translator) {
  std::unique_ptr<State> state(new State());
  state->options_ = std::move(options);
  state->log_ = base::Log(state->options_.settings.log_level, rank);
  state->recorder_ = std::make_unique<base::FlightRecorder>(state->options_.settings.flight_records);
  state->self_fabric_ = std::make_unique<translators::LoopbackFabric>(size);
  state->translators_.push_back(std::make_unique<translators::Loopback>(*state->self_fabric_, ir::Peer{rank}));
  if (auto built = state->build(rank, size, std::array{state->translators_[0].get(), &translator}); !built)
    return std::unexpected(std::move(built.error()));
  return state;
}

Result<void> Context::State::choose_translators() {
  const std::uint32_t rank = store_->rank();
  const std::uint32_t size = store_->size();
  self_fabric_ = std::make_unique<translators::LoopbackFabric>(size);
  translators_.push_back(std::make_unique<translators::Loopback>(*self_fabric_, ir::Peer{rank}));
  const auto wanted = context::wanted_translators(options_.settings);
  if (!wanted) return std::unexpected(wanted.error());
  for (const translators::Entry* entry : *wanted) {
    auto translator = entry->make({.rank = rank,
                                   .size = size,
                                   .settings = &options_.settings,
                                   .own = &options_.section(entry->name),
                                   .log = log_});
    if (!translator) return std::unexpected(std::move(translator.error()));
    translators_.push_back(std::move(*translator));
  }
  std::vector<ir::Translator*> translators;
  for (const auto& translator : translators_) translators.push_back(translator.get());
  return build(rank, size, translators);
}

Result<void> Context::State::build(std::uint32_t rank, std::uint32_t size,
                                   std::span<ir::Translator* const> translators) {
  std::vector<schedule::Queue*> queues;
  for (ir::Translator* translator : translators)
    queues.push_back(queues_.emplace_back(std::make_unique<schedule::Queue>(*translator)).get());
  auto engine = engine::Engine::create(rank, size, context::limits_of(options_.settings), queues, *recorder_);
  if (!engine) return std::unexpected(std::move(engine.error()));
  engine_ = std::move(*engine);
  engine_->expect_news(); // of the store, or of a simulated network
  engine_->set_log(log_);
  barriers_ = std::make_unique<collective::Barriers>(*engine_);
  patterns_ = std::make_unique<pattern::Patterns>(*engine_);
  return {};
}

Result<void> Context::State::meet() {
  Card own{
      .node = context::node_identity(), .processors = context::usable_processors(), .host = context::own_host_name()};
  for (std::size_t i = 1; i < translators_.size(); ++i) {
    own.addresses[i] = translators_[i]->address();
    own.used[i] = 1;
    if (!own.location.known()) own.location = translators_[i]->location();
  }
  const auto deadline = base::deadline_in(std::chrono::seconds(options_.settings.join_timeout_s));
  auto cards = store_->allgather(std::as_bytes(std::span(&own, 1)), deadline);
  if (!cards) return std::unexpected(std::move(cards.error()));

  std::vector<engine::Contact> contacts(store_->size());
  std::vector<std::uint64_t> nodes(store_->size());
  std::vector<ir::Location> locations(store_->size());
  std::vector<context::HostName> hosts(store_->size());
  unsigned neighbours = 0; // processes on this machine, and the processors that they may use together
  context::ProcessorSet processors{};
  for (std::uint32_t rank = 0; rank < store_->size(); ++rank) {
    Card card;
    if ((*cards)[rank].size() != sizeof card)
      return std::unexpected(
          Error{.code = ErrorCode::store_failed,
                .fact = "rank " + std::to_string(rank) + " published something else: it runs another version",
                .remedy = "use one version of Heddle in a job",
                .peer = rank});
    std::memcpy(&card, (*cards)[rank].data(), sizeof card);
    nodes[rank] = card.node;
    hosts[rank] = card.host;
    locations[rank] = card.location;
    if (card.node == own.node) {
      ++neighbours;
      for (std::size_t i = 0; i < processors.size(); ++i) processors[i] |= card.processors[i];
    }
    if (rank == store_->rank()) continue; // port 0, loopback
    std::size_t port = 1;
    while (port < translators_.size() && (card.used[port] == 0 || card.node != own.node)) ++port;
    if (port == translators_.size())
      return std::unexpected(
          Error{.code = ErrorCode::unreachable,
                .fact = "rank " + std::to_string(rank) +
                        (card.node == own.node ? " uses none of the translators in use here"
                                               : " is on another machine, which no translator in use here reaches"),
                .remedy = "allow more in option translators",
                .peer = rank});
    contacts[rank] = {.address = card.addresses[port], .port = static_cast<std::uint8_t>(port)};
  }
  if (auto chosen = choose_paths(contacts, locations); !chosen) return chosen;
  std::vector<std::uint64_t> order;
  for (const ir::Location& location : locations) order.push_back(location.base_lid);
  set_peers(std::move(contacts), std::make_shared<collective::Grouping>(collective::number_nodes(nodes, order)),
            std::make_shared<context::Hosts>(nodes, hosts));

  int processor_count = 0;
  for (const std::uint64_t word : processors) processor_count += std::popcount(word);
  std::vector<ir::Translator*> sleepers;
  for (std::size_t i = 1; i < translators_.size(); ++i) sleepers.push_back(translators_[i].get());
  waiter_ = std::make_unique<context::Waiter>(
      context::Waiter::Config{.waiting = options_.settings.waiting,
                              .spin = std::chrono::microseconds(options_.settings.spin_us),
                              .crowded = neighbours > static_cast<unsigned>(processor_count)},
      std::move(sleepers));
  return {};
}

Result<void> Context::State::choose_paths(std::span<const engine::Contact> contacts,
                                          std::span<const ir::Location> locations) {
  const base::Settings& settings = options_.settings;
  if (settings.topology.empty()) return {};
  if (!std::ranges::all_of(locations, &ir::Location::known)) {
    log_.warning("option topology has no effect: not every process is on a network with paths to choose from");
    return {};
  }
  const auto paths = context::Paths::plan(settings.topology, settings.paths, locations);
  if (!paths) return std::unexpected(paths.error());
  const std::uint32_t own = store_->rank();
  for (std::uint32_t rank = 0; rank < contacts.size(); ++rank)
    translators_[contacts[rank].port]->choose_path(ir::Peer{rank}, paths->offset(own, rank));
  return {};
}

void Context::State::set_peers(std::vector<engine::Contact> contacts,
                               std::shared_ptr<const collective::Grouping> grouping,
                               std::shared_ptr<const context::Hosts> hosts) {
  engine_->set_contacts(std::move(contacts));
  hosts_ = std::move(hosts);
  exchanges_ = std::make_unique<collective::Exchanges>(*engine_, std::move(grouping));
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
  if (store_ == nullptr || engine_ == nullptr) return;
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

void Context::State::say_last_words() {
  if (waiter_ == nullptr) return; // it never met the others
  const std::uint64_t begin = base::steady_ns();
  while (engine_->owes_words() || exchanges_->cut_short()) {
    const std::uint64_t now = base::steady_ns();
    // A word that is owed is given however slow its peer is, unless the peer is gone, too.
    if (!engine_->owes_words() && now - begin >= kSecond) return;
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
  context::Joined joined{.rank = store_->rank(), .size = store_->size(), .services = {}};
  for (std::size_t port = 1; port < translators_.size(); ++port) {
    context::Service& service = joined.services.emplace_back();
    service.translator = translators_[port]->name();
    service.remark = translators_[port]->remark();
    for (std::uint32_t rank = 0; rank < joined.size; ++rank)
      if (engine_->contact(rank).port == port) service.peers.push_back(rank);
  }
  context::log_join(log_, joined, options_);
}

void Context::State::announce() const {
  std::string text = std::to_string(store_->size()) + " processes;";
  for (std::size_t i = 1; i < translators_.size(); ++i) text += " " + std::string(translators_[i]->name());
  text += translators_.size() > 1 && translators_[1]->capabilities().reads_any_memory
              ? " serves all peers of this machine, large messages by one copy through the kernel"
              : " serves all peers of this machine, large messages copied through the rings";
  log_.announce(text);
}

void Context::State::sleep(std::uint64_t end) {
  // Between announcing and sleeping: whatever came before is seen here, whatever comes later ends the sleep.
  std::size_t done = progress();
  for (int i = 0; i < kLastLooks && done == 0 && engine_->awaits_answers(); ++i) done = progress();
  if (done > 0) {
    waiter_->cancel();
    return;
  }
  std::uint64_t longest = kLookInterval;
  if (engine_->must_try_again()) {
    longest = nap_ns_;
    nap_ns_ = std::min(2 * nap_ns_, kLookInterval);
  }
  const std::uint64_t now = base::steady_ns();
  const std::uint64_t left = end > now ? end - now : 0;
  waiter_->sleep(std::chrono::nanoseconds(std::min(left, longest)));
  engine_->try_again_now();
  look_around();
}

void Context::State::look_around() try {
  if (store_ == nullptr) return; // simulated
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
      log_.error("news of failed peers can no longer be had: " + count.error().message());
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
  return store_ == nullptr ? engine_->waiting_for() : engine_->waiting_for(&ages_, base::steady_ns());
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
  return context::explain(engine_->path(rank, bytes), bytes, options_.settings,
                          queues_[engine_->contact(rank).port]->translator().name());
}

} // namespace heddle
