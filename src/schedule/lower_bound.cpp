// The largest of what each resource needs by itself: links, engines, receive engines, the node, the longest request, and two
// requests that must share an engine because there is one more than engines. The node sends no more than the engines that
// are at work: those whose queue has been written to and whose start-up is over.
#include "schedule/algorithms.hpp"
#include "schedule/flow.hpp"
#include "schedule/prices.hpp"

#include <algorithm>
#include <map>

namespace heddle::schedule {

namespace {

// Neither engines nor the node hold anything up by their pace.
bool unlimited(const ir::Resources& resources) {
  return resources.engine_rate <= 0 && resources.node_rate <= 0;
}

// Alone on everything, with the best of its paths.
double time_alone(const Problem& problem, std::uint32_t request) {
  double best = 0;
  const std::uint32_t paths = problem.requests[request].paths;
  for (std::uint32_t path = 0; path < paths; ++path) {
    double rate = kNoLimit;
    for (const std::uint32_t link : problem.path(request, path))
      rate = std::min(rate, limit_of(problem.link_rates[link]));
    best = std::max(best, rate);
  }
  const double rate = std::min(
      {paths == 0 ? kNoLimit : best, limit_of(problem.resources.engine_rate), limit_of(problem.resources.node_rate)});
  return problem.resources.startup_ns + static_cast<double>(problem.requests[request].bytes) / rate;
}

double of_links(const Problem& problem) {
  std::vector<double> bytes(problem.link_rates.size(), 0);
  for (std::uint32_t request = 0; request < problem.size(); ++request) {
    const auto first = problem.path(request, 0);
    for (auto at = first.begin(); at != first.end(); ++at) {
      if (std::find(first.begin(), at, *at) != at) continue; // counted already
      auto times = std::count(at, first.end(), *at);         // it passes here; what it can avoid it need not pass
      for (std::uint32_t path = 1; path < problem.requests[request].paths && times > 0; ++path)
        times = std::min(times, std::ranges::count(problem.path(request, path), *at));
      bytes[*at] += static_cast<double>(times) * static_cast<double>(problem.requests[request].bytes);
    }
  }
  double bound = 0;
  for (std::size_t link = 0; link < bytes.size(); ++link)
    if (bytes[link] > 0)
      bound = std::max(bound, problem.resources.startup_ns + bytes[link] / limit_of(problem.link_rates[link]));
  return bound;
}

// Engines that open one after the other: the best number of them.
double of_engines(const Problem& problem, const std::vector<double>& alone) {
  double work = 0;
  for (const double each : alone) work += each;
  const std::uint32_t engines = std::min(problem.resources.engines, kMostEngines);
  double best = kNoLimit;
  for (std::uint32_t used = 1; used <= engines; ++used)
    best = std::min(best, (work + problem.resources.queue_ns * used * (used - 1) / 2) / used);
  return best;
}

// Where a node has fewer to receive than others have to send, each of its engines is taken as long as a request lasts.
double of_receive_engines(const Problem& problem, const std::vector<double>& alone) {
  const std::uint32_t count = problem.resources.receive_engines;
  if (count >= problem.resources.engines) return 0;
  std::map<std::uint32_t, double> work; // by receiver
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    work[problem.requests[request].receiver] += alone[request];
  double most = 0;
  for (const auto& [receiver, time] : work) most = std::max(most, time);
  return most / count;
}

// bytes <= what all engines together can send until then, less what each further start-up keeps from being sent.
double of_node(const Problem& problem, double bytes) {
  const ir::Resources& resources = problem.resources;
  const std::uint32_t engines = std::min(resources.engines, kMostEngines);
  const double node = limit_of(resources.node_rate);
  const double engine = limit_of(resources.engine_rate);
  if (unlimited(resources)) return 0;
  const auto together = [&](std::uint32_t count) { return std::min(node, engine * count); };
  if (problem.size() > engines)
    bytes += (problem.size() - engines) * resources.startup_ns * (together(engines) - together(engines - 1));
  double time = resources.startup_ns;
  for (std::uint32_t open = 1; open < engines; ++open) { // until the next one opens
    const double sent = together(open) * resources.queue_ns;
    if (sent >= bytes) return time + bytes / together(open);
    bytes -= sent;
    time += resources.queue_ns;
  }
  return time + bytes / together(engines);
}

} // namespace

double simple_bound_ns(const Problem& problem) {
  if (problem.requests.empty()) return 0;
  std::vector<double> alone;
  double bytes = 0;
  for (std::uint32_t request = 0; request < problem.size(); ++request) {
    alone.push_back(time_alone(problem, request));
    bytes += static_cast<double>(problem.requests[request].bytes);
  }
  double bound = std::max(
      {of_links(problem), of_engines(problem, alone), of_receive_engines(problem, alone), of_node(problem, bytes)});
  std::ranges::sort(alone, std::ranges::greater());
  bound = std::max(bound, alone.front());
  const std::uint32_t engines = std::min(problem.resources.engines, kMostEngines);
  if (alone.size() > engines) bound = std::max(bound, alone[engines - 1] + alone[engines]);
  return bound;
}

double lower_bound_ns(const Problem& problem) {
  const double simple = simple_bound_ns(problem);
  // Prices of bytes that move at any rate are lost beside those of others.
  if (problem.requests.empty() || unlimited(problem.resources)) return simple;
  double shortest = kNoLimit;
  for (std::uint32_t request = 0; request < problem.size(); ++request)
    shortest = std::min(shortest, time_alone(problem, request));
  double best = kNoLimit; // with as many engines as are best
  const std::uint32_t most = std::min({problem.resources.engines, kMostEngines, problem.size()});
  for (std::uint32_t engines = 1; engines <= most; ++engines) {
    const auto found = prices(problem, engines);
    if (!found) return simple;
    const double last_engine = problem.resources.queue_ns * (engines - 1) + shortest;
    best = std::min(best, std::max(found->earned_at(0, cost_of_all(problem, *found)), last_engine));
  }
  return std::max(simple, best);
}

} // namespace heddle::schedule
