#include "schedule/flow.hpp"

#include "base/mix.hpp"
#include "schedule/algorithms.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace heddle::schedule {

namespace {

// Two ends this close are one: below a picosecond everything is rounding.
constexpr double kSameTime = 1e-3;

} // namespace

Flow::Flow(const Problem& problem)
    : problem_(problem),
      engine_rate_(limit_of(problem.resources.engine_rate)),
      node_rate_(limit_of(problem.resources.node_rate)),
      placements_(problem.size()),
      path_choice_(problem.size(), 0),
      crossing_(problem.link_rates.size(), 0),
      residual_(problem.link_rates.size(), 0) {
  route_names_.reserve(problem.paths.size() + 1);
  for (const Problem::Range& path : problem.paths) {
    std::uint64_t name = base::mix(0);
    for (std::uint32_t i = 0; i < path.count; ++i) name = base::mix(name + problem.links[path.first + i]);
    route_names_.push_back(name);
  }
  route_names_.push_back(base::mix(0)); // of requests without a path
}

void Flow::reset(std::uint32_t engines) {
  engine_count_ = std::clamp<std::uint32_t>(engines, 1, std::min(problem_.resources.engines, kMostEngines));
  state_.now = 0;
  state_.active = 0;
  for (std::uint32_t e = 0; e < engine_count_; ++e) {
    state_.engines[e] = {};
    state_.engines[e].moves_at = e * problem_.resources.queue_ns;
  }
  makespan_ = 0;
  stale_ = true;
}

std::uint8_t Flow::free_receive_engine(std::uint32_t engine, std::uint32_t request) const {
  const std::uint32_t count = problem_.resources.receive_engines;
  if (count >= problem_.resources.engines) return static_cast<std::uint8_t>(engine); // nobody else's
  std::uint64_t taken = 0;
  for (std::uint32_t e = 0; e < engine_count_; ++e) {
    const State::Engine& other = state_.engines[e];
    if (other.request != kNoRequest && problem_.requests[other.request].receiver == problem_.requests[request].receiver)
      taken |= std::uint64_t{1} << other.receive_engine;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t candidate = (engine + i) % count;
    if ((taken >> candidate & 1U) == 0) return static_cast<std::uint8_t>(candidate);
  }
  return kNoReceiver;
}

void Flow::begin(std::uint32_t engine, std::uint32_t request, std::uint32_t path) {
  State::Engine& at = state_.engines[engine];
  at.receive_engine = free_receive_engine(engine, request);
  at.request = request;
  at.path = static_cast<std::uint8_t>(path);
  at.left = static_cast<double>(problem_.requests[request].bytes);
  at.moves_at = state_.now + problem_.resources.startup_ns;
  at.moves = false;
  ++state_.active;
  const auto links = problem_.path(request, path);
  at.links = links.data();
  at.link_count = static_cast<std::uint32_t>(links.size());
  at.route = problem_.requests[request].paths == 0 ? static_cast<std::uint32_t>(problem_.paths.size())
                                                   : problem_.requests[request].first_path + path;
  Placement& placement = placements_[request];
  placement.send_engine = static_cast<std::uint8_t>(engine);
  placement.receive_engine = at.receive_engine;
  placement.path = at.path;
  placement.start_ns = state_.now;
}

// The same requests, or others over the same links, move together again and again, most of all when many plans are tried.
void Flow::solve() {
  stale_ = false;
  std::uint64_t key = 0;
  for (std::uint32_t e = 0; e < engine_count_; ++e)
    if (state_.engines[e].moves) key += route_names_[state_.engines[e].route];
  const std::uint64_t place = key >> (64 - kKnownBits);
  auto& shares = shares_[place];
  if (known_[place] != key) {
    divide();
    known_[place] = key;
    std::uint32_t count = 0;
    for (std::uint32_t e = 0; e < engine_count_; ++e)
      if (const State::Engine& at = state_.engines[e]; at.moves)
        shares[count++] = {.route = route_names_[at.route], .rate = at.rate, .time = 1 / at.rate};
  }
  for (std::uint32_t e = 0; e < engine_count_; ++e) {
    State::Engine& at = state_.engines[e];
    if (!at.moves) continue;
    const Share* share = shares.data();
    while (share->route != route_names_[at.route]) ++share; // requests of one route get the same
    at.rate = share->rate;
    at.end = state_.now + at.left * share->time;
  }
}

