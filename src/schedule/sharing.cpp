// List scheduling in fluid time, tried with several ways to prefer requests, the best kept.
//
// Whenever an engine is free it takes, of the requests left, those that meet the least crowd on their links, and of these the
//   critical   one on the link with the most left to carry (two requests on one link are fine: an engine is slower than a link,
//              so both together end sooner than one after the other);
//   widest     one over as many links as possible, which is the hardest to find room for;
//   longest    one, or the shortest.
// A trial prefers in one way until some requests have begun, in another from then on: short requests are best begun while queues
// are still being opened, or left to fill the end. Then the request that ended last is preferred more, and again, while there
// is time (squeaky wheel optimisation: Joslin, Clements, 1999). All is done with as many engines as pay for their
// queues, and with one less.
#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

namespace heddle::schedule {

namespace {

// A plan this close to the bound is not improved on: the network does not know such differences.
constexpr double kGoodEnough = 1.001;
// Bottom-left keeps directions apart and so ends as planned even when processes are not in step. Another plan that needs step must
// promise this many times what a queue takes, which is about as far as processes are apart after a barrier;
constexpr double kApartAfterBarrier = 1.25;
// and where others' requests do not take their links as this process's do, so that nobody knows who meets whom, this much: in the
// simulated torus plans that promised 0.8 took as long.
constexpr double kClearlySooner = 0.75;
constexpr std::uint32_t kTrialsForBottomLeft = 2; // that could be made in the same time
// Looks at requests in all trials together: a trial starts each once, after a look at all that are left. 14 requests take some
// 17 us.
constexpr std::uint32_t kLooks = 1200;
constexpr std::uint32_t kFewestTrials = 3;
constexpr std::uint32_t kMostTrials = 18;
// Requests that a free engine looks at before it is content with what it has found: keeps large patterns cheap.
constexpr std::size_t kLookedAt = 96;
constexpr int kPathPasses = 3;

// Whose presence on a request's links counts against it: nobody's, users of the link that has most, users of all its links, or
// users by another route. It may put a request behind others, but an engine that could begin one never waits: none does when
// it empties its queue, so such a plan's times would not come about.
enum class Crowd : std::uint8_t { ignored, on_link, on_all_links, of_other_routes };
enum class First : std::uint8_t { critical, widest, longest, shortest };
struct Preference {
  Crowd crowd = Crowd::ignored;
  First first = First::critical;
};
constexpr Preference kCritical{Crowd::ignored, First::critical};
constexpr Preference kUncrowded{Crowd::on_link, First::critical};
constexpr Preference kWide{Crowd::on_all_links, First::widest};
constexpr Preference kParting{Crowd::of_other_routes, First::critical};

// One after the other.
struct Phase {
  Preference preference;
  std::uint32_t until = kAll; // so many fourteenths of the requests have begun
  static constexpr std::uint32_t kAll = 14;
};
using Trial = std::array<Phase, 3>;
constexpr Trial throughout(Preference preference) {
  return {Phase{preference}};
}
// The best first: found among some thousands for the halos of the report and a thousand random patterns.
constexpr std::array kTrials{
    Trial{{{kUncrowded, 7}, {{Crowd::ignored, First::longest}}}},
    Trial{{{{Crowd::on_link, First::shortest}, 6}, {{Crowd::on_all_links, First::longest}}}},
    Trial{{{{Crowd::ignored, First::widest}, 5},
           {{Crowd::of_other_routes, First::shortest}, 8},
           {{Crowd::on_all_links, First::shortest}}}},
    Trial{{{{Crowd::of_other_routes, First::widest}, 3}, {kWide}}},
    Trial{{{kCritical, 7}, {{Crowd::on_all_links, First::longest}}}},
};
constexpr std::array kTrialsWithFewer{throughout(kParting), throughout(kCritical)};
// Whose turn it is, after all have been tried, while requests are preferred more and more.
constexpr std::array kTurns{throughout(kCritical), throughout(kUncrowded), throughout(kWide), throughout(kParting)};

class Planner {
 public:
  explicit Planner(const Problem& problem)
      : problem_(problem),
        flow_(problem),
        bound_(simple_bound_ns(problem)),
        trials_left_(std::clamp(kLooks / (std::min(problem.size(), 1000U) * std::min(problem.size(), 1000U)),
                                kFewestTrials, kMostTrials)),
        unstarted_(problem.link_rates.size(), 0),
        load_(problem.link_rates.size(), 0),
        favour_(problem.size(), 0),
        path_(problem.size(), 0),
        links_(problem.size()),
        length_(problem.size()),
        class_(problem.size()) {
    choose_paths();
    by_direction_.resize(problem.size());
    std::iota(by_direction_.begin(), by_direction_.end(), 0U);
    std::ranges::stable_sort(by_direction_, {},
                             [&](std::uint32_t request) { return problem.requests[request].direction; });
    for (std::size_t i = 0; i < by_direction_.size(); ++i)
      class_[by_direction_[i]] = i > 0 && same(by_direction_[i - 1], by_direction_[i]) ? class_[by_direction_[i - 1]]
                                                                                       : static_cast<std::uint32_t>(i);
    for (std::uint32_t request = 0; request < problem.size(); ++request)
      length_[request] = problem.resources.startup_ns + bytes_of(request) / limit_of(problem.resources.engine_rate);
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
      trials_left_ -= std::min(kTrialsForBottomLeft, trials_left_ - 1);
    }
    for (const Trial& trial : kTrials) attempt(trial, most);
    if (most > 1)
      for (const Trial& trial : kTrialsWithFewer) attempt(trial, most - 1);
    squeak(most);
    if (best_.makespan_ns > wanted) return expected(problem_, apart);
    mark_shared_links(problem_, best_);
    put_in_order(best_);
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool enough() const { return trials_left_ == 0 || best_.makespan_ns <= bound_ * kGoodEnough; }

