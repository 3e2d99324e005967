// Paths by edge colouring.
//
// Why it leaves no hot spot. One stage is a (partial) permutation of the nodes. Draw an edge from the source's leaf to the
// destination's for every flow between leaves: a bipartite multigraph, where a leaf has at most as many edges on either side as it
// has nodes in the job. With D the largest such number and U uplinks per leaf, colour the edges with U * ceil(D / U)
// colours (König, edge_colouring.hpp) and let colour c stand for uplink c mod U. Every link up and every link down then
// carries at most ceil(D / U) flows: one, where no leaf has more nodes in the job than uplinks, whatever the nodes are.
// ceil(D / U) is also the least possible, as D flows share U links. In the shift pattern a pair (s, d) belongs to one stage
// only, so the choices of different stages never meet, and the table rs(s, d) is good at every stage.
//
// More levels: flows of one colour use one uplink of each leaf, so they form the same problem on the switches above, one
// level less. Colouring those again, and so on up to the roots, fixes the up-path.
//
// Where the argument does not reach (failed links that make leaves unequal; fewer LIDs than up-paths; a pair that a pattern uses
// in several stages) the stage is coloured from lists (Galvin, list_colouring.hpp) on two levels, or placed one by one, and
// then repaired (stage_loads.hpp), until the bound of bound.hpp is met or moving helps no more.
#include <algorithm>
#include <map>

#include "routing/bound.hpp"
#include "routing/list_colouring.hpp"
#include "routing/methods.hpp"
#include "routing/stage_loads.hpp"
#include "routing/up_path_classes.hpp"

namespace heddle::routing {
namespace {

class Planner {
 public:
  Planner(const Subnet& subnet, const JobHosts& job, const std::vector<bool>& allowed)
      : subnet_(subnet),
        job_(job),
        allowed_(allowed),
        classes_(subnet, job, allowed),
        bound_(subnet.fabric, subnet.up_paths, job),
        loads_(subnet, job),
        selection_(job.nodes()),
        levels_(subnet.fabric.levels) {}

  Selection run(const Pattern& pattern) {
    if (!pattern.is_shift()) chosen_.resize(std::size_t{job_.nodes()} * job_.nodes());
    for (std::size_t i = 0; i < pattern.stages(); ++i) {
      pattern.fill(i, stage_);
      plan_stage();
    }
    return std::move(selection_);
  }

 private:
  // Memory for one level of the recursion.
  struct Level {
    std::vector<Edge> edges;
    std::vector<std::uint32_t> flows; // [edge] -> index in crossing_
    std::vector<std::uint32_t> wanted;
    std::map<std::uint32_t, std::vector<std::uint32_t>> arrived; // place above -> flows
    EdgeColouring colouring;
  };

  void plan_stage() {
    const bool free = sort_out();
    if (crossing_.empty()) return;
    if (free && plan_regular()) return;
    const std::uint32_t bound = std::max(1U, bound_.of(stage_));
    if (free && plan_conventional() <= bound) return;
    if (subnet_.fabric.levels == 2)
      plan_from_lists(bound);
    else
      plan_one_by_one();
    loads_.begin(stage_, selection_);
    if (loads_.largest() > bound) loads_.repair(stage_, fixed_, bound, selection_);
  }

  // Finds the flows that cross leaves and have no path yet. True where no flow has one from an earlier stage.
  bool sort_out() {
    crossing_.clear();
    fixed_.assign(stage_.size(), false);
    bool free = true;
    for (std::size_t i = 0; i < stage_.size(); ++i) {
      const Flow& flow = stage_[i];
      if (job_.same_leaf(flow.from, flow.to)) continue;
      if (!chosen_.empty()) {
        const std::size_t pair = std::size_t{flow.from} * job_.nodes() + flow.to;
        if (chosen_[pair]) {
          fixed_[i] = true;
          free = false;
          continue;
        }
        chosen_[pair] = true;
      }
      crossing_.push_back(flow);
    }
    return free;
  }

  // --- regular trees ---

  // False where the result may be improved: not regular, an up-path without a LID, or (more than two levels, oversubscribed) a load
  // past the bound.
  bool plan_regular() {
    if (!classes_.regular()) return false;
    up_path_.resize(crossing_.size());
    every_flow_.resize(crossing_.size());
    for (std::uint32_t i = 0; i < every_flow_.size(); ++i) every_flow_[i] = i;
    key_.assign(crossing_.size(), 0);
    const std::uint32_t largest = ascend(0, 0, every_flow_);
    bool all = true;
    for (std::size_t i = 0; i < crossing_.size(); ++i) {
      const auto offset = subnet_.lids.offset(job_.hosts[crossing_[i].to], up_path_[i]);
      if (offset) selection_.set(crossing_[i].from, crossing_[i].to, *offset);
      all = all && offset;
    }
    if (!all) return false;
    if (largest <= 1 || subnet_.fabric.levels == 2) return true;
    const std::uint32_t bound = bound_.of(stage_);
    if (largest <= bound) return true;
    loads_.begin(stage_, selection_);
    if (loads_.largest() > bound) loads_.repair(stage_, fixed_, bound, selection_);
    return true;
  }

