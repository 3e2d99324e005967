#include "world/state.hpp"

#include "api/access.hpp"
#include "base/refusal.hpp"
#include "job/registry.hpp"
#include "sim/description.hpp"
#include "sim/tofu.hpp"
#include "store/in_memory.hpp"
#include "translators/simulated/infiniband/infiniband.hpp"
#include "translators/simulated/rhinet/rhinet.hpp"
#include "translators/simulated/tofu/tofu.hpp"
#include "world/setup.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace heddle::simulation {

namespace {

using namespace translators::simulated;

// Until something is tried again that nobody will tell of: twice as long each time that it was in vain.
constexpr Time kFirstPatience = std::chrono::microseconds(4); // about as long as a peer's transaction takes
constexpr Time kShortPatience = std::chrono::microseconds(1); // where faults hold something back
constexpr Time kLastPatience = std::chrono::microseconds(64);

// Where a network takes nothing more for good, such as behind a cable that is cut, timers alone would go on for ever. So many
// calls of processes are looked at together; if nothing has moved in them, the timers become twice as long, and after so many
// of these in a row nothing ever will.
constexpr std::uint64_t kManyAdvances = 4096;
constexpr unsigned kInVain = 24;
constexpr unsigned kMostDoublings = 36; // of 64 microseconds: half of all time

Result<void> check_nodes(std::vector<std::uint32_t> nodes, const sim::Fabric& fabric) {
  if (nodes.empty()) return refuse("no node of " + fabric.name + " is left");
  std::ranges::sort(nodes);
  if (nodes.back() >= fabric.nodes)
    return refuse("node " + std::to_string(nodes.back()) + " is outside the fabric of " + std::to_string(fabric.nodes) +
                  " nodes");
  const auto twice = std::ranges::adjacent_find(nodes);
  if (twice != nodes.end()) return refuse("node " + std::to_string(*twice) + " is named twice", "name every node once");
  const auto absent = std::ranges::find_if(nodes, [&](std::uint32_t node) { return fabric.is_absent(node); });
  if (absent != nodes.end()) return refuse(fabric.name_of_node(*absent) + " is out of order", "name others");
  return {};
}

// Drawn once for a process: a kernel or an adapter that refuses one read refuses the next as well.
bool refuses_reads(const Setup::Faults& faults, std::uint32_t rank) {
  return translators::Dice(faults.seed * 7919 + rank).chance(faults.refuse_reads);
}

} // namespace

WorldState::WorldState(const Setup& setup, std::unique_ptr<sim::NetworkModel> network, std::vector<std::uint32_t> nodes)
    : setup_(setup), interconnect_(std::move(network), std::move(nodes)), deaths_(setup.deaths) {
  std::stable_sort(deaths_.begin(), deaths_.end(), [](const auto& a, const auto& b) { return a.at > b.at; });
}

WorldState::~WorldState() {
  for (Process& process : processes_) process.task.reset(); // programs refer to their peers
  for (Process& process : processes_)
    if (process.peer != nullptr) process.peer->context_.reset();
}

