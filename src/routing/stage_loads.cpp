#include "routing/stage_loads.hpp"

#include <algorithm>

namespace heddle::routing {
namespace {

constexpr int kMostPasses = 400;
// Passes without a better choice before giving up. A pass looks at every flow, so large stages get fewer: a plan has as many stages
// as nodes, and what a few passes do not mend, many rarely do.
int patience(std::size_t flows) {
  return static_cast<int>(std::clamp<std::size_t>(10'000 / (flows + 1), 6, 60));
}
constexpr std::uint32_t kDropped = 1'000'000; // worse than any load

} // namespace

bool StageLoads::begin(const Stage& stage, const Selection& selection) {
  for (const LinkIndex link : touched_) {
    load_[link] = 0;
    listed_[link] = false;
  }
  touched_.clear();
  bool arrive = true;
  for (const Flow& flow : stage)
    if (!job_.same_leaf(flow.from, flow.to)) arrive = add(flow, selection.offset(flow.from, flow.to), 1) && arrive;
  return arrive;
}

std::uint32_t StageLoads::largest_on_path(const Flow& flow, const Selection& selection) const {
  std::uint32_t most = 0;
  if (!job_.same_leaf(flow.from, flow.to))
    visit_links(subnet_, links_, job_, flow, selection.offset(flow.from, flow.to),
                [&](LinkIndex link) { most = std::max(most, load_[link]); });
  return most;
}

std::uint32_t StageLoads::largest() const {
  std::uint32_t most = 0;
  for (const LinkIndex link : touched_) most = std::max(most, load_[link]);
  return most;
}

bool StageLoads::add(const Flow& flow, std::uint32_t offset, std::int32_t change) {
  return visit_links(subnet_, links_, job_, flow, offset, [&](LinkIndex link) {
    if (!listed_[link]) touched_.push_back(link);
    listed_[link] = true;
    load_[link] += static_cast<std::uint32_t>(change);
  });
}

std::uint32_t StageLoads::excess(const Flow& flow, std::uint32_t offset, std::uint32_t limit) const {
  std::uint32_t sum = 0;
  const bool arrives = visit_links(subnet_, links_, job_, flow, offset, [&](LinkIndex link) {
    if (load_[link] >= limit) sum += load_[link] + 1 - limit;
  });
  return arrives ? sum : kDropped;
}

std::uint32_t StageLoads::total_excess(std::uint32_t limit) const {
  std::uint32_t sum = 0;
  for (const LinkIndex link : touched_) sum += load_[link] > limit ? load_[link] - limit : 0;
  return sum;
}

std::uint32_t StageLoads::draw(std::uint32_t below) {
  lot_ ^= lot_ << 13U;
  lot_ ^= lot_ >> 7U;
  lot_ ^= lot_ << 17U;
  return static_cast<std::uint32_t>((lot_ >> 33U) % below);
}

std::uint32_t StageLoads::best_offset(const Flow& flow, std::uint32_t present, std::uint32_t limit) {
  std::uint32_t least = UINT32_MAX;
  ties_.clear();
  for (std::uint32_t offset = 0; offset < subnet_.lids.offsets(); ++offset) {
    if (offset == present) continue; // it must move: staying would keep the conflict
    const std::uint32_t cost = excess(flow, offset, limit);
    if (cost > least) continue;
    if (cost < least) ties_.clear();
    least = cost;
    ties_.push_back(offset);
  }
  return ties_.empty() ? present : ties_[draw(static_cast<std::uint32_t>(ties_.size()))];
}

void StageLoads::place(const Flow& flow, Selection& selection) {
  std::uint32_t chosen = 0;
  std::uint32_t least = UINT32_MAX;
  for (std::uint32_t offset = 0; offset < subnet_.lids.offsets() && least > 0; ++offset) {
    const std::uint32_t cost = excess(flow, offset, 1);
    if (cost >= least) continue;
    least = cost;
    chosen = offset;
  }
  selection.set(flow.from, flow.to, chosen);
  add(flow, chosen, 1);
}

void StageLoads::repair(const Stage& stage, const std::vector<bool>& fixed, std::uint32_t limit, Selection& selection) {
  const int most_idle = patience(stage.size());
  std::uint32_t fewest = total_excess(limit);
  std::vector<std::uint32_t> best;
  const auto remember = [&] {
    best.clear();
    for (const Flow& flow : stage) best.push_back(selection.offset(flow.from, flow.to));
  };
  remember();
  for (int pass = 0, idle = 0; pass < kMostPasses && idle < most_idle && fewest > 0; ++pass, ++idle) {
    for (std::size_t i = 0; i < stage.size(); ++i) {
      const Flow& flow = stage[i];
      if (fixed[i] || job_.same_leaf(flow.from, flow.to)) continue;
      if (largest_on_path(flow, selection) <= limit) continue;
      const std::uint32_t present = selection.offset(flow.from, flow.to);
      add(flow, present, -1);
      const std::uint32_t chosen = best_offset(flow, present, limit);
      selection.set(flow.from, flow.to, chosen);
      add(flow, chosen, 1);
    }
    const std::uint32_t now = total_excess(limit);
    if (now >= fewest) continue;
    fewest = now;
    idle = 0;
    remember();
  }
  for (std::size_t i = 0; i < stage.size(); ++i) selection.set(stage[i].from, stage[i].to, best[i]);
  begin(stage, selection);
}

} // namespace heddle::routing
