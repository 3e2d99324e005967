// How a context comes to be: create makes the networks, enter builds everything over them and publishes this process, meet waits for the
// others.
#include "api/state.hpp"

#include "api/make_networks.hpp"
#include "base/standard_descriptors.hpp"
#include "job/inspection.hpp"
#include "job/join_log.hpp"
#include "job/node.hpp"
#include "job/processors.hpp"
#include "job/registry.hpp"
#include "launch/meeting.hpp"
#include "options_file/options_file.hpp"

#include <algorithm>

namespace heddle {

Result<std::unique_ptr<Context::State>> Context::State::create(const Options& options) {
  base::occupy_standard_descriptors();
  const base::Environment environment = base::Environment::of_process();
  auto resolved = options_file::resolve_with_file(options, environment, job::sections());
  if (!resolved) return std::unexpected(std::move(resolved.error()));
  const base::Settings& settings = resolved->settings;
  auto identity = launch::detect(environment, settings);
  if (!identity) return std::unexpected(std::move(identity.error()));
  const auto deadline = base::deadline_in(std::chrono::seconds(settings.join_timeout_s));
  auto listening = job::listening_of(*resolved);
  if (!listening) return std::unexpected(std::move(listening.error()));
  auto admission = launch::enter_store(*identity, *listening, deadline);
  if (!admission) return std::unexpected(std::move(admission.error()));
  resolved->settings.store = admission->address; // networks look where it is
  Entrance entrance;
  entrance.store = std::move(admission->store);
  entrance.node = job::node_identity(environment, admission->placement.node);
  entrance.host = job::own_host_name(admission->placement.node);
  auto networks = api::make_networks(*resolved, {.rank = entrance.store->rank(),
                                                 .size = entrance.store->size(),
                                                 .node = entrance.node,
                                                 .secret = admission->secret,
                                                 .settings = &settings,
                                                 .log = base::Log(settings.log_level, entrance.store->rank())});
  if (!networks) return std::unexpected(std::move(networks.error()));
  entrance.owned_networks = std::move(*networks);
  entrance.options = std::move(*resolved);
  return enter_and_meet(std::move(entrance));
}

Result<std::unique_ptr<Context::State>> Context::State::enter_and_meet(Entrance entrance) {
  for (const auto& network : entrance.owned_networks) entrance.networks.push_back(network.get());
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
  state->uid_ = entrance.uid;
  state->simulated_ = entrance.simulated;
  if (!state->simulated_) state->fork_mark_.watch();
  const base::Settings& settings = state->options_.settings;
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
          .log = log_,
          .simulated = simulated_}; // for utofu
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
  if (!is_open()) engine_->expect_news(); // of the store, or of a simulated network
  engine_->set_log(log_);
  lookout_.emplace(progress::Watchdog::Means{.store = *store_, .work = *this, .log = log_, .recorder = *recorder_},
                   progress::Lookout::Config{.watchdog = std::chrono::seconds(options_.settings.watchdog_s),
                                             .unsolicited_memory = options_.settings.unsolicited_memory,
                                             .looks = !simulated_});
  one_sided_engine_ = std::make_unique<onesided::OneSidedEngine>(engine_->services());
  barriers_ = std::make_unique<collective::Barriers>(*engine_);
  patterns_ = std::make_unique<pattern::Patterns>(*engine_);
  return {};
}

Result<void> Context::State::meet() {
  const base::Settings& settings = options_.settings;
  auto roster = job::meet(as_member(), base::deadline_in(std::chrono::seconds(settings.join_timeout_s)));
  if (!roster) return std::unexpected(std::move(roster.error()));
  if (is_open()) {
    engine_->set_contacts(std::move(roster->contacts), uid_);
    engine_->enter_open_world();
  } else {
    engine_->set_contacts(std::move(roster->contacts));
  }
  const bool on_one_machine = roster->grouping->nodes() == 1;
  if (on_one_machine) barriers_->choose_radix(roster->costs);
  exchanges_ = std::make_unique<collective::Exchanges>(*engine_, std::move(roster->grouping), roster->costs);
  if (on_one_machine && !simulated_ && !is_open()) exchanges_->use_boards();
  hosts_ = std::move(roster->hosts);
  if (simulated_) return {};
  if (roster->on_each > 1) job::step_onto_processor(hosts_->local_rank(store_->rank()));
  sleeper_ = std::make_unique<progress::Sleeper>(
      static_cast<progress::PendingWork&>(*this), *lookout_,
      progress::Waiter::Config{
          .waiting = settings.waiting, .spin = std::chrono::microseconds(settings.spin_us), .on_each = roster->on_each},
      networks_);
  if (log_.enabled(LogLevel::info)) job::log_join(log_, joined(), options_);
  if (settings.announce && store_->rank() == 0) log_.announce(job::announcement(joined()));
  return {};
}

job::Joined Context::State::joined() const {
  job::Joined joined{.rank = store_->rank(), .size = store_->size(), .host = host_, .services = {}};
  for (std::size_t i = 0; i < networks_.size(); ++i) {
    job::Service& service = joined.services.emplace_back();
    service.translator = networks_[i]->name();
    service.remark = networks_[i]->remark();
    for (std::uint32_t rank = 0; rank < joined.size; ++rank)
      if (engine_->contact(rank).port == i + 1) service.peers.push_back(rank);
  }
  return joined;
}

} // namespace heddle
