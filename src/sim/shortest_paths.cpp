// Tables for free topologies: breadth-first search back from each target's switch. See topology.hpp.
#include <algorithm>
#include <deque>
#include <limits>

#include "sim/topology.hpp"

namespace heddle::sim {
namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

// A cable from a switch to a switch, seen from its start.
struct Step {
  std::uint32_t to = 0;
  std::uint16_t port = 0;
  bool up = false;
};

class ShortestPaths {
 public:
  explicit ShortestPaths(const Fabric& fabric) : out_(fabric.switches.size()), in_(fabric.switches.size()) {
    for (const Link& link : fabric.links) {
      if (link.from.kind == End::Kind::switch_ && link.to.kind == End::Kind::switch_) {
        out_[link.from.index].push_back({link.to.index, static_cast<std::uint16_t>(link.from.port), false});
        in_[link.to.index].push_back({link.from.index, static_cast<std::uint16_t>(link.from.port), false});
      }
    }
    for (auto& steps : out_) std::ranges::sort(steps, {}, &Step::port);
    mark_directions();
  }

  // Switch to port for everyone's next step to `target`; the search's result serves all nodes of that switch.
  void search(std::uint32_t target, bool up_then_down) {
    target_ = target;
    spread(up_then_down);
    if (!up_then_down) return;
    down_ = distance_;
    // Upper ends come first in rank_, so their distance is known when it is asked for.
    for (const std::uint32_t at : by_rank_) {
      if (distance_[at] != kFar) continue;
      for (const Step& step : out_[at]) {
        if (step.up && distance_[step.to] != kFar) distance_[at] = std::min(distance_[at], distance_[step.to] + 1);
      }
    }
  }

  // Each switch comes after all that are above it.
  [[nodiscard]] const std::vector<std::uint32_t>& by_rank() const { return by_rank_; }

  [[nodiscard]] std::uint16_t port(std::uint32_t at, bool up_then_down, std::uint32_t choice) {
    candidates_.clear();
    const bool down_only = up_then_down && down_[at] != kFar;
    for (const Step& step : out_[at]) {
      const bool up_only = up_then_down && !down_only;
      if ((down_only && step.up) || (up_only && !step.up)) continue;
      const std::uint32_t beyond = down_only ? down_[step.to] : distance_[step.to];
      if (beyond != kFar && beyond + 1 == distance_[at]) candidates_.push_back(step.port);
    }
    return candidates_.empty() ? kNoPort : candidates_[choice % candidates_.size()];
  }

 private:
  // Up is towards switch 0, by the number of steps and then by index, so that every cable has one upper end.
  void mark_directions() {
    target_ = 0;
    if (out_.empty()) return;
    spread(false);
    const auto above = [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(distance_[a], a) < std::pair(distance_[b], b);
    };
    by_rank_.resize(out_.size());
    for (std::uint32_t at = 0; at < out_.size(); ++at) by_rank_[at] = at;
    std::ranges::sort(by_rank_, above);
    for (std::uint32_t at = 0; at < out_.size(); ++at) {
      for (Step& step : out_[at]) step.up = above(step.to, at);
      for (Step& step : in_[at]) step.up = above(at, step.to);
    }
  }

  // distance_[s] = steps from s to the target, over all cables or over those that lead down.
  void spread(bool down_only) {
    distance_.assign(out_.size(), kFar);
    distance_[target_] = 0;
    std::deque<std::uint32_t> next{target_};
    while (!next.empty()) {
      const std::uint32_t at = next.front();
      next.pop_front();
      for (const Step& step : in_[at]) {
        if ((down_only && step.up) || distance_[step.to] != kFar) continue;
        distance_[step.to] = distance_[at] + 1;
        next.push_back(step.to);
      }
    }
  }

  std::vector<std::vector<Step>> out_;
  std::vector<std::vector<Step>> in_; // `to` is where the cable comes from
  std::vector<std::uint32_t> by_rank_;
  std::uint32_t target_ = 0;
  std::vector<std::uint32_t> distance_;
  std::vector<std::uint32_t> down_; // over cables that lead down only
  std::vector<std::uint16_t> candidates_;
};

} // namespace

std::vector<bool> ways_up(const Fabric& fabric) {
  const ShortestPaths ways(fabric);
  std::vector<std::uint32_t> rank(fabric.switches.size());
  for (std::uint32_t i = 0; i < rank.size(); ++i) rank[ways.by_rank()[i]] = i;
  std::vector<bool> up;
  for (const Link& link : fabric.links)
    up.push_back(link.from.kind == End::Kind::switch_ && link.to.kind == End::Kind::switch_ &&
                 rank[link.to.index] < rank[link.from.index]);
  return up;
}

Tables shortest_ways(const Fabric& fabric, bool up_then_down) {
  Tables tables;
  tables.lids = fabric.nodes + 1;
  tables.owner.assign(tables.lids, kNone);
  tables.ports.assign(fabric.switches.size() * tables.lids, kNoPort);
  for (std::uint32_t node = 0; node < fabric.nodes; ++node) {
    tables.base.push_back(node + 1);
    tables.owner[node + 1] = node;
  }
  // Nodes of one switch share a search.
  std::vector<std::vector<const Link*>> nodes_of(fabric.switches.size());
  for (const Link& link : fabric.links) {
    if (link.to.kind == End::Kind::node && link.from.kind == End::Kind::switch_) {
      nodes_of[link.from.index].push_back(&link);
    }
  }
  ShortestPaths ways(fabric);
  for (std::uint32_t target = 0; target < fabric.switches.size(); ++target) {
    if (nodes_of[target].empty()) continue;
    ways.search(target, up_then_down);
    for (const Link* last : nodes_of[target]) {
      const std::uint32_t lid = last->to.index + 1;
      for (std::uint32_t at = 0; at < fabric.switches.size(); ++at) {
        tables.ports[std::size_t{at} * tables.lids + lid] =
            at == target ? static_cast<std::uint16_t>(last->from.port) : ways.port(at, up_then_down, last->to.index);
      }
    }
  }
  return tables;
}

} // namespace heddle::sim
