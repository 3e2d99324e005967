#include "schedule/checker.hpp"

#include <algorithm>
#include <vector>

namespace heddle::schedule {

namespace {

constexpr double kSlack = 0.1; // ns: times are sums of many; far below every start-up, however long the schedule

class Checker {
 public:
  Checker(const Problem& problem, const Schedule& schedule, const CheckedRules& rules)
      : problem_(problem), schedule_(schedule), rules_(rules) {}

  std::string fault() {
    if (auto found = placed_once(); !found.empty()) return found;
    for (std::uint32_t request = 0; request < problem_.size(); ++request)
      if (auto found = one(request); !found.empty()) return found;
    for (std::uint32_t a = 0; a < problem_.size(); ++a)
      for (std::uint32_t b = a + 1; b < problem_.size(); ++b)
        if (overlap(a, b))
          if (auto found = pair(a, b); !found.empty()) return found;
    if (auto found = diagonals(); !found.empty()) return found;
    return capacities();
  }

 private:
  static std::string name(std::uint32_t request) { return "request " + std::to_string(request); }
  [[nodiscard]] const Placement& at(std::uint32_t request) const { return schedule_.placements[request]; }
  [[nodiscard]] auto path(std::uint32_t request) const { return problem_.path(request, at(request).path); }
  [[nodiscard]] bool overlap(std::uint32_t a, std::uint32_t b) const {
    return at(a).start_ns < at(b).end_ns - kSlack && at(b).start_ns < at(a).end_ns - kSlack;
  }

  [[nodiscard]] std::string placed_once() const {
    if (schedule_.placements.size() != problem_.size()) return "not every request has a place";
    std::vector<bool> seen(problem_.size(), false);
    for (const std::uint32_t request : schedule_.order) {
      if (request >= problem_.size()) return "the order names a request that is not there";
      if (seen[request]) return name(request) + " is handed over twice";
      seen[request] = true;
    }
    if (schedule_.order.size() != problem_.size()) return "a request is not handed over";
    return {};
  }

  [[nodiscard]] std::string one(std::uint32_t request) const {
    const ir::Resources& resources = problem_.resources;
    const Placement& placed = at(request);
    if (placed.send_engine >= resources.engines) return name(request) + " is on an engine that is not there";
    if (placed.receive_engine >= std::max(resources.receive_engines, resources.engines))
      return name(request) + " goes to a receive engine that is not there";
    if (placed.path >= std::max(problem_.requests[request].paths, 1U))
      return name(request) + " takes a path that is not there";
    const double least =
        resources.startup_ns + static_cast<double>(problem_.requests[request].bytes) / limit_of(resources.engine_rate);
    if (placed.start_ns < 0 || placed.end_ns - placed.start_ns < least - kSlack)
      return name(request) + " is faster than its engine";
    if (placed.end_ns > schedule_.makespan_ns + kSlack) return name(request) + " ends after the end";
    return {};
  }

  [[nodiscard]] std::string pair(std::uint32_t a, std::uint32_t b) const {
    const std::string both = name(a) + " and " + name(b);
    if (at(a).send_engine == at(b).send_engine) return both + " use an engine at the same time";
    if (problem_.requests[a].receiver == problem_.requests[b].receiver && at(a).receive_engine == at(b).receive_engine)
      return both + " use a receive engine at the same time";
    if (rules_.links == CheckedRules::Links::one_of_a_direction &&
        problem_.requests[a].direction == problem_.requests[b].direction)
      return both + " of one direction overlap";
    if (rules_.links != CheckedRules::Links::exclusive) return {};
    for (const std::uint32_t link : path(a))
      if (std::ranges::find(path(b), link) != path(b).end()) return both + " share link " + std::to_string(link);
    return {};
  }

  // At the start of each diagonal: how many run.
  [[nodiscard]] std::string diagonals() const {
    for (std::uint32_t a = 0; a < problem_.size(); ++a) {
      if (!problem_.requests[a].diagonal || at(a).end_ns <= at(a).start_ns + kSlack) continue; // runs not at all
      std::uint32_t running = 1;
      for (std::uint32_t b = 0; b < problem_.size(); ++b)
        if (b != a && problem_.requests[b].diagonal && at(b).start_ns <= at(a).start_ns + kSlack &&
            at(b).end_ns > at(a).start_ns + kSlack)
          ++running;
      if (running > rules_.diagonal_engines) return std::to_string(running) + " diagonals run at once";
    }
    return {};
  }

  // What lies wholly within a stretch of time must have fitted through: checked for every stretch between a start and an end.
  [[nodiscard]] std::string capacities() const {
    for (std::uint32_t first = 0; first < problem_.size(); ++first) {
      for (std::uint32_t last = 0; last < problem_.size(); ++last) {
        const double from = at(first).start_ns;
        const double to = at(last).end_ns;
        if (to <= from) continue;
        std::vector<double> through(problem_.link_rates.size(), 0);
        double all = 0;
        for (std::uint32_t request = 0; request < problem_.size(); ++request) {
          if (at(request).start_ns < from - kSlack || at(request).end_ns > to + kSlack) continue;
          all += static_cast<double>(problem_.requests[request].bytes);
          for (const std::uint32_t link : path(request))
            through[link] += static_cast<double>(problem_.requests[request].bytes);
        }
        const double time = to - from + 2 * kSlack;
        if (all > time * limit_of(problem_.resources.node_rate)) return "more leaves than the node can send";
        for (std::size_t link = 0; link < through.size(); ++link)
          if (through[link] > time * limit_of(problem_.link_rates[link]) && rules_.links != kDirectionsOnly)
            return "more goes through link " + std::to_string(link) + " than fits";
      }
    }
    return {};
  }
  // Who keeps only directions apart plans as if nothing else were shared: its times are wishes.
  static constexpr auto kDirectionsOnly = CheckedRules::Links::one_of_a_direction;

  const Problem& problem_;
  const Schedule& schedule_;
  const CheckedRules& rules_;
};

} // namespace

std::string find_fault(const Problem& problem, const Schedule& schedule, const CheckedRules& rules) {
  return Checker(problem, schedule, rules).fault();
}

} // namespace heddle::schedule