Result<std::unique_ptr<WorldState>> WorldState::create(const Setup& setup) {
  if (auto good = check_setup(setup); !good) return std::unexpected(std::move(good.error()));
  auto fabric = sim::parse_fabric(setup.fabric, {.every_lid = setup.options.paths.has_value()});
  if (!fabric) return std::unexpected(std::move(fabric.error()));
  std::vector<std::uint32_t> offered = setup.nodes;
  if (offered.empty())
    for (std::uint32_t node = 0; node < fabric->nodes; ++node)
      if (!fabric->is_absent(node)) offered.push_back(node);
  if (auto good = check_nodes(offered, *fabric); !good) return std::unexpected(std::move(good.error()));
  const std::uint64_t places = std::uint64_t{offered.size()} * setup.peers_per_node;
  const std::uint64_t peers = setup.peers == 0 ? places : setup.peers;
  if (peers > places)
    return refuse(std::to_string(peers) + " peers do not fit on " + std::to_string(offered.size()) + " nodes with " +
                      std::to_string(setup.peers_per_node) + " on each",
                  "use a larger fabric or more peers per node");
  if (auto enough = check_memory(std::to_string(peers) + " peers", least_memory(peers)); !enough)
    return std::unexpected(std::move(enough.error()));
  std::vector<std::uint32_t> nodes;
  for (std::uint64_t rank = 0; rank < peers; ++rank) nodes.push_back(offered[rank / setup.peers_per_node]);
  for (const Setup::Death& death : setup.deaths)
    if (std::to_underlying(death.rank) >= peers)
      return refuse("rank " + std::to_string(std::to_underlying(death.rank)) + " cannot die: no such rank");
  std::vector<sim::CableChange> changes;
  for (const Setup::CableChange& each : setup.cables) changes.push_back({each.cable, each.at, each.plugged});
  const auto model = setup.model == Setup::Model::fluid ? sim::Model::fluid : sim::Model::packets;
  auto network = sim::make_network(std::move(*fabric), model, std::move(changes));
  if (!network) return std::unexpected(std::move(network.error()));
  std::unique_ptr<WorldState> state(new WorldState(setup, std::move(*network), std::move(nodes)));
  if (!setup.trace.empty()) {
    auto trace = Trace::create(setup.trace, state->interconnect_.network());
    if (!trace) return std::unexpected(std::move(trace.error()));
    state->trace_ = std::move(*trace);
    state->interconnect_.network().record(state->trace_.get());
  }
  if (auto populated = state->populate(); !populated) return std::unexpected(std::move(populated.error()));
  return state;
}

engine::Engine& WorldState::engine_of(Peer& peer) {
  return ContextAccess::state(*peer.context_).engine();
}

Result<std::unique_ptr<Simulated>> WorldState::make_translator(ir::Peer peer) {
  const std::string_view kind = std::string_view(setup_.fabric).substr(0, setup_.fabric.find(':'));
  if (kind == "infiniband") return std::make_unique<Infiniband>(interconnect_, peer);
  if (kind == "tofu") {
    if (interconnect_.network().fabric().packets.lanes <= sim::tofu_lane(1))
      return refuse(setup_.fabric + " has one class of traffic: the library's answers need another than its requests",
                    "classes=2");
    return std::make_unique<Tofu>(interconnect_, peer);
  }
  if (kind == "rhinet") return std::make_unique<Rhinet>(interconnect_, peer);
  return refuse("no translator for a fabric of kind '" + std::string(kind) + "'");
}

Result<void> WorldState::populate() {
  auto options = base::resolve(setup_.options, {}, {}, job::sections());
  if (!options) return std::unexpected(std::move(options.error()));
  const std::string& subnet = interconnect_.network().fabric().subnet;
  const bool plans = !options->settings.topology.empty() || setup_.options.paths.has_value();
  if (plans && subnet.empty())
    return refuse("options paths and topology: a fabric such as " + setup_.fabric + " has no paths to choose from");
  if (plans && options->settings.topology.empty()) options->settings.topology = subnet; // named once is enough
  const std::uint32_t size = interconnect_.size();
  processes_.resize(size);
  const auto board = std::make_shared<store::Board>(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    Process& process = processes_[rank];
    auto network = make_translator(ir::Peer{rank});
    if (!network) return std::unexpected(std::move(network.error()));
    process.network = std::move(*network);
    if (setup_.faults.seed != 0)
      process.faulty = std::make_unique<translators::Faulty>(
          *process.network, translators::FaultPlan{.seed = setup_.faults.seed * 1'000'003 + rank,
                                                   .short_count = setup_.faults.short_count,
                                                   .delay_command = setup_.faults.delay_command,
                                                   .delay_event = setup_.faults.delay_event,
                                                   .reorder_events = setup_.faults.reorder_events,
                                                   .refuse_reads = refuses_reads(setup_.faults, rank),
                                                   .reorder_commands = setup_.faults.reorder_commands});
    ir::Translator& translator = process.faulty ? static_cast<ir::Translator&>(*process.faulty) : *process.network;
    process.peer.reset(new Peer(*this, Rank{rank}, size));
    const std::uint32_t node = interconnect_.node_of(ir::Peer{rank});
    auto state = ContextAccess::State::enter({.options = *options,
                                              .store = std::make_unique<store::InMemoryStore>(board, rank),
                                              .node = node,
                                              .host = "node" + std::to_string(node),
                                              .networks = {&translator},
                                              .simulated = true});
    if (!state) return std::unexpected(std::move(state.error()));
    process.peer->context_ = ContextAccess::make(std::move(*state));
  }
  for (Process& process : processes_)
    if (auto met = ContextAccess::state(*process.peer->context_).meet(); !met) return met;
  return {};
}

