// Iterated local search over the order of a list (Lourenço, Martin, Stützle: Iterated local search, 2003).
//
//   order    engines take the first request of a list that they can begin; so an order is a whole plan, judged by its end
//   step     a request moves ahead of others, or changes places with a later one; the first such step that ends sooner is taken
//   kick     where no step does, three requests of the best order move by lot, and steps go on from there
//
// A beam keeps what looks good early; this finds what pays only at the end. It costs as many looks as it is given, whatever it finds.
#include "schedule/local_search.hpp"

#include "base/mix.hpp"
#include "schedule/flow.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace heddle::schedule {

namespace {

// Orders tried for up to 14 requests, in some 5 ms; fewer the longer each takes, and none where not even every step from one order could be
// tried. More would find more: on the development seeds of many_patterns_test.cpp half as many leave the average of patterns of up to
// twenty requests 0.67 instead of 0.64 % above the bound, twice as many 0.62 %.
constexpr std::uint64_t kMostOrders = 8'000;
constexpr std::uint64_t kOrderBudget = kMostOrders * 14 * 14; // an order costs about the square of its requests
constexpr int kKick = 3;
constexpr double kSooner = 1 - 1e-9; // anything less is rounding

class OrderSearch {
 public:
  OrderSearch(const Problem& problem, const std::vector<std::uint32_t>& kind, double enough_ns, Schedule& plan)
      : kind_(kind), enough_ns_(enough_ns), size_(problem.size()), plan_(plan), flow_(problem), best_(problem.size()) {
    std::iota(best_.begin(), best_.end(), 0U);
    std::ranges::sort(best_, {}, [&](std::uint32_t request) {
      const Placement& at = plan.placements[request];
      return std::pair(at.start_ns, at.send_engine);
    });
    for (std::uint32_t request = 0; request < size_; ++request) {
      flow_.choose_path(request, plan.placements[request].path);
      engines_ = std::max<std::uint32_t>(engines_, plan.placements[request].send_engine + 1U);
    }
  }

  void run() {
    const std::uint64_t square = std::uint64_t{size_} * size_;
    left_to_try_ = std::min(kMostOrders, kOrderBudget / square);
    if (size_ < 3 || left_to_try_ < square) return;
    current_ = best_;
    double end = plan_.makespan_ns;
    while (!done()) {
      while (!done() && step(end)) {
      }
      if (!done()) end = kick();
    }
  }

 private:
  using Order = std::vector<std::uint32_t>;

  [[nodiscard]] bool done() const { return left_to_try_ == 0 || plan_.makespan_ns <= enough_ns_; }

  // False: none ends sooner. Begins at a request drawn by lot, so that not always the same are tried first.
  bool step(double& end) {
    const std::uint32_t first = draw(size_);
    for (std::uint32_t i = 0; i < size_; ++i) {
      const std::uint32_t from = (first + i) % size_;
      for (std::uint32_t to = 0; to < size_ && !done(); ++to) {
        if (kind_[current_[from]] == kind_[current_[to]] || from == to + 1)
          continue; // that is the other's swap with this
        trial_ = current_;
        if (from < to)
          std::swap(trial_[from], trial_[to]);
        else
          std::rotate(at(trial_, to), at(trial_, from), at(trial_, from + 1));
        const double found = attempt(trial_, end);
        if (found >= end * kSooner) continue;
        end = found;
        current_ = trial_;
        return true;
      }
    }
    return false;
  }

  double kick() {
    current_ = best_;
    for (int moved = 0; moved < kKick; ++moved) {
      const std::uint32_t from = draw(size_);
      const std::uint32_t to = draw(size_);
      if (from < to)
        std::rotate(at(current_, from), at(current_, from + 1), at(current_, to + 1));
      else
        std::rotate(at(current_, to), at(current_, from), at(current_, from + 1));
    }
    return attempt(current_, kNoLimit);
  }

  // When all is over; kNoLimit where requests are left when engines are free at `limit`. A better end than so far is kept.
  double attempt(const Order& order, double limit) {
    --left_to_try_;
    flow_.reset(engines_);
    waiting_ = order;
    flow_.run(size_, [&](std::uint32_t engine) {
      if (flow_.state().now >= limit) return kNoRequest;
      const auto next =
          std::ranges::find_if(waiting_, [&](std::uint32_t each) { return flow_.can_begin(engine, each); });
      if (next == waiting_.end()) return kNoRequest;
      const std::uint32_t request = *next;
      waiting_.erase(next);
      return request;
    });
    if (!waiting_.empty()) return kNoLimit;
    const double end = flow_.state().now;
    if (end < plan_.makespan_ns * kSooner) {
      plan_.placements = flow_.placements();
      plan_.makespan_ns = end;
      best_ = order;
    }
    return end;
  }

  static Order::iterator at(Order& order, std::uint32_t place) {
    return order.begin() + static_cast<std::ptrdiff_t>(place);
  }
  std::uint32_t draw(std::uint32_t below) {
    lot_ = base::mix(lot_);
    return static_cast<std::uint32_t>((lot_ >> 32U) % below);
  }

  const std::vector<std::uint32_t>& kind_;
  const double enough_ns_;
  const std::uint32_t size_;
  Schedule& plan_;
  Flow flow_;
  std::uint32_t engines_ = 1;
  std::uint64_t left_to_try_ = 0;
  std::uint64_t lot_ = 1; // the same plan every time
  Order best_;
  Order current_;
  Order trial_;
  Order waiting_;
};

} // namespace

void improve_order(const Problem& problem, const std::vector<std::uint32_t>& kind, double enough_ns, Schedule& plan) {
  OrderSearch(problem, kind, enough_ns, plan).run();
}

} // namespace heddle::schedule
