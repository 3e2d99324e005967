// Depth-first search over all queues: whenever an engine is free it takes one of the requests left, or none for good. Engines do
// not wait of their own accord, since no network's do; one whose next request finds no receive engine waits for that.
//
//   cut   where what is left cannot end sooner than the best so far, which begins with what `sharing` found: by the work of
//         engines, links and node, and by prices (prices.hpp), which are found once and cost a sum at every step
//   once  equal requests in their order; engines that are free at the same moment as one set; a moment with the same things
//         left and under way as an earlier one that came no later
#include "base/mix.hpp"
#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"
#include "schedule/prices.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_map>

namespace heddle::schedule {

namespace {

// An improvement smaller than a thousandth is not looked for: the network does not know such differences.
constexpr double kWorthwhile = 0.999;
// Moments remembered before all are forgotten.
constexpr std::size_t kMostMoments = 1U << 18U;

class Search {
 public:
  Search(const Problem& problem, Schedule first, std::uint64_t most_steps)
      : problem_(problem),
        flow_(problem),
        prices_(prices(problem, std::min(problem.resources.engines, kMostEngines))),
        best_(std::move(first)),
        most_steps_(most_steps) {
    for (std::uint32_t request = 0; request < problem.size(); ++request) {
      std::uint32_t same = request;
      while (same > 0 && !equal(same - 1, request)) --same;
      previous_equal_.push_back(same == 0 ? kNoRequest : same - 1);
    }
  }

  Exact run() {
    if (best_.makespan_ns * kWorthwhile <= lower_bound_ns(problem_)) return {std::move(best_), true};
    flow_.reset(std::min(problem_.resources.engines, kMostEngines));
    descend((1U << problem_.size()) - 1, 0);
    if (improved_) {
      put_in_order(best_);
      mark_shared_links(problem_, best_);
    }
    return {std::move(best_), steps_ < most_steps_};
  }

 private:
  // What belongs to a moment beside the flow's state.
  struct Wish {
    std::uint32_t request = kNoRequest; // that an engine takes as soon as a receive engine is free
    std::uint8_t path = 0;
  };
  struct Moment {
    Flow::State flow;
    std::array<Wish, kMostEngines> wishes;
    std::uint32_t closed = 0; // engines that take nothing more, as bits
  };

  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b) const {
    const Request& left = problem_.requests[a];
    const Request& right = problem_.requests[b];
    if (left.bytes != right.bytes || left.receiver != right.receiver || left.paths != right.paths) return false;
    for (std::uint32_t path = 0; path < left.paths; ++path)
      if (!std::ranges::equal(problem_.path(a, path), problem_.path(b, path))) return false;
    return true;
  }
  [[nodiscard]] Moment here() const { return {.flow = flow_.state(), .wishes = wishes_, .closed = closed_}; }
  void back_to(const Moment& moment) {
    flow_.restore(moment.flow);
    wishes_ = moment.wishes;
    closed_ = moment.closed;
  }
  [[nodiscard]] bool is_closed(std::uint32_t engine) const { return (closed_ >> engine & 1U) != 0; }
  [[nodiscard]] bool chooses(std::uint32_t engine) const {
    return flow_.idle(engine) && !is_closed(engine) && wishes_[engine].request == kNoRequest;
  }

  // `left`: requests on no engine's list, as bits. `from`: the first that may still be taken at this moment, since the order in
  // which requests of one moment are named does not matter.
  void descend(std::uint32_t left, std::uint32_t from) {
    if (++steps_ >= most_steps_) return;
    if (left == 0) return finish();
    if (bound(left) >= best_.makespan_ns * kWorthwhile) return;
    if (from == 0 && been_here(left)) return;
    const Moment moment = here();
    std::uint32_t engine = 0;
    while (engine < flow_.engines() && !chooses(engine)) ++engine;
    if (engine < flow_.engines()) {
      for (std::uint32_t request = from; request < problem_.size(); ++request) {
        // Of equals the first goes first.
        const std::uint32_t twin = previous_equal_[request];
        if ((left >> request & 1U) == 0 || (twin != kNoRequest && (left >> twin & 1U) != 0)) continue;
        for (std::uint32_t path = 0; path < std::max(problem_.requests[request].paths, 1U); ++path) {
          take(engine, {request, static_cast<std::uint8_t>(path)});
          descend(left & ~(1U << request), request + 1);
          back_to(moment);
        }
      }
      for (std::uint32_t e = engine; e < flow_.engines(); ++e)
        if (chooses(e)) closed_ |= 1U << e;
    }
    if (next_moment(true)) descend(left, 0);
    back_to(moment);
  }
  void take(std::uint32_t engine, Wish wish) {
    if (flow_.can_begin(engine, wish.request))
      flow_.begin(engine, wish.request, wish.path);
    else
      wishes_[engine] = wish;
  }
  bool next_moment(bool engines_wanted) {
    if (!flow_.step(engines_wanted)) return false;
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      if (wishes_[e].request == kNoRequest || !flow_.can_begin(e, wishes_[e].request)) continue;
      flow_.begin(e, wishes_[e].request, wishes_[e].path);
      wishes_[e] = {};
    }
    return true;
  }