Result<Outcome> WorldState::run(const Program& program) {
  if (!program) return refuse("the world is run without a program");
  if (std::exchange(ran_, true))
    return refuse("the world is run a second time", "a world runs once: create another with the same setup");
  running_ = size();
  for (const Setup::Death& death : deaths_) interconnect_.touch_at(network_peer(death.rank), death.at);
  for (Process& process : processes_) {
    process.task = program(*process.peer);
    process.task->start();
    note_end(process);
    advance(process);
  }
  std::vector<std::uint32_t> touched;
  while (running_ > 0) {
    kill_those_due();
    interconnect_.take_touched(touched);
    if (touched.empty()) {
      if (!interconnect_.step()) return std::unexpected(stuck());
      continue;
    }
    for (const std::uint32_t rank : touched) advance(processes_[rank]);
    advanced_ += touched.size();
    if (advanced_ >= kManyAdvances && nothing_will_move()) return std::unexpected(stuck());
  }
  outcome_.time = now();
  // What the last processes have sent still arrives.
  if (auto settled = interconnect_.settle(); !settled) return std::unexpected(std::move(settled.error()));
  outcome_.history = interconnect_.network().history();
  outcome_.packet_hops = interconnect_.network().packet_hops();
  outcome_.resent = interconnect_.network().resent();
  if (trace_ != nullptr) {
    interconnect_.network().record(nullptr);
    if (auto finished = trace_->finish(); !finished) return std::unexpected(std::move(finished.error()));
    trace_.reset();
  }
  return outcome_;
}

void WorldState::advance(Process& process) {
  if (process.gone || now() < process.peer->computes_until_) return;
  ContextAccess::State& state = ContextAccess::state(*process.peer->context_);
  look_again_if_due(process);
  process.network->take_writers(writers_);
  for (;;) {
    const std::size_t done = state.progress_told(writers_);
    writers_.clear();
    Peer::Wait* waiting = process.peer->waiting_;
    state.forget_work();
    if (waiting != nullptr && waiting->over())
      resume(process);
    else if (done == 0 && !state.has_worked()) // a wait may make calls of its own
      break;
  }
  if (process.peer->leaves_ && process.ended)
    depart_when_drained(process);
  else
    set_timer_if_needed(process);
}

// As a real process does in its context's destructor: it goes when everything it has to say has been said, and has arrived.
void WorldState::depart_when_drained(Process& process) {
  if (!ContextAccess::state(*process.peer->context_).drained()) return wake_at(*process.peer, now() + kFirstPatience);
  process.gone = true;
  process.peer->context_.reset();
  interconnect_.depart(network_peer(process.peer->rank()));
}

void WorldState::resume(Process& process) {
  Peer::Wait* waiting = std::exchange(process.peer->waiting_, nullptr);
  if (trace_ != nullptr && process.waits_since < now())
    trace_->peer_span(std::to_underlying(process.peer->rank()), "waits", process.waits_since, now());
  ++resumed_;
  waiting->handle_.resume();
  process.waits_since = now();
  note_end(process);
}