// Max-min fair rates by progressive filling. Few flows cross few links, so plain loops beat cleverness.
void Flow::divide() {
  std::array<std::uint32_t, kMostEngines> moving; // NOLINT: filled as far as it is used
  std::uint32_t count = 0;
  bool shared = false;
  double slowest = kNoLimit;
  touched_.clear();
  for (std::uint32_t e = 0; e < engine_count_; ++e) {
    const State::Engine& at = state_.engines[e];
    if (!at.moves) continue;
    moving[count++] = e;
    for (const std::uint32_t link : at.path_links()) {
      if (crossing_[link]++ != 0) {
        shared = true;
        continue;
      }
      residual_[link] = limit_of(problem_.link_rates[link]);
      slowest = std::min(slowest, residual_[link]);
      touched_.push_back(link);
    }
  }
  if (const double even = std::min(engine_rate_, node_rate_ / count); !shared && even <= slowest) { // nothing to divide
    while (count > 0) state_.engines[moving[--count]].rate = even;
  }
  double node = node_rate_;
  while (count > 0) {
    double level = std::min(engine_rate_, node / count);
    for (const std::uint32_t link : touched_)
      if (crossing_[link] > 0) level = std::min(level, residual_[link] / crossing_[link]);
    // Those held back by a link at this level keep it; if none is, everybody gets it.
    const std::uint32_t before = count;
    const bool all = level >= std::min(engine_rate_, node / count);
    for (std::uint32_t i = 0; i < count;) {
      State::Engine& at = state_.engines[moving[i]];
      const auto path = at.path_links();
      const bool held = all || std::ranges::any_of(path, [&](std::uint32_t link) {
                          return residual_[link] <= level * crossing_[link] * (1 + 1e-12);
                        });
      if (!held) {
        ++i;
        continue;
      }
      at.rate = level;
      moving[i] = moving[--count];
      node -= level;
      if (all) continue;
      for (const std::uint32_t link : path) {
        // The share of the others stays: what this one leaves behind is theirs.
        residual_[link] -= level;
        --crossing_[link];
      }
    }
    if (before == count) break;
  }
  for (const std::uint32_t link : touched_) crossing_[link] = 0;
}

bool Flow::step(bool engines_wanted) {
  if (stale_) solve();
  double next = kNoLimit;
  for (std::uint32_t e = 0; e < engine_count_; ++e) {
    const State::Engine& at = state_.engines[e];
    if (at.request == kNoRequest) {
      if (engines_wanted && at.moves_at > state_.now) next = std::min(next, at.moves_at);
    } else {
      next = std::min(next, at.moves ? at.end : at.moves_at);
    }
  }
  if (next == kNoLimit) return false;
  const double passed = next - state_.now;
  state_.now = next;
  for (std::uint32_t e = 0; e < engine_count_; ++e) {
    State::Engine& at = state_.engines[e];
    if (at.request == kNoRequest) continue;
    if (!at.moves) {
      if (at.moves_at > next + kSameTime) continue;
      at.moves = true;
      stale_ = true;
    } else if (at.end > next + kSameTime) {
      at.left -= at.rate * passed;
    } else {
      placements_[at.request].end_ns = next;
      makespan_ = next;
      at.request = kNoRequest;
      at.moves = false;
      at.moves_at = next;
      --state_.active;
      stale_ = true;
    }
  }
  return true;
}

Schedule Flow::schedule() const {
  Schedule made{.placements = placements_, .order = {}, .makespan_ns = 0};
  put_in_order(made);
  mark_shared_links(problem_, made);
  return made;
}

void put_in_order(Schedule& schedule) {
  schedule.order.resize(schedule.placements.size());
  std::iota(schedule.order.begin(), schedule.order.end(), 0U);
  std::ranges::stable_sort(schedule.order, [&](std::uint32_t a, std::uint32_t b) {
    const Placement& left = schedule.placements[a];
    const Placement& right = schedule.placements[b];
    // What takes no time comes before what starts at the same moment.
    return std::tie(left.send_engine, left.start_ns, left.end_ns) <
           std::tie(right.send_engine, right.start_ns, right.end_ns);
  });
  schedule.makespan_ns = 0;
  for (const Placement& placement : schedule.placements)
    schedule.makespan_ns = std::max(schedule.makespan_ns, placement.end_ns);
}

void mark_shared_links(const Problem& problem, Schedule& schedule) {
  // By link, who uses it when; neighbours in time are enough, unless the one before lasts longer than its successors.
  std::vector<std::vector<std::uint32_t>> users(problem.link_rates.size());
  for (std::uint32_t request = 0; request < problem.size(); ++request) {
    schedule.placements[request].shares_link = false;
    for (const std::uint32_t link : problem.path(request, schedule.placements[request].path))
      users[link].push_back(request);
  }
  for (auto& on_link : users) {
    std::ranges::sort(on_link, {}, [&](std::uint32_t request) { return schedule.placements[request].start_ns; });
    Placement* longest = nullptr; // the one that ends last so far
    for (const std::uint32_t request : on_link) {
      Placement& placed = schedule.placements[request];
      if (longest != nullptr && placed.start_ns < longest->end_ns - kSameTime)
        placed.shares_link = longest->shares_link = true;
      if (longest == nullptr || placed.end_ns > longest->end_ns) longest = &placed;
    }
  }
}

void run_freely(Flow& flow, const Problem& problem, const Schedule& planned) {
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    flow.choose_path(request, planned.placements[request].path);
  // In the order of handing over an engine's requests follow each other.
  std::array<std::uint32_t, kMostEngines + 1> first{};
  for (const Placement& placement : planned.placements) ++first[placement.send_engine + 1U];
  std::uint32_t engines = 0;
  for (std::uint32_t e = 0; e < kMostEngines; ++e) {
    if (first[e + 1] != 0) engines = e + 1;
    first[e + 1] += first[e];
  }
  auto next = first;
  flow.reset(engines);
  flow.run(problem.size(), [&](std::uint32_t engine) {
    if (next[engine] == first[engine + 1] || !flow.can_begin(engine, planned.order[next[engine]])) return kNoRequest;
    return planned.order[next[engine]++];
  });
}

Schedule expected(const Problem& problem, const Schedule& planned) {
  Flow flow(problem);
  run_freely(flow, problem, planned);
  return flow.schedule();
}

} // namespace heddle::schedule