  // Whether the search has been at a moment like this, not later: what is left and what is under way decide on all that
  // follows, except for engines that are not open yet.
  bool been_here(std::uint32_t left) {
    const Flow::State& state = flow_.state();
    std::uint64_t key = base::mix(left);
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = state.engines[e];
      if (at.request != kNoRequest) {
        const double rest = at.moves ? at.left : at.left + (at.moves_at - state.now) * 1e9; // both in one
        key +=
            base::mix(base::mix(named(at.request, at.path, at.receive_engine)) + static_cast<std::uint64_t>(rest * 16));
      } else if (at.moves_at > state.now) {
        key += base::mix((static_cast<std::uint64_t>(state.now * 1024) << 8U) + e);
      } else if (wishes_[e].request != kNoRequest) {
        key += base::mix(named(wishes_[e].request, wishes_[e].path, 0xff));
      } else if (is_closed(e)) {
        key += base::mix(0xff);
      }
    }
    const auto [moment, fresh] = moments_.try_emplace(key, state.now);
    if (!fresh && moment->second <= state.now) return true;
    moment->second = state.now;
    if (moments_.size() >= kMostMoments) moments_.clear();
    return false;
  }
  static std::uint64_t named(std::uint32_t request, std::uint8_t path, std::uint8_t receive_engine) {
    return (std::uint64_t{request} + 1) << 16U | std::uint64_t{path} << 8U | receive_engine;
  }
  void finish() {
    const Moment moment = here();
    while (flow_.state().active > 0 && next_moment(false)) {
    }
    if (flow_.state().now < best_.makespan_ns * kWorthwhile) {
      best_.placements = flow_.placements();
      best_.makespan_ns = flow_.state().now;
      improved_ = true;
    }
    back_to(moment);
  }

  // No continuation from here ends before.
  double bound(std::uint32_t left) {
    const Flow::State& state = flow_.state();
    const ir::Resources& resources = problem_.resources;
    link_bytes_.assign(problem_.link_rates.size(), 0);
    Sum sum;
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = state.engines[e];
      if (at.request != kNoRequest)
        add(sum, at.request, at.path, at.left, at.moves ? 0 : at.moves_at - state.now);
      else if (wishes_[e].request != kNoRequest)
        add(sum, wishes_[e].request, wishes_[e].path, bytes_of(wishes_[e].request), resources.startup_ns);
    }
    for (std::uint32_t bits = left; bits != 0; bits &= bits - 1) {
      const auto request = static_cast<std::uint32_t>(std::countr_zero(bits));
      add(sum, request, problem_.requests[request].paths == 1 ? 0 : kNoPath, bytes_of(request), resources.startup_ns);
    }
    double most = std::max({sum.longest, time_of_engines(sum.work), sum.bytes / limit_of(resources.node_rate)});
    for (std::size_t link = 0; link < link_bytes_.size(); ++link)
      most = std::max(most, link_bytes_[link] / limit_of(problem_.link_rates[link]));
    return std::max(state.now + most, bound_by_prices(left));
  }
  struct Sum {
    double work = 0;
    double bytes = 0;
    double longest = 0;
  };
  static constexpr std::uint32_t kNoPath = 0xffff'ffff;
  void add(Sum& sum, std::uint32_t request, std::uint32_t path, double bytes, double startup) {
    const double time = startup + bytes / limit_of(problem_.resources.engine_rate);
    sum.work += time;
    sum.bytes += bytes;
    sum.longest = std::max(sum.longest, time);
    if (path == kNoPath) return;
    for (const std::uint32_t link : problem_.path(request, path)) link_bytes_[link] += bytes;
  }
  [[nodiscard]] double bytes_of(std::uint32_t request) const {
    return static_cast<double>(problem_.requests[request].bytes);
  }
  // Divided among the engines that are open, and as many of the others as are best.
  [[nodiscard]] double time_of_engines(double work) const {
    std::uint32_t open = 0;
    double best = kNoLimit;
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = flow_.state().engines[e];
      if (is_closed(e)) continue;
      if (at.request == kNoRequest && at.moves_at > flow_.state().now) {
        if (open > 0) best = std::min(best, work / open);
        work += at.moves_at - flow_.state().now;
      }
      ++open;
    }
    return open > 0 ? std::min(best, work / open) : best;
  }
  // What is left costs time, and so do the start-ups still to come, but for the first of engines not used so far.
  [[nodiscard]] double bound_by_prices(std::uint32_t left) const {
    if (!prices_) return 0;
    const Flow::State& state = flow_.state();
    double cost = 0;
    double startups = std::popcount(left);
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = state.engines[e];
      if (at.request != kNoRequest) {
        cost += prices_->byte[at.request] * at.left;
      } else if (wishes_[e].request != kNoRequest) {
        cost += prices_->byte[wishes_[e].request] * bytes_of(wishes_[e].request);
      } else if (!is_closed(e) && at.moves_at <= e * problem_.resources.queue_ns) {
        startups -= 1;
      }
    }
    for (std::uint32_t bits = left; bits != 0; bits &= bits - 1) {
      const auto request = static_cast<std::uint32_t>(std::countr_zero(bits));
      cost += prices_->byte[request] * bytes_of(request);
    }
    cost += prices_->rest * std::max(startups, 0.0) * problem_.resources.startup_ns;
    return prices_->earned_at(state.now, cost);
  }

  const Problem& problem_;
  Flow flow_;
  const std::optional<Prices> prices_;
  std::array<Wish, kMostEngines> wishes_{};
  std::uint32_t closed_ = 0;
  Schedule best_;
  bool improved_ = false;
  const std::uint64_t most_steps_;
  std::uint64_t steps_ = 0;
  std::vector<std::uint32_t> previous_equal_;
  std::vector<double> link_bytes_;
  std::unordered_map<std::uint64_t, double> moments_; // when the search was there first
};

} // namespace

Result<Exact> exact(const Problem& problem, std::uint64_t most_steps) {
  if (problem.size() > kMostExactRequests)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "exact search takes at most " + std::to_string(kMostExactRequests) +
                                         " requests, not " + std::to_string(problem.size()),
                                 .remedy = "use sharing, and compare with the lower bound"});
  if (problem.requests.empty()) return Exact{.schedule = {}, .proven = true};
  return Search(problem, sharing(problem), most_steps).run();
}

} // namespace heddle::schedule
