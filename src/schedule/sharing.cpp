// Filtered beam search in fluid time, led by what the bound's linear programme says that bytes cost.
//
//   costs    prices (prices.hpp) are the dual of the bound: bytes that move where little else can are dear. What a request costs
//            is its bytes times their price; dear requests are what a schedule must not leave for the end.
//   list     whenever an engine is free it takes the dearest request left: a whole schedule, quickly (list scheduling)
//   beam     partial schedules that have begun the same number of requests, the most promising kept; each is continued by every
//            request that its next free engine could take, and
//   filter   of these continuations those with the lowest bounds are completed by the list, and judged by the end that
//            comes out (Ow and Morton, Filtered beam search in scheduling, 1988). The best completion is the plan,
//   order    whose order a local search then tries to better where requests are few (local_search.hpp).
//
// Engines never wait of their own accord while they could begin something: none does when it empties its queue, so such a plan's
// times would not come about. All is done with as many engines as pay for their queues, and with one less.
#include "base/mix.hpp"
#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"
#include "schedule/local_search.hpp"
#include "schedule/path_loads.hpp"
#include "schedule/prices.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

namespace heddle::schedule {

namespace {

// A plan this close to the bound is not improved on, and none is looked for that is closer to the best so far: the network does not know
// such differences.
constexpr double kGoodEnough = 1.001;
// Bottom-left keeps directions apart and so ends as planned even when processes are not in step. Another plan that needs step must
// promise this many times what a queue takes, which is about as far as processes are apart after a barrier;
constexpr double kApartAfterBarrier = 1.25;
// and where others' requests do not take their links as this process's do, so that nobody knows who meets whom, this much: in the
// simulated torus plans that promised 0.8 took as long.
constexpr double kClearlySooner = 0.75;
// Looks at requests in all levels together. A pattern is compiled once, so milliseconds are fine (bench/schedule); above a hundred requests
// the list alone plans. A beam four times as wide does no better on the development seeds when the local search follows.
constexpr std::size_t kBudget = 1'000'000;
constexpr std::size_t kWidestBeam = 16;
constexpr std::size_t kFilter = 3;          // completions for each place in the beam
constexpr std::uint32_t kBranchedPaths = 4; // with more, a request keeps the path that loads links least

class Planner {
 public:
  explicit Planner(const Problem& problem)
      : problem_(problem),
        flow_(problem),
        path_(least_loaded_paths(problem)),
        prices_(prices(problem, std::min(problem.resources.engines, kMostEngines))),
        bound_(simple_bound_ns(problem)),
        cost_(problem.size()),
        length_(problem.size()),
        class_(problem.size()) {
    if (prices_) bound_ = std::max(bound_, prices_->earned_at(0, cost_of_all(problem, *prices_)));
    const std::vector<double> loads = link_times(problem, path_);
    for (std::uint32_t request = 0; request < problem.size(); ++request) {
      flow_.choose_path(request, path_[request]);
      length_[request] = problem.resources.startup_ns + bytes_of(request) / limit_of(problem.resources.engine_rate);
      cost_[request] = prices_
                           ? prices_->byte[request] * bytes_of(request) + prices_->rest * problem.resources.startup_ns
                           : length_[request];
      if (prices_) continue;
      for (const std::uint32_t link : problem.path(request, path_[request]))
        cost_[request] = std::max(cost_[request], loads[link]);
    }
    dearest_.resize(problem.size());
    std::iota(dearest_.begin(), dearest_.end(), 0U);
    std::ranges::stable_sort(dearest_, [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(cost_[a], length_[a]) > std::pair(cost_[b], length_[b]);
    });
    for (std::uint32_t request = 0; request < problem.size(); ++request) {
      std::uint32_t first = problem.size() <= kManyRequests ? 0 : request; // all with all would take too long
      while (!same(first, request)) ++first;
      class_[request] = first;
    }
  }

  Schedule plan() {
    const std::uint32_t most = most_engines();
    Schedule apart;
    double wanted = kNoLimit; // to be preferred to that
    if (needs_step()) {
      apart = bottom_left(problem_, {});
      run_freely(flow_, problem_, apart);
      wanted = problem_.in_order ? flow_.makespan() - kApartAfterBarrier * problem_.resources.queue_ns
                                 : flow_.makespan() * kClearlySooner;
      if (bound_ > wanted) return flow_.schedule(); // nothing could be
      for (std::uint32_t request = 0; request < problem_.size(); ++request) flow_.choose_path(request, path_[request]);
    }
    search(most);
    if (most > 1) search(most - 1);
    if (!enough()) improve_order(problem_, class_, bound_ * kGoodEnough, best_);
    if (best_.makespan_ns > wanted) return expected(problem_, apart);
    mark_shared_links(problem_, best_);
    put_in_order(best_);
    return std::move(best_);
  }