void WorldState::note_end(Process& process) {
  if (process.ended || !process.task->ended()) return;
  process.ended = true;
  --running_;
  if (!process.task->failure()) return;
  const std::string who = "rank " + std::to_string(std::to_underlying(process.peer->rank())) + ": ";
  try {
    std::rethrow_exception(process.task->failure());
  } catch (const std::exception& failure) {
    outcome_.errors.push_back(who + failure.what());
  } catch (...) {
    outcome_.errors.push_back(who + "threw something unknown");
  }
}

// The engine counts calls between its tries; here it is called only when something happens, and the time has passed instead.
void WorldState::look_again_if_due(Process& process) {
  if (!process.looks_again || now() < process.looks_at) return;
  process.looks_again = false;
  engine_of(*process.peer).try_again_now();
}

// One timer at a time: events that come before it must not set more of them.
void WorldState::set_timer_if_needed(Process& process) {
  const bool tries_again = engine_of(*process.peer).must_try_again_without_answer();
  const bool held =
      process.faulty != nullptr && (process.faulty->held() > 0 || engine_of(*process.peer).holds_commands());
  if (!tries_again) process.patience = {};
  if ((!tries_again && !held) || process.looks_again) return;
  if (tries_again) process.patience = std::clamp(2 * process.patience, kFirstPatience, kLastPatience);
  const Time wait =
      (held ? kShortPatience : process.patience) * (std::int64_t{1} << std::min(in_vain_, kMostDoublings));
  process.looks_again = true;
  process.looks_at = wait > Time::max() - now() ? Time::max() : now() + wait;
  wake_at(*process.peer, process.looks_at);
}

bool WorldState::nothing_will_move() {
  advanced_ = 0;
  const std::uint64_t moved = interconnect_.network().packet_hops() + resumed_;
  in_vain_ = moved == moved_ ? in_vain_ + 1 : 0;
  moved_ = moved;
  if (in_vain_ < kInVain || !deaths_.empty()) return false;
  if (std::ranges::any_of(setup_.cables, [this](const auto& change) { return change.at > now(); })) return false;
  return std::ranges::none_of(processes_, [](const Process& process) {
    const Peer::Wait* waiting = process.ended ? nullptr : process.peer->waiting_;
    return waiting != nullptr && waiting->until_;
  });
}

void WorldState::kill_those_due() {
  while (!deaths_.empty() && deaths_.back().at <= now()) {
    Process& process = processes_[std::to_underlying(deaths_.back().rank)];
    deaths_.pop_back();
    if (process.gone) continue;
    interconnect_.kill(network_peer(process.peer->rank()));
    process.gone = true;
    process.peer->waiting_ = nullptr;
    if (!process.ended) --running_;
    process.ended = true;
  }
}

Error WorldState::stuck() const {
  if (const std::string cycle = interconnect_.network().find_deadlock(); !cycle.empty())
    return bad_argument("the packets are in a deadlock: " + cycle, "route so that no cycle of buffers can fill");
  std::string waiting;
  for (const std::string& error : outcome_.errors) waiting += " " + error + ";";
  std::uint32_t count = 0;
  for (const Process& process : processes_) {
    if (process.ended) continue;
    ++count;
    if (count > 4) continue;
    std::string lines = process.peer->context_->waiting_for();
    std::replace(lines.begin(), lines.end(), '\n', ';');
    waiting += " rank " + std::to_string(std::to_underlying(process.peer->rank())) + ": " +
               (lines.empty() ? "nothing known;" : lines);
  }
  if (waiting.ends_with(';')) waiting.pop_back();
  return bad_argument(std::to_string(count) + (count == 1 ? " process waits" : " processes wait") +
                          " for something that will never happen:" + waiting,
                      "see that every receive has its send and every process takes part in barriers");
}

} // namespace heddle::simulation