  // Whether what is found holds only while all processes run in step: requests over several links, planned for all at once,
  // that move for longer than processes are apart, which is about what a queue takes.
  [[nodiscard]] bool needs_step() const {
    if (!problem_.stands_for_all) return false;
    for (std::uint32_t request = 0; request < problem_.size(); ++request)
      if (links_[request].size() > 1 &&
          length_[request] - problem_.resources.startup_ns > problem_.resources.queue_ns / 2)
        return true;
    return false;
  }

  // The longest request takes the path that ends up least loaded, then the next; and again with all the others in place.
  void choose_paths() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t request = 0; request < problem_.size(); ++request) {
      add_load(request, 1);
      if (problem_.requests[request].paths > 1) order.push_back(request);
    }
    std::ranges::stable_sort(order, std::ranges::greater(), [this](std::uint32_t r) { return bytes_of(r); });
    for (const std::uint32_t request : order) add_load(request, -1);
    for (int pass = 0; pass < kPathPasses; ++pass) {
      for (const std::uint32_t request : order) {
        if (pass > 0) add_load(request, -1);
        path_[request] = best_path(request);
        add_load(request, 1);
      }
    }
    for (std::uint32_t request = 0; request < problem_.size(); ++request) settle_path(request);
  }
  void settle_path(std::uint32_t request) {
    flow_.choose_path(request, path_[request]);
    links_[request] = problem_.path(request, path_[request]);
  }
  [[nodiscard]] std::uint8_t best_path(std::uint32_t request) const {
    std::pair least{kNoLimit, kNoLimit}; // time of the fullest link, of all together
    std::uint8_t best = 0;
    for (std::uint32_t path = 0; path < problem_.requests[request].paths; ++path) {
      std::pair<double, double> time;
      for (const std::uint32_t link : problem_.path(request, path)) {
        const double busy = load_[link] + time_on(link, request);
        time.first = std::max(time.first, busy);
        time.second += busy;
      }
      if (time >= least) continue;
      least = time;
      best = static_cast<std::uint8_t>(path);
    }
    return best;
  }
  void add_load(std::uint32_t request, double times) {
    for (const std::uint32_t link : problem_.path(request, path_[request]))
      load_[link] += times * time_on(link, request);
  }
  [[nodiscard]] double bytes_of(std::uint32_t request) const {
    return static_cast<double>(problem_.requests[request].bytes);
  }
  [[nodiscard]] double time_on(std::uint32_t link, std::uint32_t request) const {
    return bytes_of(request) / limit_of(problem_.link_rates[link]);
  }

  // Beyond this many, a further queue costs more than its engine saves.
  [[nodiscard]] std::uint32_t most_engines() const {
    const double work = std::accumulate(length_.begin(), length_.end(), 0.0);
    std::uint32_t used = 1;
    const std::uint32_t all = std::min({problem_.resources.engines, kMostEngines, std::max(problem_.size(), 1U)});
    while (used < all && problem_.resources.queue_ns * used * (used + 1) < work) ++used;
    return used;
  }

  void attempt(const Trial& trial, std::uint32_t engines) {
    if (enough()) return;
    --trials_left_;
    left_ = by_direction_;
    unstarted_ = load_;
    flow_.reset(engines);
    const Phase* phase = trial.data();
    flow_.run(problem_.size(), [&](std::uint32_t engine) {
      const std::size_t begun = problem_.size() - left_.size();
      while (begun >= (std::size_t{phase->until} * problem_.size() + Phase::kAll / 2) / Phase::kAll) ++phase;
      return choose(engine, phase->preference);
    });
    if (left_.empty() && flow_.makespan() < best_.makespan_ns) {
      best_.placements = flow_.placements();
      best_.makespan_ns = flow_.makespan();
    }
  }