 private:
  // A partial schedule, at a moment when an engine is free.
  struct Node {
    Flow::State flow;
    std::vector<Placement> placements;
    std::vector<bool> begun;
    std::uint32_t left = 0;
  };
  struct Child {
    std::size_t parent = 0;
    std::uint32_t request = 0;
    std::uint8_t path = 0;
    double bound = 0;
  };
  static constexpr std::uint32_t kManyRequests = 512;

  [[nodiscard]] bool enough() const { return best_.makespan_ns <= bound_ * kGoodEnough; }

  void search(std::uint32_t engines) {
    if (enough()) return;
    flow_.reset(engines);
    std::vector<Node> beam(1);
    beam[0] = {flow_.state(), flow_.placements(), std::vector<bool>(problem_.size()), problem_.size()};
    complete(beam[0]);
    // As many levels as requests; at each a place of the beam looks at all that are left, and for each at all others.
    const std::size_t place = std::size_t{problem_.size()} * problem_.size() * problem_.size();
    const std::size_t width = std::min(kWidestBeam, kBudget / place);
    while (width > 0 && !beam.empty() && beam[0].left > 1 && !enough()) beam = next_level(beam, width);
  }

  std::vector<Node> next_level(const std::vector<Node>& beam, std::size_t width) {
    std::vector<Child> children = children_of(beam);
    const auto dearer = [this](const Child& a, const Child& b) {
      return a.bound != b.bound ? a.bound < b.bound : cost_[a.request] > cost_[b.request];
    };
    const std::size_t tried = std::min(children.size(), width * kFilter);
    std::ranges::sort(children, dearer);
    std::vector<std::pair<double, Node>> ends;
    twins_.clear();
    for (std::size_t i = 0; i < children.size() && ends.size() < tried; ++i) {
      Node node = made(beam[children[i].parent], children[i]);
      if (!twins_.insert(signature(node)).second) continue; // the same by another order
      const double end = complete(node);
      ends.emplace_back(end, std::move(node));
    }
    std::ranges::stable_sort(ends, {}, [](const auto& each) { return each.first; });
    std::vector<Node> next;
    for (auto& [end, node] : ends)
      if (next.size() < width) next.push_back(std::move(node));
    return next;
  }

  std::vector<Child> children_of(const std::vector<Node>& beam) {
    std::vector<Child> children;
    for (std::size_t parent = 0; parent < beam.size(); ++parent) {
      seen_.assign(problem_.size(), false);
      for (const std::uint32_t request : dearest_) {
        if (beam[parent].begun[request] || seen_[class_[request]]) continue;
        seen_[class_[request]] = true;
        const std::uint32_t paths = problem_.requests[request].paths;
        const bool branches = paths > 1 && paths <= kBranchedPaths;
        for (std::uint32_t path = 0; path < (branches ? paths : 1); ++path) {
          Child child{parent, request, branches ? static_cast<std::uint8_t>(path) : path_[request]};
          if (!advance(beam[parent], child)) continue;
          child.bound = bound_of(beam[parent], request);
          if (child.bound * kGoodEnough < best_.makespan_ns) children.push_back(child);
        }
      }
    }
    return children;
  }

  // Lets the first free engine take the request, and time pass until another is free. False where it cannot.
  bool advance(const Node& parent, const Child& child) {
    flow_.restore(parent.flow, parent.placements);
    const std::uint32_t engine = free_engine(child.request);
    if (engine == flow_.engines()) return false;
    flow_.begin(engine, child.request, child.path);
    while (parent.left > 1 && !any_free() && flow_.step(true)) {
    }
    return true;
  }
  [[nodiscard]] std::uint32_t free_engine(std::uint32_t request) const {
    std::uint32_t engine = 0;
    while (engine < flow_.engines() && !(flow_.idle(engine) && flow_.can_begin(engine, request))) ++engine;
    return engine;
  }
  [[nodiscard]] bool any_free() const {
    for (std::uint32_t e = 0; e < flow_.engines(); ++e)
      if (flow_.idle(e)) return true;
    return false;
  }
  Node made(const Node& parent, const Child& child) {
    static_cast<void>(advance(parent, child));
    Node node{flow_.state(), flow_.placements(), parent.begun, parent.left - 1};
    node.begun[child.request] = true;
    return node;
  }

  // What is left and what is under way decide on all that follows.
  [[nodiscard]] std::uint64_t signature(const Node& node) const {
    std::uint64_t sum = base::mix(static_cast<std::uint64_t>(node.flow.now * 16));
    for (std::uint32_t request = 0; request < problem_.size(); ++request)
      if (!node.begun[request]) sum += base::mix(class_[request] + 1);
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = node.flow.engines[e];
      if (at.request == kNoRequest) continue;
      const double rest = at.moves ? at.left : -(at.moves_at - node.flow.now);
      sum += base::mix(base::mix(at.route + (std::uint64_t{at.receive_engine} << 32U)) +
                       static_cast<std::uint64_t>(static_cast<std::int64_t>(rest * 16)));
    }
    return sum;
  }

