// Depth-first search over what idle engines take, with every set of requests that can begin at a moment. An engine may also
// wait, as long as some request left would share a link or a receive engine with one under way, or be left alone for good.
// Cut where even the bound of what is left is no better than the best so far, which begins with what `sharing` found.
// Equal engines, and requests equal in all that counts, are tried once.
#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"

#include <algorithm>
#include <string>

namespace heddle::schedule {

namespace {

// An improvement smaller than this is rounding.
constexpr double kWorthwhile = 1 - 1e-9;

class Search {
 public:
  Search(const Problem& problem, Schedule first, std::uint64_t most_steps)
      : problem_(problem), flow_(problem), best_(std::move(first)), most_steps_(most_steps) {
    for (std::uint32_t request = 0; request < problem.size(); ++request) {
      std::uint32_t same = request;
      while (same > 0 && !equal(same - 1, request)) --same;
      previous_equal_.push_back(same == 0 ? kNoRequest : same - 1);
    }
  }

  Exact run() {
    if (best_.makespan_ns * kWorthwhile <= lower_bound_ns(problem_)) return {std::move(best_), true};
    const std::uint32_t engines = std::min(problem_.resources.engines, kMostEngines);
    // Fewer engines are the case in which some never take anything.
    flow_.reset(engines);
    descend((1U << problem_.size()) - 1, 0);
    if (improved_) {
      put_in_order(best_);
      mark_shared_links(problem_, best_);
    }
    return {std::move(best_), steps_ < most_steps_};
  }

 private:
  [[nodiscard]] bool equal(std::uint32_t a, std::uint32_t b) const {
    const Request& left = problem_.requests[a];
    const Request& right = problem_.requests[b];
    if (left.bytes != right.bytes || left.receiver != right.receiver || left.paths != right.paths) return false;
    for (std::uint32_t path = 0; path < left.paths; ++path)
      if (!std::ranges::equal(problem_.path(a, path), problem_.path(b, path))) return false;
    return true;
  }

  // `left`: requests not begun, as bits. `from`: the first that may still begin at this moment, since the order in which
  // requests of one moment are named does not matter.
  void descend(std::uint32_t left, std::uint32_t from) {
    if (++steps_ >= most_steps_) return;
    if (left == 0) return finish();
    if (bound(left) >= best_.makespan_ns * kWorthwhile) return;
    std::uint32_t engine = 0;
    while (engine < flow_.engines() && !flow_.idle(engine)) ++engine;
    const Flow::State here = flow_.state();
    if (engine < flow_.engines()) {
      for (std::uint32_t request = from; request < problem_.size(); ++request) {
        if ((left >> request & 1U) == 0 || !flow_.can_begin(engine, request)) continue;
        // Of equals the first goes first.
        const std::uint32_t twin = previous_equal_[request];
        if (twin != kNoRequest && (left >> twin & 1U) != 0) continue;
        for (std::uint32_t path = 0; path < std::max(problem_.requests[request].paths, 1U); ++path) {
          flow_.begin(engine, request, path);
          descend(left & ~(1U << request), request + 1);
          flow_.restore(here);
        }
      }
    }
    if (engine < flow_.engines() && here.active > 0 && !conflicts(left)) return;
    if (flow_.step(true)) descend(left, 0);
    flow_.restore(here);
  }

  // Whether a request left would get in the way of one under way.
  [[nodiscard]] bool conflicts(std::uint32_t left) const {
    std::uint32_t idle = 0;
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = flow_.state().engines[e];
      if (at.request == kNoRequest) {
        idle = e;
        continue;
      }
      for (std::uint32_t request = 0; request < problem_.size(); ++request) {
        if ((left >> request & 1U) == 0) continue;
        for (std::uint32_t path = 0; path < problem_.requests[request].paths; ++path)
          for (const std::uint32_t link : problem_.path(request, path))
            if (std::ranges::find(at.path_links(), link) != at.path_links().end()) return true;
      }
    }
    for (std::uint32_t request = 0; request < problem_.size(); ++request)
      if ((left >> request & 1U) != 0 && !flow_.can_begin(idle, request)) return true;
    return false;
  }

  void finish() {
    const Flow::State here = flow_.state();
    while (flow_.state().active > 0 && flow_.step(false)) {
    }
    if (flow_.state().now < best_.makespan_ns * kWorthwhile) {
      best_.placements = flow_.placements();
      best_.makespan_ns = flow_.state().now;
      improved_ = true;
    }
    flow_.restore(here);
  }

  // No continuation from here ends before.
  double bound(std::uint32_t left) {
    const ir::Resources& resources = problem_.resources;
    const double engine_rate = limit_of(resources.engine_rate);
    link_bytes_.assign(problem_.link_rates.size(), 0);
    double work = 0;
    double bytes = 0;
    double longest = 0;
    const auto add = [&](std::uint32_t request, std::uint32_t path, bool known, double count, double startup) {
      const double time = startup + count / engine_rate;
      work += time;
      bytes += count;
      longest = std::max(longest, time);
      if (known)
        for (const std::uint32_t link : problem_.path(request, path)) link_bytes_[link] += count;
    };
    const Flow::State& state = flow_.state();
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = state.engines[e];
      if (at.request != kNoRequest) add(at.request, at.path, true, at.left, at.moves ? 0 : at.moves_at - state.now);
    }
    for (std::uint32_t request = 0; request < problem_.size(); ++request)
      if ((left >> request & 1U) != 0)
        add(request, 0, problem_.requests[request].paths == 1, static_cast<double>(problem_.requests[request].bytes),
            resources.startup_ns);
    double most = std::max({longest, work / flow_.engines(), bytes / limit_of(resources.node_rate)});
    for (std::size_t link = 0; link < link_bytes_.size(); ++link)
      most = std::max(most, link_bytes_[link] / limit_of(problem_.link_rates[link]));
    return state.now + most;
  }

  const Problem& problem_;
  Flow flow_;
  Schedule best_;
  bool improved_ = false;
  const std::uint64_t most_steps_;
  std::uint64_t steps_ = 0;
  std::vector<std::uint32_t> previous_equal_;
  std::vector<double> link_bytes_;
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