  void squeak(std::uint32_t engines) {
    const double step = bound_ / 3;
    for (std::uint32_t round = 0; !enough() && problem_.size() > 1; ++round) {
      std::uint32_t last = 0;
      for (std::uint32_t request = 1; request < problem_.size(); ++request)
        if (flow_.placements()[request].end_ns > flow_.placements()[last].end_ns) last = request;
      favour_[last] += step;
      if (const std::uint32_t paths = problem_.requests[last].paths; paths > 1) { // or its path is the trouble
        add_load(last, -1);
        path_[last] = static_cast<std::uint8_t>((path_[last] + 1U) % paths);
        add_load(last, 1);
        settle_path(last);
      }
      attempt(kTurns[round % kTurns.size()], engines);
    }
  }

  // Whether it does not matter which of the two comes first.
  [[nodiscard]] bool same(std::uint32_t a, std::uint32_t b) const {
    const Request& left = problem_.requests[a];
    const Request& right = problem_.requests[b];
    return left.bytes == right.bytes && left.receiver == right.receiver && left.direction == right.direction &&
           left.paths == 1 && right.paths == 1 && std::ranges::equal(problem_.path(a, 0), problem_.path(b, 0));
  }

  // Larger is preferred.
  struct Score {
    double first = -kNoLimit;
    double second = 0;
    bool operator>(const Score& other) const {
      return first != other.first ? first > other.first : second > other.second;
    }
  };

  std::uint32_t choose(std::uint32_t engine, Preference preference) {
    Score best;
    std::size_t found = left_.size();
    for (std::size_t i = 0; i < left_.size(); ++i) {
      if (i >= kLookedAt && found != left_.size()) break;
      const std::uint32_t request = left_[i];
      if (i > 0 && class_[request] == class_[left_[i - 1]] && favour_[request] == favour_[left_[i - 1]]) continue;
      if (!flow_.can_begin(engine, request)) continue;
      const Score score = score_of(request, preference);
      if (!(score > best)) continue;
      best = score;
      found = i;
    }
    return found == left_.size() ? kNoRequest : take(found);
  }
  std::uint32_t take(std::size_t position) {
    const std::uint32_t request = left_[position];
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(position)); // in order: equals keep theirs
    for (const std::uint32_t link : links_[request]) unstarted_[link] -= time_on(link, request);
    return request;
  }

  [[nodiscard]] Score score_of(std::uint32_t request, Preference preference) const {
    const double length = length_[request];
    const double crowd = crowd_of(request, preference.crowd) * kCrowd;
    switch (preference.first) {
      case First::longest: return {length + favour_[request] - crowd, critical_of(request)};
      case First::shortest: return {-length + favour_[request] - crowd, critical_of(request)};
      case First::widest:
        return {static_cast<double>(links_[request].size()) * kWidth + critical_of(request) + favour_[request] - crowd,
                length};
      case First::critical: return {std::max(critical_of(request), length) + favour_[request] - crowd, length};
    }
    return {};
  }
  [[nodiscard]] double critical_of(std::uint32_t request) const {
    double critical = 0;
    for (const std::uint32_t link : links_[request]) critical = std::max(critical, unstarted_[link]);
    return critical;
  }
  [[nodiscard]] double crowd_of(std::uint32_t request, Crowd crowd) const {
    std::uint32_t users = 0;
    switch (crowd) {
      case Crowd::ignored: return 0;
      case Crowd::of_other_routes: return crossers(request);
      case Crowd::on_link:
        for (const std::uint32_t link : links_[request]) users = std::max(users, flow_.users(link));
        break;
      case Crowd::on_all_links:
        for (const std::uint32_t link : links_[request]) users += flow_.users(link);
        break;
    }
    return users;
  }
  // Links of it that requests of another route use now.
  [[nodiscard]] double crossers(std::uint32_t request) const {
    double count = 0;
    for (std::uint32_t e = 0; e < flow_.engines(); ++e) {
      const auto& at = flow_.state().engines[e];
      if (at.request == kNoRequest) continue;
      const auto path = at.path_links();
      if (std::ranges::equal(path, links_[request])) continue;
      for (const std::uint32_t link : links_[request]) count += std::ranges::find(path, link) != path.end() ? 1 : 0;
    }
    return count;
  }
  static constexpr double kCrowd = 1e15; // ns: outweighs every width, and that
  static constexpr double kWidth = 1e12; // every load

  const Problem& problem_;
  Flow flow_;
  const double bound_;
  std::uint32_t trials_left_;
  std::vector<std::uint32_t> by_direction_; // as bottom-left takes equals
  std::vector<std::uint32_t> left_;
  std::vector<double> unstarted_; // ns by link, of requests not begun
  std::vector<double> load_;      // ns by link, of all
  std::vector<double> favour_;    // ns by request
  std::vector<std::uint8_t> path_;
  std::vector<std::span<const std::uint32_t>> links_; // of that path
  std::vector<double> length_;                        // ns alone on an engine
  std::vector<std::uint32_t> class_;                  // equal for requests that are the same but for their name
  Schedule best_{.placements = {}, .order = {}, .makespan_ns = kNoLimit};
};

} // namespace

Schedule sharing(const Problem& problem) {
  if (problem.requests.empty()) return {};
  return Planner(problem).plan();
}

} // namespace heddle::schedule