  // Fixes the next step of these flows, which stand at the same place. Returns the largest load of a link.
  std::uint32_t ascend(std::uint32_t index, std::uint32_t depth, const std::vector<std::uint32_t>& flows) {
    const Place& here = classes_[index];
    Level& level = levels_[depth];
    level.edges.clear();
    level.flows.clear();
    for (const std::uint32_t flow : flows) {
      const Edge edge{here.unit[classes_.leaf(crossing_[flow].from)], here.unit[classes_.leaf(crossing_[flow].to)]};
      up_path_[flow] = here.up_path_by_key[key_[flow]]; // where it turns here, how the up-path goes on does not matter
      if (edge.left == edge.right) continue;
      level.edges.push_back(edge);
      level.flows.push_back(flow);
    }
    if (level.edges.empty()) return 0;
    const auto uplinks = static_cast<std::uint32_t>(here.next.size());
    const std::uint32_t load = (degree(level.edges, here.units) + uplinks - 1) / uplinks;
    level.wanted.clear();
    for (const std::uint32_t flow : level.flows) level.wanted.push_back(crossing_[flow].to % uplinks);
    const auto& colours = level.colouring.colour(level.edges, here.units, uplinks * load, level.wanted);
    for (std::size_t e = 0; e < colours.size(); ++e) key_[level.flows[e]] += here.weight * (colours[e] % uplinks);
    return std::max(load, go_on(here, depth, colours));
  }

  std::uint32_t go_on(const Place& here, std::uint32_t depth, const std::vector<std::uint32_t>& colours) {
    Level& level = levels_[depth];
    const auto uplinks = static_cast<std::uint32_t>(here.next.size());
    if (depth + 2 == subnet_.fabric.levels) { // at the roots nothing is left to choose
      for (std::size_t e = 0; e < colours.size(); ++e)
        up_path_[level.flows[e]] = classes_[here.next[colours[e] % uplinks]].up_path_by_key[key_[level.flows[e]]];
      return 0;
    }
    level.arrived.clear();
    for (std::size_t e = 0; e < colours.size(); ++e)
      level.arrived[here.next[colours[e] % uplinks]].push_back(level.flows[e]);
    std::uint32_t largest = 0;
    for (const auto& [place, flows] : level.arrived) largest = std::max(largest, ascend(place, depth + 1, flows));
    return largest;
  }

  // --- the rest ---

  // Cheap to try, and right for whole leaves in order even with one LID per host.
  std::uint32_t plan_conventional() {
    for (const Flow& flow : crossing_) {
      const HostIndex host = job_.hosts[flow.to];
      selection_.set(flow.from, flow.to, subnet_.lids.offset(host, host % subnet_.lids.up_paths).value_or(0));
    }
    loads_.begin(stage_, selection_);
    return loads_.largest();
  }

  // Colours are pairs of up-path and layer, with as many layers as flows may share a link.
  void plan_from_lists(std::uint32_t layers) {
    Level& level = levels_[0];
    level.edges.clear();
    for (const Flow& flow : crossing_) level.edges.push_back({classes_.leaf(flow.from), classes_.leaf(flow.to)});
    const auto& ranks =
        level.colouring.colour(level.edges, classes_.leaves(), degree(level.edges, classes_.leaves()), {});
    const std::uint32_t up_paths = subnet_.up_paths.count();
    const auto lists = [&](std::uint32_t e, std::uint32_t colour) { return usable(crossing_[e], colour % up_paths); };
    const auto& colours = list_colouring_.colour(level.edges, classes_.leaves(), ranks, up_paths * layers, lists);
    for (std::size_t e = 0; e < colours.size(); ++e)
      if (colours[e] != kNoColour)
        selection_.set(crossing_[e].from, crossing_[e].to,
                       *subnet_.lids.offset(job_.hosts[crossing_[e].to], colours[e] % up_paths));
    place_where([&](std::size_t e) { return colours[e] == kNoColour; });
  }

  void plan_one_by_one() {
    place_where([](std::size_t) { return true; });
  }

  // Places the flows for which `needed` holds, after all others of the stage.
  template <typename Needed>
  void place_where(Needed&& needed) {
    Stage settled;
    std::size_t crossing = 0;
    for (std::size_t i = 0; i < stage_.size(); ++i) {
      if (fixed_[i])
        settled.push_back(stage_[i]);
      else if (!job_.same_leaf(stage_[i].from, stage_[i].to) && !needed(crossing++))
        settled.push_back(stage_[i]);
    }
    loads_.begin(settled, selection_);
    for (std::size_t e = 0; e < crossing_.size(); ++e)
      if (needed(e)) loads_.place(crossing_[e], selection_);
  }

  [[nodiscard]] bool usable(const Flow& flow, UpPath up_path) const {
    return (allowed_.empty() || allowed_[up_path]) && subnet_.up_paths.open(job_.leaves[flow.from], up_path) &&
           subnet_.up_paths.open(job_.leaves[flow.to], up_path) &&
           subnet_.lids.offset(job_.hosts[flow.to], up_path).has_value();
  }

  const Subnet& subnet_;
  const JobHosts& job_;
  const std::vector<bool>& allowed_;
  UpPathClasses classes_;
  LoadBound bound_;
  StageLoads loads_;
  ListColouring list_colouring_;
  Selection selection_;
  std::vector<Level> levels_;
  std::vector<bool> chosen_; // [s][d] has a path; only for patterns that may repeat a pair
  Stage stage_;
  Stage crossing_;
  std::vector<bool> fixed_;        // [flow of the stage]
  std::vector<UpPath> up_path_;    // [crossing flow]
  std::vector<std::uint32_t> key_; // [crossing flow] the uplinks taken so far
  std::vector<std::uint32_t> every_flow_;
};

} // namespace

Selection select_colouring(const Subnet& subnet, const JobHosts& job, const Pattern& pattern,
                           const std::vector<bool>& allowed) {
  return Planner(subnet, job, allowed).run(pattern);
}

} // namespace heddle::routing
