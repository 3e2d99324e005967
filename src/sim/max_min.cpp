#include "sim/max_min.hpp"

#include <algorithm>
#include <limits>

namespace heddle::sim {
namespace {

constexpr double kNoLevel = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-12;  // relative; shares this close are one level
constexpr int kScans = 12;      // levels to look for one by one before sorting what is left
constexpr double kSlack = 1e-9; // relative; sums of a thousand rates are exact to about 1e-13

} // namespace

std::uint32_t MaxMin::add_resource(double capacity) {
  resources_.push_back({});
  resources_.back().capacity = capacity;
  return static_cast<std::uint32_t>(resources_.size() - 1);
}

void MaxMin::touch(std::uint32_t resource) {
  if (resources_[resource].changed) return;
  resources_[resource].changed = true;
  changed_resources_.push_back(resource);
}

std::uint32_t MaxMin::add_flow(std::span<const std::uint32_t> resources) {
  std::uint32_t number = 0;
  if (free_flows_.empty()) {
    number = static_cast<std::uint32_t>(flows_.size());
    flows_.push_back({});
  } else {
    number = free_flows_.back();
    free_flows_.pop_back();
  }
  Flow& flow = flows_[number];
  flow.places.clear();
  flow.rate = 0;
  for (const std::uint32_t each : resources) {
    const auto same = [each](const Place& place) { return place.resource == each; };
    if (std::any_of(flow.places.begin(), flow.places.end(), same)) continue;
    std::vector<Member>& members = resources_[each].members;
    members.push_back({number, static_cast<std::uint32_t>(flow.places.size())});
    flow.places.push_back({each, static_cast<std::uint32_t>(members.size() - 1)});
    touch(each);
  }
  return number;
}

void MaxMin::remove_flow(std::uint32_t number) {
  for (const Place& place : flows_[number].places) {
    std::vector<Member>& members = resources_[place.resource].members;
    const Member moved = members.back();
    members[place.position] = moved;
    flows_[moved.flow].places[moved.slot].position = place.position;
    members.pop_back();
    touch(place.resource);
  }
  flows_[number].places.clear();
  free_flows_.push_back(number);
}

void MaxMin::join(std::uint32_t number) {
  Flow& flow = flows_[number];
  if (flow.joined == solve_) return;
  flow.joined = solve_;
  flow.frozen = false;
  active_.push_back(number);
}

std::span<const std::uint32_t> MaxMin::solve() {
  changed_flows_.clear();
  if (changed_resources_.empty()) return changed_flows_;
  ++solve_;
  active_.clear();
  for (const std::uint32_t each : changed_resources_) {
    resources_[each].changed = false;
    for (const Member& member : resources_[each].members) join(member.flow);
  }
  changed_resources_.clear();
  do {
    open_resources();
    fill();
  } while (join_disturbed());
  for (const std::uint32_t each : active_) {
    Flow& flow = flows_[each];
    flow.bottleneck = flow.next_bottleneck;
    if (flow.next == flow.rate) continue;
    flow.rate = flow.next;
    changed_flows_.push_back(each);
  }
  return changed_flows_;
}

// Gathers the resources of A with what the flows outside A leave of them.
void MaxMin::open_resources() {
  ++round_;
  touched_.clear();
  for (const std::uint32_t each : active_) {
    flows_[each].frozen = false;
    for (const Place& place : flows_[each].places) {
      Resource& resource = resources_[place.resource];
      if (resource.round == round_) continue;
      resource.round = round_;
      resource.left = resource.capacity;
      resource.open = 0;
      resource.level = kNoLevel;
      touched_.push_back(place.resource);
      for (const Member& member : resource.members) {
        if (flows_[member.flow].joined == solve_) {
          ++resource.open;
        } else {
          resource.left -= flows_[member.flow].rate;
        }
      }
      resource.left = std::max(resource.left, 0.0);
      resource.shared = resource.open < resource.members.size();
    }
  }
}

// Most patterns have few levels, each reached by many resources at once: these are found by looking at all. What then is left
// goes into a heap.
void MaxMin::fill() {
  candidates_.clear();
  for (const std::uint32_t each : touched_) candidates_.push_back({0, each});
  for (int scan = 0; scan < kScans && !candidates_.empty(); ++scan) fill_level();
  fill_sorted();
}

// Freezes all resources with the smallest share. One may lose flows to another of the same share, which leaves its share as it is.
void MaxMin::fill_level() {
  double least = std::numeric_limits<double>::infinity();
  std::size_t kept = 0;
  for (const Candidate& each : candidates_) {
    const Resource& resource = resources_[each.resource];
    if (resource.open == 0) continue;
    const double share = std::max(resource.left, 0.0) / resource.open;
    least = std::min(least, share);
    candidates_[kept++] = {share, each.resource};
  }
  candidates_.resize(kept);
  for (const Candidate& each : candidates_) {
    if (each.share <= least * (1 + kTie) && resources_[each.resource].open > 0) freeze(each.resource, least);
  }
}

// Shares only grow while flows freeze, so a candidate taken from the heap is either still right or goes back with its new share.
void MaxMin::fill_sorted() {
  std::make_heap(candidates_.begin(), candidates_.end());
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end());
    const Candidate best = candidates_.back();
    candidates_.pop_back();
    const Resource& resource = resources_[best.resource];
    if (resource.open == 0) continue;
    const double share = std::max(resource.left, 0.0) / resource.open;
    if (share > best.share) {
      candidates_.push_back({share, best.resource});
      std::push_heap(candidates_.begin(), candidates_.end());
    } else {
      freeze(best.resource, best.share);
    }
  }
}

void MaxMin::freeze(std::uint32_t full, double share) {
  resources_[full].level = share;
  for (const Member& member : resources_[full].members) {
    Flow& flow = flows_[member.flow];
    if (flow.joined != solve_ || flow.frozen) continue;
    flow.frozen = true;
    flow.next = share;
    flow.next_bottleneck = full;
    for (const Place& place : flow.places) {
      resources_[place.resource].left -= share;
      --resources_[place.resource].open;
    }
  }
}

bool MaxMin::join_disturbed() {
  const std::size_t before = active_.size();
  for (const std::uint32_t each : touched_) {
    if (resources_[each].shared) join_disturbed_at(resources_[each], each);
  }
  return active_.size() > before;
}

void MaxMin::join_disturbed_at(const Resource& resource, std::uint32_t number) {
  double used = 0;
  double fastest = 0; // of A
  for (const Member& member : resource.members) {
    const Flow& flow = flows_[member.flow];
    if (flow.joined == solve_ && flow.frozen) {
      used += flow.next;
      fastest = std::max(fastest, flow.next);
    } else {
      used += flow.rate;
    }
  }
  const bool full = used >= resource.capacity * (1 - kSlack);
  for (const Member& member : resource.members) {
    const Flow& flow = flows_[member.flow];
    if (flow.joined == solve_) continue;
    const bool lost = flow.bottleneck == number && (!full || fastest > flow.rate * (1 + kSlack));
    const bool greedy = flow.rate > resource.level * (1 + kSlack);
    if (lost || greedy) join(member.flow);
  }
}

} // namespace heddle::sim
