#include "pattern/planner.hpp"

#include "pattern/shared_links.hpp"
#include "schedule/algorithms.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace heddle::pattern {

namespace {

// The outs that share one network, as a problem for the scheduler.
class NetworkProblem {
 public:
  // `hints`: of all that will be added.
  NetworkProblem(ir::Translator& translator, bool in_order, std::span<const Hint> hints) : translator_(translator) {
    problem_.resources = ir::resources_of(translator);
    if (!in_order) shared_ = SharedLinks::of(hints, translator.facets().paths);
    problem_.in_order = in_order || (shared_ && shared_->keep_apart());
    if (shared_) problem_.link_rates = shared_->rates();
  }

  void add(const Out& out, const Declared& item, const Partner& partner) {
    const ir::Peer peer{partner.rank};
    schedule::Request request{.bytes = out.bytes, .peer = partner.rank};
    if (item.hint.given) {
      // Every process does the same, so links stand for directions, and this process's receive engines for its partners'.
      request.direction = item.hint.direction;
      request.diagonal = item.hint.diagonal();
    } else {
      request.direction = request.receiver = receiver_of(partner.rank);
    }
    const std::uint32_t paths = std::max(ir::paths_to(translator_, peer), 1U);
    if (item.hint.given && paths == 1) {
      problem_.stands_for_all = true;
      if (shared_) return problem_.add(request, std::span(shared_->links(item.hint.direction)));
      double rate = 0;
      for (const ir::PathLink& link : ir::route_to(translator_, peer, 0))
        rate = rate == 0 ? link.rate : std::min(rate, link.rate);
      std::vector<std::uint32_t> links;
      for (const Hint::Step& step : item.hint.steps)
        links.push_back(number_of(2 * step.axis + (step.down ? 1 : 0), rate));
      problem_.add(request, std::span<const std::uint32_t>(links));
      return;
    }
    for (std::uint32_t path = 0; path < paths; ++path) {
      std::vector<std::uint32_t> links;
      for (const ir::PathLink& link : ir::route_to(translator_, peer, path))
        links.push_back(number_of(link.link, link.rate));
      if (path == 0)
        problem_.add(request, std::span<const std::uint32_t>(links));
      else
        problem_.add_path(links);
      if (!links.empty()) knows_links_.insert(static_cast<std::uint32_t>(problem_.requests.size() - 1));
    }
  }

  // Otherwise all paths are alike to the scheduler, and the network's own choice is better than its.
  [[nodiscard]] bool chooses_path(std::uint32_t request) const {
    return problem_.requests[request].paths > 1 && knows_links_.contains(request);
  }

  [[nodiscard]] const schedule::Problem& problem() const { return problem_; }
  // Whether there is anything to decide.
  [[nodiscard]] bool has_choice() const {
    return problem_.resources.engines > 1 ||
           std::ranges::any_of(problem_.requests, [](const schedule::Request& request) { return request.paths > 1; });
  }

 private:
  std::uint32_t number_of(std::uint32_t link, double rate) {
    const auto [at, fresh] = links_.emplace(link, static_cast<std::uint32_t>(problem_.link_rates.size()));
    if (fresh) problem_.link_rates.push_back(rate);
    return at->second;
  }
  std::uint32_t receiver_of(std::uint32_t rank) {
    return receivers_.emplace(rank, static_cast<std::uint32_t>(receivers_.size())).first->second;
  }

  ir::Translator& translator_;
  schedule::Problem problem_;
  std::optional<SharedLinks> shared_; // where straight neighbours' links do not say it all
  std::map<std::uint32_t, std::uint32_t> links_;
  std::set<std::uint32_t> knows_links_; // requests
  std::map<std::uint32_t, std::uint32_t> receivers_;
};

std::string line_of(const Out& out, const Partner& partner, const schedule::Placement& placed) {
  char text[160];
  std::snprintf(text, sizeof text, "request %u to rank %u: %llu bytes, engine %u to %u, path %u, %.2f to %.2f us%s\n",
                out.item, partner.rank, static_cast<unsigned long long>(out.bytes), placed.send_engine,
                placed.receive_engine, placed.path, placed.start_ns / 1000, placed.end_ns / 1000,
                placed.shares_link ? ", shares a link" : "");
  return text;
}

} // namespace

Result<void> plan_outs_onto_engines(Plan& plan, const std::string& algorithm, bool in_order) {
  // In the order in which the program named them: what every algorithm starts from.
  std::ranges::stable_sort(plan.outs, {}, &Out::item);
  std::map<engine::ScheduleQueue*, std::vector<std::size_t>> by_network;
  for (std::size_t i = 0; i < plan.outs.size(); ++i) by_network[plan.partners[plan.outs[i].partner].queue].push_back(i);
  base::BackedVector<Out> ordered;
  ordered.reserve(plan.outs.size());
  for (const auto& [queue, outs] : by_network) {
    std::vector<Hint> hints;
    for (const std::size_t i : outs)
      if (const Hint& hint = plan.items[plan.outs[i].item].hint; hint.given) hints.push_back(hint);
    NetworkProblem on_network(queue->translator(), in_order, hints);
    for (const std::size_t i : outs)
      on_network.add(plan.outs[i], plan.items[plan.outs[i].item], plan.partners[plan.outs[i].partner]);
    const auto schedule = schedule::run_algorithm(algorithm, on_network.problem());
    if (!schedule) return std::unexpected(schedule.error());
    for (const std::uint32_t request : schedule->order) {
      Out& out = plan.outs[outs[request]];
      const schedule::Placement& placed = schedule->placements[request];
      if (on_network.has_choice() && algorithm != "immediate") {
        out.send_engine = placed.send_engine;
        if (on_network.chooses_path(request))
          out.path = placed.path;
        else if (on_network.problem().requests[request].paths <= 1)
          out.receive_engine = placed.receive_engine;
      }
      plan.picture += line_of(out, plan.partners[out.partner], placed);
      ordered.push_back(std::move(out));
    }
  }
  plan.outs = std::move(ordered);
  return {};
}

} // namespace heddle::pattern
