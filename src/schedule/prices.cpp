#include "schedule/prices.hpp"

#include "schedule/flow.hpp"

#include <algorithm>

namespace heddle::schedule {

namespace {

// Sets of requests that move together. More would take longer than a bound is worth.
constexpr std::size_t kMostSets = 20'000;
constexpr std::size_t kMostPivots = 400; // the prices so far are sound, only lower than they might be
constexpr double kNothing = 1e-12;

// Requests that are equal in all that counts here: they differ in bytes alone.
struct Kind {
  std::uint32_t first = 0; // a request of this kind
  std::uint32_t count = 0;
  double bytes = 0;
};

bool same_ways(const Problem& problem, std::uint32_t a, std::uint32_t b) {
  if (problem.requests[a].receiver != problem.requests[b].receiver ||
      problem.requests[a].paths != problem.requests[b].paths)
    return false;
  for (std::uint32_t path = 0; path < problem.requests[a].paths; ++path)
    if (!std::ranges::equal(problem.path(a, path), problem.path(b, path))) return false;
  return true;
}

// max costs * price, so that each row * price <= its right side and no price is below 0. The tableau holds only columns of what is 0 now.
class Programme {
 public:
  explicit Programme(std::size_t prices) : width_(prices + 1), column_(prices) {
    for (std::size_t i = 0; i < prices; ++i) column_[i] = static_cast<std::ptrdiff_t>(i);
  }
  // Appends a row of zeros with that right side.
  std::span<double> add_row(double right) {
    table_.resize(table_.size() + width_, 0.0);
    row_.push_back(-1);
    std::span<double> row(table_.data() + table_.size() - width_, width_);
    row.back() = right;
    return row;
  }
  [[nodiscard]] std::size_t rows() const { return row_.size(); }

  std::vector<double> solve(std::vector<double> costs) {
    costs.push_back(0);
    for (std::size_t pivots = 0; pivots < kMostPivots; ++pivots) {
      const auto most = std::ranges::max_element(costs.begin(), costs.end() - 1);
      if (*most <= kNothing) break;
      const auto column = static_cast<std::size_t>(most - costs.begin());
      const std::size_t row = tightest_row(column);
      if (row == rows()) break;
      pivot(row, column, costs);
    }
    std::vector<double> prices(column_.size(), 0);
    for (std::size_t row = 0; row < rows(); ++row)
      if (row_[row] >= 0) prices[static_cast<std::size_t>(row_[row])] = std::max(at(row, width_ - 1), 0.0);
    return prices;
  }

 private:
  double& at(std::size_t row, std::size_t column) { return table_[row * width_ + column]; }
  std::size_t tightest_row(std::size_t column) {
    std::size_t found = rows();
    double least = kNoLimit;
    for (std::size_t row = 0; row < rows(); ++row) {
      if (at(row, column) <= kNothing) continue;
      const double ratio = at(row, width_ - 1) / at(row, column);
      if (ratio >= least) continue;
      least = ratio;
      found = row;
    }
    return found;
  }
  void pivot(std::size_t row, std::size_t column, std::vector<double>& costs) {
    std::swap(row_[row], column_[column]);
    const double by = at(row, column);
    at(row, column) = 1;
    for (std::size_t i = 0; i < width_; ++i) at(row, i) /= by;
    const auto subtract = [&](double* from) {
      const double times = from[column];
      if (times == 0) return;
      from[column] = 0;
      for (std::size_t i = 0; i < width_; ++i) from[i] -= times * at(row, i);
    };
    for (std::size_t other = 0; other < rows(); ++other)
      if (other != row) subtract(&at(other, 0));
    subtract(costs.data());
  }

  std::size_t width_; // prices and the right side
  std::vector<double> table_;
  std::vector<std::ptrdiff_t> row_;    // the price that a row stands for, -1: the row's own slack
  std::vector<std::ptrdiff_t> column_; // of the columns
};

// All sets of requests that can move together, as rows of the programme: how fast each kind does, how many engines rest.
// Its columns: a price for each kind, one for rest, then early earnings while 1, 2 .. engines are open.
class Sets {
 public:
  Sets(const Problem& problem, const std::vector<Kind>& kinds, std::uint32_t engines)
      : problem_(problem), kinds_(kinds), flow_(problem), taken_(kinds.size(), 0) {
    flow_.reset(engines);
  }
  // False: there are too many.
  bool find_all() { return add_from(0, 0); }

  [[nodiscard]] std::vector<double> solve(std::vector<double> costs) const {
    Programme programme(costs.size());
    for (const Set& set : sets_) {
      for (std::uint32_t open = std::max(set.size, 1U); open <= flow_.engines(); ++open) {
        const bool all = open == flow_.engines();
        const std::span<double> row = programme.add_row(all ? 1 : 0);
        std::ranges::copy(set.rates, row.begin());
        row[kinds_.size()] = open - set.size;
        if (!all) row[kinds_.size() + open] = -1;
      }
    }
    return programme.solve(std::move(costs));
  }
  // The most that a set earns while that many engines are open.
  [[nodiscard]] double most_earned(const std::vector<double>& prices, std::uint32_t open) const {
    double most = 0;
    for (const Set& set : sets_) {
      if (set.size > open) continue;
      double sum = prices[kinds_.size()] * (open - set.size);
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind) sum += set.rates[kind] * prices[kind];
      most = std::max(most, sum);
    }
    return most;
  }