  // By the list, from there; a better end than so far is kept.
  double complete(const Node& node) {
    flow_.restore(node.flow, node.placements);
    left_.clear();
    for (const std::uint32_t request : dearest_)
      if (!node.begun[request]) left_.push_back(request);
    flow_.run(node.left, [this](std::uint32_t engine) {
      for (std::size_t i = 0; i < left_.size(); ++i) {
        const std::uint32_t request = left_[i];
        if (!flow_.can_begin(engine, request)) continue;
        left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(i));
        return request;
      }
      return kNoRequest;
    });
    const double end = left_.empty() ? flow_.state().now : kNoLimit;
    if (end < best_.makespan_ns) {
      best_.placements = flow_.placements();
      best_.makespan_ns = end;
    }
    return end;
  }

  // No continuation of where the flow is now ends before; `taken` is begun, beside what the parent has begun.
  double bound_of(const Node& parent, std::uint32_t taken) {
    const Flow::State& state = flow_.state();
    double work = 0;
    double cost = 0;
    double bytes = 0;
    link_time_.assign(problem_.link_rates.size(), 0);
    const auto add = [&](std::uint32_t request, std::span<const std::uint32_t> links, double left, double startup) {
      bytes += left;
      work += startup + left / limit_of(problem_.resources.engine_rate);
      if (prices_) cost += prices_->byte[request] * left;
      for (const std::uint32_t link : links) link_time_[link] += left / limit_of(problem_.link_rates[link]);
    };
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = state.engines[e];
      if (at.request != kNoRequest) add(at.request, at.path_links(), at.left, at.moves ? 0 : at.moves_at - state.now);
    }
    for (std::uint32_t request = 0; request < problem_.size(); ++request)
      if (!parent.begun[request] && request != taken)
        add(request,
            problem_.requests[request].paths == 1 ? problem_.path(request, 0) : std::span<const std::uint32_t>{},
            bytes_of(request), problem_.resources.startup_ns);
    double most = std::max(work / flow_.engines(), bytes / limit_of(problem_.resources.node_rate));
    for (const double time : link_time_) most = std::max(most, time);
    const double by_prices = prices_ ? prices_->earned_at(state.now, cost) : 0;
    return std::max(state.now + most, by_prices);
  }

  // Whether what is found holds only while all processes run in step: requests over several links, planned for all at once,
  // that move for longer than processes are apart, which is about what a queue takes.
  [[nodiscard]] bool needs_step() const {
    if (!problem_.stands_for_all) return false;
    for (std::uint32_t request = 0; request < problem_.size(); ++request)
      if (problem_.path(request, path_[request]).size() > 1 &&
          length_[request] - problem_.resources.startup_ns > problem_.resources.queue_ns / 2)
        return true;
    return false;
  }
  [[nodiscard]] double bytes_of(std::uint32_t request) const {
    return static_cast<double>(problem_.requests[request].bytes);
  }
  // Beyond this many, a further queue costs more than its engine saves.
  [[nodiscard]] std::uint32_t most_engines() const {
    const double work = std::accumulate(length_.begin(), length_.end(), 0.0);
    std::uint32_t used = 1;
    const std::uint32_t all = std::min({problem_.resources.engines, kMostEngines, std::max(problem_.size(), 1U)});
    while (used < all && problem_.resources.queue_ns * used * (used + 1) < work) ++used;
    return used;
  }
  // Whether it does not matter which of the two comes first.
  [[nodiscard]] bool same(std::uint32_t a, std::uint32_t b) const {
    if (a == b) return true;
    const Request& left = problem_.requests[a];
    const Request& right = problem_.requests[b];
    return left.bytes == right.bytes && left.receiver == right.receiver && left.direction == right.direction &&
           left.paths == 1 && right.paths == 1 && std::ranges::equal(problem_.path(a, 0), problem_.path(b, 0));
  }

  const Problem& problem_;
  Flow flow_;
  const std::vector<std::uint8_t> path_;
  const std::optional<Prices> prices_;
  double bound_;
  std::vector<double> cost_;           // ns by request
  std::vector<double> length_;         // ns alone on an engine
  std::vector<std::uint32_t> class_;   // equal for requests that are the same but for their name
  std::vector<std::uint32_t> dearest_; // all requests, the dearest first
  std::vector<std::uint32_t> left_;
  std::vector<bool> seen_;
  std::unordered_set<std::uint64_t> twins_;
  std::vector<double> link_time_;
  Schedule best_{.placements = {}, .order = {}, .makespan_ns = kNoLimit};
};

} // namespace

Schedule sharing(const Problem& problem) {
  if (problem.requests.empty()) return {};
  return Planner(problem).plan();
}

} // namespace heddle::schedule
