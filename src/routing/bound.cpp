#include "routing/bound.hpp"

#include <algorithm>
#include <map>

namespace heddle::routing {
namespace {

std::uint32_t divided_up(std::uint32_t flows, std::uint32_t cables) {
  return cables == 0 ? flows : (flows + cables - 1) / cables;
}

// The part of the graph up to `level` that each switch belongs to.
std::vector<std::uint32_t> parts_up_to(const Fabric& fabric, std::uint32_t level, std::uint32_t& count) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> part(fabric.switches.size(), kNone);
  for (SwitchIndex first = 0; first < fabric.leaves(); ++first) {
    if (part[first] != kNone) continue;
    std::vector<SwitchIndex> queue{first};
    part[first] = count;
    for (std::size_t next = 0; next < queue.size(); ++next)
      for (const Peer& peer : fabric.switches[queue[next]].ports) {
        if (peer.kind != Peer::Kind::a_switch || part[peer.index] != kNone || fabric.switches[peer.index].level > level)
          continue;
        part[peer.index] = count;
        queue.push_back(peer.index);
      }
    ++count;
  }
  return part;
}

} // namespace

LoadBound::LoadBound(const Fabric& fabric, const UpPaths& up_paths, const JobHosts& job) {
  for (std::uint32_t level = 0; level + 1 < fabric.levels; ++level) add_height(fabric, job, level);
  if (fabric.levels != 2) return;
  std::map<SwitchIndex, std::uint32_t> dense;
  for (const SwitchIndex leaf : job.leaves)
    leaf_.push_back(dense.try_emplace(leaf, static_cast<std::uint32_t>(dense.size())).first->second);
  leaves_ = static_cast<std::uint32_t>(dense.size());
  common_.resize(std::size_t{leaves_} * leaves_);
  between_.resize(common_.size());
  for (const auto& [one, i] : dense)
    for (const auto& [other, j] : dense) {
      std::uint32_t& common = common_[std::size_t{i} * leaves_ + j];
      for (UpPath up_path = 0; up_path < up_paths.count(); ++up_path)
        common += up_paths.open(one, up_path) && up_paths.open(other, up_path) ? 1 : 0;
      uneven_ = uneven_ || common != common_[0];
    }
}

void LoadBound::add_height(const Fabric& fabric, const JobHosts& job, std::uint32_t level) {
  std::uint32_t count = 0;
  const std::vector<std::uint32_t> part = parts_up_to(fabric, level, count);
  Height height;
  for (const SwitchIndex leaf : job.leaves) height.subtree.push_back(part[leaf]);
  height.cables.resize(count);
  for (SwitchIndex at = fabric.first_of_level(level); at < fabric.first_of_level(level + 1); ++at)
    for (const Peer& peer : fabric.switches[at].ports)
      if (fabric.is_up(level, peer) && part[at] < count) ++height.cables[part[at]];
  heights_.push_back(std::move(height));
}

std::uint32_t LoadBound::between_leaves(const Stage& stage) {
  std::ranges::fill(between_, 0U);
  std::uint32_t bound = 0;
  for (const Flow& flow : stage) {
    const std::size_t pair = std::size_t{leaf_[flow.from]} * leaves_ + leaf_[flow.to];
    if (leaf_[flow.from] != leaf_[flow.to]) bound = std::max(bound, divided_up(++between_[pair], common_[pair]));
  }
  return bound;
}

std::uint32_t LoadBound::of(const Stage& stage) {
  std::uint32_t bound = uneven_ ? between_leaves(stage) : 0;
  for (Height& height : heights_) {
    height.leaving.assign(height.cables.size(), 0);
    height.entering.assign(height.cables.size(), 0);
    for (const Flow& flow : stage) {
      const std::uint32_t from = height.subtree[flow.from];
      const std::uint32_t to = height.subtree[flow.to];
      if (from == to) continue;
      bound = std::max({bound, divided_up(++height.leaving[from], height.cables[from]),
                        divided_up(++height.entering[to], height.cables[to])});
    }
  }
  return bound;
}

} // namespace heddle::routing