 private:
  struct Set {
    std::vector<double> rates; // by kind
    std::uint32_t size = 0;
  };
  struct Moving {
    std::uint32_t kind = 0;
    std::uint32_t path = 0;
  };
  bool add_from(std::uint32_t kind, std::uint32_t path) {
    if (sets_.size() >= kMostSets) return false;
    add();
    if (moving_.size() == flow_.engines()) return true;
    for (; kind < kinds_.size(); ++kind, path = 0) {
      if (taken_[kind] == kinds_[kind].count || !receiver_free(kind)) continue;
      for (; path < std::max(problem_.requests[kinds_[kind].first].paths, 1U); ++path) {
        moving_.push_back({kind, path});
        ++taken_[kind];
        const bool fits = add_from(kind, path);
        --taken_[kind];
        moving_.pop_back();
        if (!fits) return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool receiver_free(std::uint32_t kind) const {
    const auto receiver = [this](std::uint32_t of) { return problem_.requests[kinds_[of].first].receiver; };
    const auto taken =
        std::ranges::count_if(moving_, [&](const Moving& each) { return receiver(each.kind) == receiver(kind); });
    return static_cast<std::uint32_t>(taken) < problem_.resources.receive_engines;
  }
  void add() {
    flow_.reset(flow_.engines());
    for (std::uint32_t e = 0; e < moving_.size(); ++e)
      flow_.begin_moving(e, kinds_[moving_[e].kind].first, moving_[e].path);
    flow_.settle_rates();
    Set& set = sets_.emplace_back(
        Set{.rates = std::vector<double>(kinds_.size(), 0), .size = static_cast<std::uint32_t>(moving_.size())});
    for (std::uint32_t e = 0; e < moving_.size(); ++e) set.rates[moving_[e].kind] += flow_.state().engines[e].rate;
  }

  const Problem& problem_;
  const std::vector<Kind>& kinds_;
  Flow flow_;
  std::vector<std::uint32_t> taken_; // by kind
  std::vector<Moving> moving_;
  std::vector<Set> sets_;
};

double least_rest(const Problem& problem, std::uint32_t engines) {
  return problem.size() > engines ? (problem.size() - engines) * problem.resources.startup_ns : 0;
}

} // namespace

std::optional<Prices> prices(const Problem& problem, std::uint32_t engines) {
  std::vector<Kind> kinds;
  std::vector<std::uint32_t> kind_of;
  for (std::uint32_t request = 0; request < problem.size(); ++request) {
    auto kind = std::ranges::find_if(kinds, [&](const Kind& each) { return same_ways(problem, each.first, request); });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), Kind{.first = request});
    ++kind->count;
    kind->bytes += static_cast<double>(problem.requests[request].bytes);
    kind_of.push_back(static_cast<std::uint32_t>(kind - kinds.begin()));
  }
  Sets sets(problem, kinds, engines);
  if (!sets.find_all()) return std::nullopt;
  std::vector<double> costs;
  for (const Kind& kind : kinds) costs.push_back(kind.bytes);
  costs.push_back(least_rest(problem, engines));
  for (std::uint32_t open = 1; open < engines; ++open) costs.push_back(-problem.resources.queue_ns);
  const std::vector<double> found = sets.solve(std::move(costs));
  // Found out again rather than taken from the programme: rounding must not make a bound too high.
  const double most = std::max(sets.most_earned(found, engines), kNothing);
  Prices made{.byte = {},
              .rest = found[kinds.size()] / most,
              .early = {},
              .startup_ns = problem.resources.startup_ns,
              .queue_ns = problem.resources.queue_ns};
  for (const std::uint32_t kind : kind_of) made.byte.push_back(found[kind] / most);
  made.early.push_back(0);
  for (std::uint32_t open = 1; open < engines; ++open) made.early.push_back(sets.most_earned(found, open) / most);
  return made;
}

double Prices::earned_at(double now, double cost) const {
  for (std::size_t open = 0; open < early.size(); ++open) {
    const double end = startup_ns + static_cast<double>(open) * queue_ns; // then the next one opens
    if (end <= now) continue;
    const double here = early[open] * (end - now);
    if (here > cost) return now + cost / early[open];
    cost -= here;
    now = end;
  }
  return now + cost;
}

double cost_of_all(const Problem& problem, const Prices& prices) {
  double cost = prices.rest * least_rest(problem, static_cast<std::uint32_t>(prices.early.size()));
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    cost += prices.byte[request] * static_cast<double>(problem.requests[request].bytes);
  return cost;
}

} // namespace heddle::schedule
